/*
 * Rules for duplicates: who is answered, who is closed, what is kept.
 *
 * The hard case is a client that reconnects while its old connection still looks alive
 * here: both may carry the same call, and either copy may be read first.
 *
 * Does not look anything up and changes nothing.
 */
#include "duplicate.h"

struct duplicate_ruling duplicate_rule(enum duplicate_original original,
				       uint64_t original_seq, uint64_t copy_seq)
{
	struct duplicate_ruling ruling = { DUPLICATE_IGNORE, DUPLICATE_NOBODY };

	if (original == DUPLICATE_UNKNOWN) {
		ruling.action = DUPLICATE_RUN;
		return ruling;
	}
	if (original_seq > copy_seq) {
		ruling.loser = DUPLICATE_COPY;
		return ruling;
	}
	if (original_seq == copy_seq) {
		if (original == DUPLICATE_ANSWERED)
			ruling.action = DUPLICATE_REPEAT;
		return ruling;
	}
	if (original_seq != 0)
		ruling.loser = DUPLICATE_ORIGINAL;
	if (original == DUPLICATE_ANSWERED)
		ruling.action = DUPLICATE_REPEAT;
	else if (original == DUPLICATE_PARKED && original_seq != 0)
		ruling.action = DUPLICATE_RUN;
	else
		ruling.action = DUPLICATE_FOLLOW;
	return ruling;
}

bool duplicate_is_outrun(uint64_t newest_seq, uint64_t speaking_seq)
{
	return newest_seq >= speaking_seq;
}

bool duplicate_may_resume(bool has_client, bool is_outrun, uint64_t newest_seq)
{
	return !is_outrun && (has_client || newest_seq == 0);
}

enum reply_keep duplicate_keep(const struct nfs_proc *proc, bool ok)
{
	if (proc->class == NFS_CLASS_COMMIT)
		return ok ? REPLY_KEEP : REPLY_KEEP_LONG;
	if (proc->class == NFS_CLASS_WRITE)
		return REPLY_KEEP_WRITE;
	return proc->idempotent ? REPLY_KEEP_NOT : REPLY_KEEP;
}
