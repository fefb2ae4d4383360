/*
 * Acked bytes that cannot be made stable: who is told, and how.
 *
 * In one step: early acks end where it happened, the bytes are given up, the write verifier
 * changes, COMMITs that wait get the error, and every other client with acked, unproven
 * bytes in the file gets it with its next COMMIT.
 *
 * The hard case is a client that is told by a COMMIT it sent before it had the answer of
 * one of its WRITEs: it does not connect the error with that one, and nobody here can know
 * which answers had arrived. So the error alone is never enough and the verifier changes
 * too; the error is for clients that do not look at verifiers.
 */
#include "coalesce/engine_private.h"
#include "coalesce/verifier.h"

void loss_rotate(struct engine *engine, const char *reason)
{
	engine->verifier = verifier_next(engine->verifier);
	engine->last_rotated = ++engine->sequence;
	stats_count(engine->stats, STAT_VERIFIER_ROTATIONS);
	engine->ops->on_rotation(engine->owner, reason);
}

void loss_note_owner(struct engine_file *file, uint64_t client_id)
{
	struct engine *engine = file->engine;
	unsigned int i;

	for (i = 0; i < file->owner_count; i++)
		if (file->owner[i].client_id == client_id)
			break;
	file->last_acked = ++engine->sequence;
	/* The verifier is all there is to tell it with. */
	if (i == FILE_OWNERS)
		return;
	if (i == file->owner_count)
		file->owner[file->owner_count++].last_told = 0;
	file->owner[i].client_id = client_id;
	file->owner[i].last_acked = file->last_acked;
}

static void loss_drop_sticky(struct engine_file *file, unsigned int i)
{
	file->sticky[i] = file->sticky[--file->sticky_count];
	if (file->sticky_count > 0)
		return;
	TAILQ_REMOVE(&file->engine->sticky_files, file, sticky_link);
	file->in_sticky_list = false;
	file_mark_work(file);
}

static void loss_add_sticky(struct engine_file *file, uint64_t client_id,
			    uint32_t status)
{
	struct engine *engine = file->engine;
	unsigned int i;

	for (i = 0; i < file->sticky_count; i++) {
		if (file->sticky[i].client_id != client_id)
			continue;
		/* One will do, and it has to wait for the later loss as well. */
		file->sticky[i].since_us = engine->now_us;
		return;
	}
	/* The verifier has changed; that has to do. */
	if (i == FILE_STICKY)
		return;
	file->sticky[i] = (struct sticky_error){ .client_id = client_id,
						 .status = status,
						 .since_us = engine->now_us };
	file->sticky_count++;
	stats_count(engine->stats, STAT_STICKY_ERRORS);
	if (!file->in_sticky_list) {
		TAILQ_INSERT_TAIL(&engine->sticky_files, file, sticky_link);
		file->in_sticky_list = true;
	}
}

void loss_expire_sticky(struct engine_file *file)
{
	const struct engine *engine = file->engine;
	unsigned int i;

	for (i = file->sticky_count; i-- > 0;)
		if (engine->now_us - file->sticky[i].since_us >=
		    engine->config.sticky_us)
			loss_drop_sticky(file, i);
}

static void loss_note_told(struct engine_file *file, const struct engine_op *op)
{
	unsigned int i;

	for (i = 0; i < file->owner_count; i++)
		if (file->owner[i].client_id == op->client_id)
			file->owner[i].last_told = op->sequence;
}

uint32_t loss_take_sticky(struct engine_file *file, const struct engine_op *op)
{
	unsigned int i;

	for (i = 0; i < file->sticky_count; i++) {
		uint32_t status = file->sticky[i].status;

		if (file->sticky[i].client_id != op->client_id)
			continue;
		loss_drop_sticky(file, i);
		loss_note_told(file, op);
		return status;
	}
	return NFS3_OK;
}

/* Ends the COMMITs that wait. */
static void loss_tell_waiters(struct engine_file *file, uint32_t status)
{
	struct engine_commit_result result = { .status = status };
	struct generation *generation;

	TAILQ_FOREACH(generation, &file->generations, link) {
		struct engine_op *op = TAILQ_FIRST(&generation->waiters);
		struct engine_op *next;

		for (; op != NULL; op = next) {
			next = TAILQ_NEXT(op, link);
			if (op->kind != ENGINE_OP_COMMIT || op == file->commit_asker)
				continue;
			loss_note_told(file, op);
			TAILQ_REMOVE(&generation->waiters, op, link);
			engine_end_commit(file->engine, op, result);
		}
	}
}

/*
 * Does the client know already? Several extents may be lost one after the other; one error
 * is enough for all that was acked before its COMMIT came.
 */
static bool loss_is_told(const struct owner *owner)
{
	return owner->last_told > owner->last_acked;
}

static void loss_fail_waiters(struct generation *generation,
			      const struct extent *extent, uint32_t status)
{
	struct engine_write_result result = { .status = status };
	struct engine_op *op = TAILQ_FIRST(&generation->waiters);
	struct engine_op *next;

	for (; op != NULL; op = next) {
		next = TAILQ_NEXT(op, link);
		if (op->kind != ENGINE_OP_WRITE ||
		    !range_overlaps(&extent->line.range, op->offset,
				    op->offset + op->count))
			continue;
		TAILQ_REMOVE(&generation->waiters, op, link);
		engine_end_write(extent->file->engine, op, result);
	}
}

/* WRITEs that were not answered OK yet and wait for these bytes get the error. */
static void loss_fail_writes(struct extent *extent, uint32_t status)
{
	struct engine_file *file = extent->file;
	struct engine_write_result result = { .status = status };
	struct generation *generation;

	if (extent->op != NULL)
		engine_end_write(file->engine, extent->op, result);
	extent->op = NULL;
	TAILQ_FOREACH(generation, &file->generations, link)
		loss_fail_waiters(generation, extent, status);
}

static bool loss_will_be_told(const struct engine_file *file, const struct owner *owner)
{
	const struct generation *generation;
	const struct engine_op *op;

	TAILQ_FOREACH(generation, &file->generations, link) {
		TAILQ_FOREACH(op, &generation->waiters, link) {
			if (op->kind == ENGINE_OP_COMMIT && op != file->commit_asker &&
			    op->client_id == owner->client_id &&
			    op->sequence > owner->last_acked)
				return true;
		}
	}
	return false;
}

/* The verifier first: what is answered from here on carries the new one (I4). */
static void loss_tell(struct engine_file *file, uint32_t status)
{
	unsigned int i;

	/* One change serves all that one event has thrown away. */
	if (file->last_acked > file->engine->last_rotated)
		loss_rotate(file->engine, "acked bytes were lost");
	for (i = 0; i < file->owner_count; i++) {
		const struct owner *owner = &file->owner[i];

		if (!loss_is_told(owner) && !loss_will_be_told(file, owner))
			loss_add_sticky(file, owner->client_id, status);
	}
	loss_tell_waiters(file, status);
}

void loss_declare(struct extent *extent, uint32_t status)
{
	struct engine_file *file = extent->file;
	struct engine *engine = file->engine;
	bool was_acked = extent->acked;

	admit_void_grants(file);
	if (file->is_removed && status == NFS3ERR_STALE) {
		loss_fail_writes(extent, status);
		extent_free(extent);
		loss_tell_waiters(file, status);
		return;
	}
	quarantine_impose(file, extent->credential, status);
	loss_fail_writes(extent, status);
	if (was_acked) {
		stats_add(engine->stats, STAT_LOST_BYTES, extent_bytes(extent));
		engine->ops->on_loss(engine->owner, &file->fh, extent_start(extent),
				     extent_bytes(extent), status);
	}
	extent_free(extent);
	if (was_acked)
		loss_tell(file, status);
}
