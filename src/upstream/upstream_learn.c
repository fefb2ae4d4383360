/*
 * Looks through results of NFS calls for times and limits.
 *
 * The hard case: the server keeps the verifier of an EXCLUSIVE CREATE in the times of
 * the new file, so those replies say nothing about its clock.
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

static void seen_wcc(struct upstream_lesson *lesson, const wcc_data *wcc)
{
	if (wcc->before.attributes_follow == 1)
		seen_time(lesson, &wcc->before.pre_op_attr_u.attributes.ctime);
	seen_attr(lesson, &wcc->after);
}

static void learn_getattr(struct upstream_lesson *lesson, const GETATTR3res *res)
{
	if (res->status == 0)
		seen_time(lesson, &res->GETATTR3res_u.resok.obj_attributes.ctime);
}

static void learn_setattr(struct upstream_lesson *lesson, const SETATTR3res *res)
{
	seen_wcc(lesson, res->status == 0 ? &res->SETATTR3res_u.resok.obj_wcc
					  : &res->SETATTR3res_u.resfail.obj_wcc);
}

static void learn_lookup(struct upstream_lesson *lesson, const LOOKUP3res *res)
{
	if (res->status != 0) {
		seen_attr(lesson, &res->LOOKUP3res_u.resfail.dir_attributes);
		return;
	}
	seen_attr(lesson, &res->LOOKUP3res_u.resok.obj_attributes);
	seen_attr(lesson, &res->LOOKUP3res_u.resok.dir_attributes);
}

static void learn_access(struct upstream_lesson *lesson, const ACCESS3res *res)
{
	seen_attr(lesson, res->status == 0 ? &res->ACCESS3res_u.resok.obj_attributes
					   : &res->ACCESS3res_u.resfail.obj_attributes);
}

static void learn_read(struct upstream_lesson *lesson, const READ3res *res)
{
	if (res->status != 0) {
		seen_attr(lesson, &res->READ3res_u.resfail.file_attributes);
		return;
	}
	seen_attr(lesson, &res->READ3res_u.resok.file_attributes);
	lesson->read_bytes = res->READ3res_u.resok.data.data_len;
}

static void learn_write(struct upstream_lesson *lesson, const WRITE3res *res)
{
	seen_wcc(lesson, res->status == 0 ? &res->WRITE3res_u.resok.file_wcc
					  : &res->WRITE3res_u.resfail.file_wcc);
}

static void learn_commit(struct upstream_lesson *lesson, const COMMIT3res *res)
{
	seen_wcc(lesson, res->status == 0 ? &res->COMMIT3res_u.resok.file_wcc
					  : &res->COMMIT3res_u.resfail.file_wcc);
}

static void learn_create(struct upstream_lesson *lesson, const struct nfs_call *call,
			 const CREATE3res *res)
{
	if (call->args.create.mode == NFS3_EXCLUSIVE)
		return;
	if (res->status != 0) {
		seen_wcc(lesson, &res->CREATE3res_u.resfail.dir_wcc);
		return;
	}
	seen_attr(lesson, &res->CREATE3res_u.resok.obj_attributes);
	seen_wcc(lesson, &res->CREATE3res_u.resok.dir_wcc);
}

static void learn_mkdir(struct upstream_lesson *lesson, const MKDIR3res *res)
{
	if (res->status != 0) {
		seen_wcc(lesson, &res->MKDIR3res_u.resfail.dir_wcc);
		return;
	}
	seen_attr(lesson, &res->MKDIR3res_u.resok.obj_attributes);
	seen_wcc(lesson, &res->MKDIR3res_u.resok.dir_wcc);
}

static void learn_remove(struct upstream_lesson *lesson, const REMOVE3res *res)
{
	seen_wcc(lesson, res->status == 0 ? &res->REMOVE3res_u.resok.dir_wcc
					  : &res->REMOVE3res_u.resfail.dir_wcc);
}

static void learn_rename(struct upstream_lesson *lesson, const RENAME3res *res)
{
	if (res->status != 0)
		return;
	seen_wcc(lesson, &res->RENAME3res_u.resok.fromdir_wcc);
	seen_wcc(lesson, &res->RENAME3res_u.resok.todir_wcc);
}

static void learn_link(struct upstream_lesson *lesson, const LINK3res *res)
{
	if (res->status != 0)
		return;
	seen_attr(lesson, &res->LINK3res_u.resok.file_attributes);
	seen_wcc(lesson, &res->LINK3res_u.resok.linkdir_wcc);
}

static void learn_fsinfo(struct upstream_lesson *lesson, const FSINFO3res *res)
{
	if (res->status != 0)
		return;
	seen_attr(lesson, &res->FSINFO3res_u.resok.obj_attributes);
	lesson->wtmax_bytes = res->FSINFO3res_u.resok.wtmax;
}

void upstream_learn(struct upstream_lesson *lesson, const struct nfs_call *call,
		    const void *results)
{
	if (call->program != PROGRAM_NFS || results == NULL)
		return;
	switch (call->proc) {
	case NFS3_PROC_GETATTR:
		learn_getattr(lesson, results);
		break;
	case NFS3_PROC_SETATTR:
		learn_setattr(lesson, results);
		break;
	case NFS3_PROC_LOOKUP:
		learn_lookup(lesson, results);
		break;
	case NFS3_PROC_ACCESS:
		learn_access(lesson, results);
		break;
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
	case NFS3_PROC_RENAME:
		learn_rename(lesson, results);
		break;
	case NFS3_PROC_LINK:
		learn_link(lesson, results);
		break;
	case NFS3_PROC_FSINFO:
		learn_fsinfo(lesson, results);
		break;
	case NFS3_PROC_COMMIT:
		learn_commit(lesson, results);
		break;
	default:
		break;
	}
}
