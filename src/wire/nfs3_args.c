/*
 * Arguments of the NFSv3 procedures (RFC 1813 s3.3).
 *
 * The hard case is what one reader takes and another does not: a count beside a length,
 * an enum without a meaning, a NUL inside a name. Such calls end here, since whatever
 * is let through is encoded again for the upstream and must mean there what it meant
 * here.
 *
 * Not promised: that a name is one a server would accept; '/', ".." and the empty name
 * pass.
 */
#include <assert.h>
#include <string.h>

#include "nfsgather/invariant.h"
#include "wire/call_args.h"
#include "wire/nfs_proc.h"

void nfs3_args_in_fh(struct xdr_in *in, struct nfs3_fh *fh)
{
	struct nfs3_bytes view = xdr_in_bytes(in, NFS3_FHSIZE);

	if (view.len == 0) {
		xdr_in_reject(in);
		return;
	}
	fh->len = view.len;
	memcpy(fh->data, view.data, view.len);
}

struct nfs3_bytes nfs3_args_in_text(struct xdr_in *in, uint32_t max_bytes)
{
	struct nfs3_bytes text = xdr_in_bytes(in, max_bytes);

	if (text.data != NULL && memchr(text.data, '\0', text.len) != NULL)
		xdr_in_reject(in);
	return text;
}

static void nfs3_args_in_dirop(struct xdr_in *in, struct nfs3_dirop *dirop)
{
	nfs3_args_in_fh(in, &dirop->dir);
	dirop->name = nfs3_args_in_text(in, NFS_CALL_NAME_MAX_BYTES);
}

static void nfs3_args_in_time(struct xdr_in *in, struct nfs3_time *time)
{
	time->seconds = xdr_in_u32(in);
	time->nseconds = xdr_in_u32(in);
}

/* set_atime, set_mtime */
static enum nfs3_time_how nfs3_args_in_set_time(struct xdr_in *in,
						struct nfs3_time *time)
{
	enum nfs3_time_how how = xdr_in_u32_max(in, NFS3_SET_TO_CLIENT_TIME);

	if (how == NFS3_SET_TO_CLIENT_TIME)
		nfs3_args_in_time(in, time);
	return how;
}

static void nfs3_args_in_sattr(struct xdr_in *in, struct nfs3_sattr *sattr)
{
	sattr->set_mode = xdr_in_bool(in);
	if (sattr->set_mode)
		sattr->mode = xdr_in_u32(in);
	sattr->set_uid = xdr_in_bool(in);
	if (sattr->set_uid)
		sattr->uid = xdr_in_u32(in);
	sattr->set_gid = xdr_in_bool(in);
	if (sattr->set_gid)
		sattr->gid = xdr_in_u32(in);
	sattr->set_size = xdr_in_bool(in);
	if (sattr->set_size)
		sattr->size = xdr_in_u64(in);
	sattr->atime_how = nfs3_args_in_set_time(in, &sattr->atime);
	sattr->mtime_how = nfs3_args_in_set_time(in, &sattr->mtime);
}

/* createverf3, cookieverf3: eight bytes without a count */
static void nfs3_args_in_verifier(struct xdr_in *in, uint8_t *verifier)
{
	const uint8_t *bytes = xdr_in_fixed(in, NFS3_CREATEVERFSIZE);

	static_assert(NFS3_CREATEVERFSIZE == NFS3_COOKIEVERFSIZE,
		      "one size of verifier");
	if (bytes != NULL)
		memcpy(verifier, bytes, NFS3_CREATEVERFSIZE);
}

static void nfs3_args_null(struct nfs_call *call, struct xdr_in *in)
{
	(void)call;
	(void)in;
}

/* GETATTR READLINK FSSTAT FSINFO PATHCONF */
static void nfs3_args_handle(struct nfs_call *call, struct xdr_in *in)
{
	nfs3_args_in_fh(in, &call->args.fh);
}

/* LOOKUP REMOVE RMDIR */
static void nfs3_args_dirop(struct nfs_call *call, struct xdr_in *in)
{
	nfs3_args_in_dirop(in, &call->args.dirop);
}

static void nfs3_args_setattr(struct nfs_call *call, struct xdr_in *in)
{
	struct nfs3_setattr_args *args = &call->args.setattr;

	nfs3_args_in_fh(in, &args->fh);
	nfs3_args_in_sattr(in, &args->sattr);
	args->has_guard = xdr_in_bool(in);
	if (args->has_guard)
		nfs3_args_in_time(in, &args->guard_ctime);
}

static void nfs3_args_access(struct nfs_call *call, struct xdr_in *in)
{
	nfs3_args_in_fh(in, &call->args.access.fh);
	call->args.access.access = xdr_in_u32(in);
}

static void nfs3_args_read(struct nfs_call *call, struct xdr_in *in)
{
	nfs3_args_in_fh(in, &call->args.read.fh);
	call->args.read.offset = xdr_in_u64(in);
	call->args.read.count = xdr_in_u32(in);
}

/* RFC1813-3.3.7 */
static void nfs3_args_write(struct nfs_call *call, struct xdr_in *in)
{
	struct nfs3_write_args *args = &call->args.write;

	nfs3_args_in_fh(in, &args->fh);
	args->offset = xdr_in_u64(in);
	args->count = xdr_in_u32(in);
	args->stable = xdr_in_u32_max(in, NFS3_FILE_SYNC);
	args->payload = xdr_in_bytes(in, UINT32_MAX);
	if (args->count != args->payload.len)
		xdr_in_reject(in);
}

static void nfs3_args_create(struct nfs_call *call, struct xdr_in *in)
{
	struct nfs3_create_args *args = &call->args.create;

	nfs3_args_in_dirop(in, &args->where);
	args->mode = xdr_in_u32_max(in, NFS3_EXCLUSIVE);
	if (args->mode == NFS3_EXCLUSIVE)
		nfs3_args_in_verifier(in, args->verifier);
	else
		nfs3_args_in_sattr(in, &args->sattr);
}

static void nfs3_args_mkdir(struct nfs_call *call, struct xdr_in *in)
{
	nfs3_args_in_dirop(in, &call->args.mkdir.where);
	nfs3_args_in_sattr(in, &call->args.mkdir.sattr);
}

static void nfs3_args_symlink(struct nfs_call *call, struct xdr_in *in)
{
	struct nfs3_symlink_args *args = &call->args.symlink;

	nfs3_args_in_dirop(in, &args->where);
	nfs3_args_in_sattr(in, &args->sattr);
	args->path = nfs3_args_in_text(in, NFS_CALL_SYMLINK_MAX_BYTES);
}

static void nfs3_args_mknod(struct nfs_call *call, struct xdr_in *in)
{
	struct nfs3_mknod_args *args = &call->args.mknod;

	nfs3_args_in_dirop(in, &args->where);
	args->type = xdr_in_u32(in);
	switch (args->type) {
	case NFS3_CHR:
	case NFS3_BLK:
		nfs3_args_in_sattr(in, &args->sattr);
		args->rdev_major = xdr_in_u32(in);
		args->rdev_minor = xdr_in_u32(in);
		break;
	case NFS3_SOCK:
	case NFS3_FIFO:
		nfs3_args_in_sattr(in, &args->sattr);
		break;
	case NFS3_REG:
	case NFS3_DIR:
	case NFS3_LNK: /* well-formed; BADTYPE is the upstream's to say */
		break;
	default:
		xdr_in_reject(in);
	}
}

static void nfs3_args_rename(struct nfs_call *call, struct xdr_in *in)
{
	nfs3_args_in_dirop(in, &call->args.rename.from);
	nfs3_args_in_dirop(in, &call->args.rename.to);
}

static void nfs3_args_link(struct nfs_call *call, struct xdr_in *in)
{
	nfs3_args_in_fh(in, &call->args.link.fh);
	nfs3_args_in_dirop(in, &call->args.link.to);
}

static void nfs3_args_readdir(struct nfs_call *call, struct xdr_in *in)
{
	struct nfs3_readdir_args *args = &call->args.readdir;

	nfs3_args_in_fh(in, &args->dir);
	args->cookie = xdr_in_u64(in);
	nfs3_args_in_verifier(in, args->cookie_verifier);
	args->dircount = xdr_in_u32(in);
}

static void nfs3_args_readdirplus(struct nfs_call *call, struct xdr_in *in)
{
	nfs3_args_readdir(call, in);
	call->args.readdir.maxcount = xdr_in_u32(in);
}

/* RFC1813-3.3.21 */
static void nfs3_args_commit(struct nfs_call *call, struct xdr_in *in)
{
	struct nfs3_commit_args *args = &call->args.commit;

	nfs3_args_in_fh(in, &args->fh);
	args->offset = xdr_in_u64(in);
	args->count = xdr_in_u32(in);
}

void nfs3_args_decode(struct nfs_call *call, struct xdr_in *in)
{
	static void (*const decode[])(struct nfs_call *, struct xdr_in *) = {
		[NFS3_PROC_NULL] = nfs3_args_null,
		[NFS3_PROC_GETATTR] = nfs3_args_handle,
		[NFS3_PROC_SETATTR] = nfs3_args_setattr,
		[NFS3_PROC_LOOKUP] = nfs3_args_dirop,
		[NFS3_PROC_ACCESS] = nfs3_args_access,
		[NFS3_PROC_READLINK] = nfs3_args_handle,
		[NFS3_PROC_READ] = nfs3_args_read,
		[NFS3_PROC_WRITE] = nfs3_args_write,
		[NFS3_PROC_CREATE] = nfs3_args_create,
		[NFS3_PROC_MKDIR] = nfs3_args_mkdir,
		[NFS3_PROC_SYMLINK] = nfs3_args_symlink,
		[NFS3_PROC_MKNOD] = nfs3_args_mknod,
		[NFS3_PROC_REMOVE] = nfs3_args_dirop,
		[NFS3_PROC_RMDIR] = nfs3_args_dirop,
		[NFS3_PROC_RENAME] = nfs3_args_rename,
		[NFS3_PROC_LINK] = nfs3_args_link,
		[NFS3_PROC_READDIR] = nfs3_args_readdir,
		[NFS3_PROC_READDIRPLUS] = nfs3_args_readdirplus,
		[NFS3_PROC_FSSTAT] = nfs3_args_handle,
		[NFS3_PROC_FSINFO] = nfs3_args_handle,
		[NFS3_PROC_PATHCONF] = nfs3_args_handle,
		[NFS3_PROC_COMMIT] = nfs3_args_commit,
	};

	INVARIANT(call->proc < sizeof(decode) / sizeof(decode[0]));
	decode[call->proc](call, in);
}

const struct nfs3_fh *nfs3_args_fh(const struct nfs_call *call)
{
	switch ((enum nfs3_proc)call->proc) {
	case NFS3_PROC_NULL:
		return NULL;
	case NFS3_PROC_GETATTR:
	case NFS3_PROC_READLINK:
	case NFS3_PROC_FSSTAT:
	case NFS3_PROC_FSINFO:
	case NFS3_PROC_PATHCONF:
		return &call->args.fh;
	case NFS3_PROC_LOOKUP:
	case NFS3_PROC_REMOVE:
	case NFS3_PROC_RMDIR:
		return &call->args.dirop.dir;
	case NFS3_PROC_SETATTR:
		return &call->args.setattr.fh;
	case NFS3_PROC_ACCESS:
		return &call->args.access.fh;
	case NFS3_PROC_READ:
		return &call->args.read.fh;
	case NFS3_PROC_WRITE:
		return &call->args.write.fh;
	case NFS3_PROC_CREATE:
		return &call->args.create.where.dir;
	case NFS3_PROC_MKDIR:
		return &call->args.mkdir.where.dir;
	case NFS3_PROC_SYMLINK:
		return &call->args.symlink.where.dir;
	case NFS3_PROC_MKNOD:
		return &call->args.mknod.where.dir;
	case NFS3_PROC_RENAME:
		return &call->args.rename.from.dir;
	case NFS3_PROC_LINK:
		return &call->args.link.fh;
	case NFS3_PROC_READDIR:
	case NFS3_PROC_READDIRPLUS:
		return &call->args.readdir.dir;
	case NFS3_PROC_COMMIT:
		return &call->args.commit.fh;
	}
	UNREACHABLE();
}
