/*
 * Looks through results of NFS calls for times and limits.
 *
 * The hard case is the server's clock: only a ctime that the call itself has just set tells
 * it. An older one would make us take what another client made since for our own
 * (upstream_replay.c), so calls that only look teach nothing, nor does one that may have
 * changed nothing. The server keeps the verifier of an EXCLUSIVE CREATE in the times of
 * the new file.
 */
#include "upstream/upstream_learn.h"

#include "upstream/libnfs_raw.h"

static void seen_time(struct upstream_lesson *lesson, const nfstime3 *ctime)
{
	uint64_t ns = (uint64_t)ctime->seconds * 1000000000u + ctime->nseconds;

	if (ctime->nseconds < 1000000000u && ns > lesson->newest_ctime_ns)
		lesson->newest_ctime_ns = ns;
}

static void seen_attr(struct upstream_lesson *lesson, const post_op_attr *attr)
{
	if (attr->attributes_follow == 1)
		seen_time(lesson, &attr->post_op_attr_u.attributes.ctime);
}

static void learn_read(struct upstream_lesson *lesson, const READ3res *res)
{
	if (res->status == 0)
		lesson->read_bytes = res->READ3res_u.resok.data.data_len;
}

static void learn_write(struct upstream_lesson *lesson, const WRITE3res *res)
{
	if (res->status == 0 && res->WRITE3res_u.resok.count > 0)
		seen_attr(lesson, &res->WRITE3res_u.resok.file_wcc.after);
}

static void learn_create(struct upstream_lesson *lesson, const struct nfs_call *call,
			 const CREATE3res *res)
{
	/* UNCHECKED may have found a file that was there, EXCLUSIVE sets the times */
	if (call->args.create.mode == NFS3_GUARDED && res->status == 0)
		seen_attr(lesson, &res->CREATE3res_u.resok.obj_attributes);
}

static void learn_mkdir(struct upstream_lesson *lesson, const MKDIR3res *res)
{
	if (res->status == 0)
		seen_attr(lesson, &res->MKDIR3res_u.resok.obj_attributes);
}

static void learn_remove(struct upstream_lesson *lesson, const REMOVE3res *res)
{
	if (res->status == 0)
		seen_attr(lesson, &res->REMOVE3res_u.resok.dir_wcc.after);
}

static void learn_link(struct upstream_lesson *lesson, const LINK3res *res)
{
	if (res->status == 0)
		seen_attr(lesson, &res->LINK3res_u.resok.file_attributes);
}

static void learn_fsinfo(struct upstream_lesson *lesson, const FSINFO3res *res)
{
	if (res->status != 0)
		return;
	lesson->wtmax_bytes = res->FSINFO3res_u.resok.wtmax;
	lesson->maxfilesize_bytes = res->FSINFO3res_u.resok.maxfilesize;
}

void upstream_learn(struct upstream_lesson *lesson, const struct nfs_call *call,
		    const void *results)
{
	if (call->program != PROGRAM_NFS || results == NULL)
		return;
	switch (call->proc) {
	case NFS3_PROC_READ:
		learn_read(lesson, results);
		break;
	case NFS3_PROC_WRITE:
		learn_write(lesson, results);
		break;
	case NFS3_PROC_CREATE:
		learn_create(lesson, call, results);
		break;
	case NFS3_PROC_MKDIR:
	case NFS3_PROC_SYMLINK: /* SYMLINK and MKNOD have the results of MKDIR */
	case NFS3_PROC_MKNOD:
		learn_mkdir(lesson, results);
		break;
	case NFS3_PROC_REMOVE:
	case NFS3_PROC_RMDIR: /* RMDIR has the results of REMOVE */
		learn_remove(lesson, results);
		break;
	case NFS3_PROC_LINK:
		learn_link(lesson, results);
		break;
	case NFS3_PROC_FSINFO:
		learn_fsinfo(lesson, results);
		break;
	default:
		break;
	}
}
