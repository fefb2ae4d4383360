/*
 * May this WRITE be acked before the upstream has it?
 *
 * Only if nothing is known that could make it fail later, and only with proof that this
 * credential may write the file: a WRITE of its own that succeeded (P6). Asking the
 * upstream with ACCESS would not do: owners may write files they cannot open any more,
 * and quotas, squashing and read-only exports only show in a WRITE. The hard case is a
 * second client: what one of them was shown must not hide what the other one does, so early
 * acks end for a while when a second one comes.
 */
#include "coalesce/engine_private.h"

enum { MODE_SUID_SGID = 06000 };

/* Its place in file->grant, or FILE_GRANTS. */
static unsigned int admit_find_grant(const struct engine_file *file,
				     const struct credential *credential)
{
	unsigned int i;

	for (i = 0; i < FILE_GRANTS; i++)
		if (file->grant[i].credential == credential)
			break;
	return i;
}

void admit_grant(struct engine_file *file, struct credential *credential)
{
	unsigned int place = admit_find_grant(file, credential);
	unsigned int i;

	if (place == FILE_GRANTS) {
		place = 0;
		for (i = 1; i < FILE_GRANTS; i++)
			if (file->grant[i].expires_us < file->grant[place].expires_us)
				place = i;
		credential_unref(file->grant[place].credential);
		file->grant[place].credential = credential_ref(credential);
	}
	file->grant[place].expires_us =
		file->engine->now_us + file->engine->config.grant_us;
}

void admit_void_grants(struct engine_file *file)
{
	unsigned int i;

	for (i = 0; i < FILE_GRANTS; i++) {
		credential_unref(file->grant[i].credential);
		file->grant[i] = (struct grant){ 0 };
	}
}

void admit_note_client(struct engine_file *file, uint64_t client_id)
{
	struct engine *engine = file->engine;

	if (file->user == client_id)
		return;
	if (file->user != UINT64_MAX) {
		file->shared_until_us = engine->now_us + engine->config.shared_us;
		buffer_close_all(file, WRITE_REASON_SHARED);
	}
	file->user = client_id;
}

/* What the file is, and who uses it. */
static bool admit_file(const struct engine_file *file)
{
	const struct engine *engine = file->engine;

	return file->identity.known && file->identity.type == NFS3_REG &&
	       !(file->identity.mode & MODE_SUID_SGID) && !file->is_aliased &&
	       file->held_barriers == 0 && engine->now_us >= file->shared_until_us;
}

/* What is asked for, and the room there is. */
static bool admit_write(const struct engine *engine, const struct engine_op *op)
{
	if (op->stable != NFS3_UNSTABLE || op->count == 0 || engine->is_draining)
		return false;
	/* Both are 0 while they are not known. */
	if (op->count > engine->wtmax_bytes || op->offset > engine->maxfilesize_bytes ||
	    op->count > engine->maxfilesize_bytes - op->offset)
		return false;
	return engine->stats->gauge[GAUGE_DIRTY_BYTES] + op->count <=
	       engine->config.dirty_bytes;
}

bool admit_early(const struct engine_file *file, const struct engine_op *op)
{
	unsigned int place = admit_find_grant(file, op->credential);

	return admit_write(file->engine, op) && admit_file(file) &&
	       place < FILE_GRANTS &&
	       file->grant[place].expires_us > file->engine->now_us &&
	       !quarantine_holds(file, op->credential);
}
