/*
 * Changing the verifier, and remembering just enough to know when it must change.
 *
 * The hard case is a file whose ledger found no place any more: its upstream verifier is
 * kept in a small set for the whole upstream, and any later COMMIT that disagrees with the
 * set rotates. That may rotate without need, never too seldom.
 */
#include "coalesce/engine_private.h"
#include "coalesce/verifier.h"

void rotation_make(struct engine *engine, const char *reason)
{
	engine->verifier = verifier_next(engine->verifier);
	file_table_clear_ledgers(&engine->files);
	engine->spilled_count = 0;
	stats_count(engine->stats, STAT_VERIFIER_ROTATIONS);
	engine->ops->on_rotation(engine->owner, reason);
}

void rotation_spill(struct engine *engine, const struct nfs3_verifier *verifier)
{
	unsigned int i;

	for (i = 0; i < engine->spilled_count; i++)
		if (verifier_equal(&engine->spilled[i], verifier))
			return;
	if (engine->spilled_count == ENGINE_SPILLED_MAX) {
		rotation_make(engine, "too many upstream verifiers to remember");
		return;
	}
	engine->spilled[engine->spilled_count++] = *verifier;
}

bool rotation_spilled_disproves(const struct engine *engine,
				const struct nfs3_verifier *verifier)
{
	unsigned int i;

	for (i = 0; i < engine->spilled_count; i++)
		if (!verifier_equal(&engine->spilled[i], verifier))
			return true;
	return false;
}

void rotation_bound_idle_files(struct engine *engine)
{
	while (engine->files.idle_count > ENGINE_IDLE_FILES_MAX) {
		struct engine_file *file = TAILQ_FIRST(&engine->files.idle);
		struct ledger ledger = file->ledger;
		unsigned int i;

		file_drop_idle(&engine->files, file);
		for (i = 0; i < ledger.count; i++)
			rotation_spill(engine, &ledger.entry[i].upstream_verifier);
	}
}
