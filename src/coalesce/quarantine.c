/*
 * Where early acks are off because something failed there: WRITEs pass as FILE_SYNC, so
 * that each one gets its own error (doc/semantics.md).
 *
 * The hard case is not to leave it too early: without it, clients send lost bytes again, they
 * are acked again, fail again, and fsync never returns. So it takes time and clean WRITEs.
 */
#include "coalesce/engine_private.h"

static bool quarantine_covers(const struct quarantine *quarantine,
			      const struct engine_file *file,
			      const struct credential *credential)
{
	if (!file->identity.known || file->identity.fsid != quarantine->fsid)
		return false;
	return !quarantine->has_uid || credential->rpc.uid == quarantine->uid ||
	       file->identity.uid == quarantine->uid;
}

static bool quarantine_is_over(uint64_t now_us, uint64_t until_us, unsigned int writes)
{
	return now_us >= until_us && writes == 0;
}

bool quarantine_holds(const struct engine_file *file,
		      const struct credential *credential)
{
	const struct engine *engine = file->engine;
	unsigned int i;

	if (file->is_quarantined)
		return true;
	for (i = 0; i < engine->quarantine_count; i++)
		if (quarantine_covers(&engine->quarantine[i], file, credential))
			return true;
	return false;
}

static void quarantine_file(struct engine_file *file)
{
	const struct engine *engine = file->engine;

	file->is_quarantined = true;
	file->quarantine_until_us = engine->now_us + engine->config.quarantine_us;
	file->quarantine_writes = ENGINE_QUARANTINE_WRITES;
}

/* A wider scope; when there are too many, the one that ends first makes place. */
static void quarantine_add(struct engine *engine, const struct quarantine *added)
{
	struct quarantine *place = NULL;
	unsigned int i;

	for (i = 0; i < engine->quarantine_count; i++) {
		struct quarantine *each = &engine->quarantine[i];

		if (each->fsid == added->fsid && each->has_uid == added->has_uid &&
		    each->uid == added->uid) {
			*each = *added;
			return;
		}
		if (place == NULL || each->until_us < place->until_us)
			place = each;
	}
	if (engine->quarantine_count < ENGINE_QUARANTINES_MAX)
		place = &engine->quarantine[engine->quarantine_count++];
	*place = *added;
}

void quarantine_impose(struct engine_file *file, const struct credential *credential,
		       uint32_t status)
{
	struct engine *engine = file->engine;
	struct quarantine scope = {
		.fsid = file->identity.fsid,
		.until_us = engine->now_us + engine->config.quarantine_us,
		.writes = ENGINE_QUARANTINE_WRITES,
	};

	stats_count(engine->stats, STAT_QUARANTINES);
	quarantine_file(file);
	if (!file->identity.known)
		return;
	if (status == NFS3ERR_DQUOT) {
		scope.has_uid = true;
		scope.uid = credential->rpc.uid;
		quarantine_add(engine, &scope);
		scope.uid = file->identity.uid;
		quarantine_add(engine, &scope);
	} else if (status == NFS3ERR_NOSPC || status == NFS3ERR_ROFS) {
		quarantine_add(engine, &scope);
	}
}

void quarantine_note_clean(struct engine_file *file,
			   const struct credential *credential)
{
	struct engine *engine = file->engine;
	unsigned int i;

	if (file->is_quarantined) {
		if (file->quarantine_writes > 0)
			file->quarantine_writes--;
		file->is_quarantined = !quarantine_is_over(engine->now_us,
							   file->quarantine_until_us,
							   file->quarantine_writes);
	}
	for (i = 0; i < engine->quarantine_count;) {
		struct quarantine *each = &engine->quarantine[i];

		if (quarantine_covers(each, file, credential) && each->writes > 0)
			each->writes--;
		if (quarantine_is_over(engine->now_us, each->until_us, each->writes))
			*each = engine->quarantine[--engine->quarantine_count];
		else
			i++;
	}
}
