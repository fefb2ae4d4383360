/*
 * The 22 procedures of NFSv3 (RFC 1813 s3.3): neutral arguments to libnfs' structs.
 *
 * The hard case: libnfs refuses to receive a record over 1 MiB and some, and drops the
 * connection instead, so counts that ask for one are lowered; the caller sees a short
 * READ or directory page, which every client goes on from.
 */
#include "upstream/upstream_call.h"

#include <errno.h>
#include <string.h>

#include "upstream/upstream_libnfs.h"

enum {
	SMALL_BYTES = 640, /* any results without name, path, payload or entries */
	PATH_BYTES = SMALL_BYTES + NFS3_PATH_MAX_BYTES,
	DIRECTORY_BYTES = 4096,
};

UPSTREAM_ENCODER(GETATTR3res)
UPSTREAM_ENCODER(SETATTR3res)
UPSTREAM_ENCODER(LOOKUP3res)
UPSTREAM_ENCODER(ACCESS3res)
UPSTREAM_ENCODER(READLINK3res)
UPSTREAM_ENCODER(READ3res)
UPSTREAM_ENCODER(WRITE3res)
UPSTREAM_ENCODER(CREATE3res)
UPSTREAM_ENCODER(MKDIR3res)
UPSTREAM_ENCODER(SYMLINK3res)
UPSTREAM_ENCODER(MKNOD3res)
UPSTREAM_ENCODER(REMOVE3res)
UPSTREAM_ENCODER(RMDIR3res)
UPSTREAM_ENCODER(RENAME3res)
UPSTREAM_ENCODER(LINK3res)
UPSTREAM_ENCODER(READDIR3res)
UPSTREAM_ENCODER(READDIRPLUS3res)
UPSTREAM_ENCODER(FSSTAT3res)
UPSTREAM_ENCODER(FSINFO3res)
UPSTREAM_ENCODER(PATHCONF3res)
UPSTREAM_ENCODER(COMMIT3res)

/* A name that libnfs can take, beside the struct that points at it. */
struct name_room {
	char text[UPSTREAM_STRINGS_MAX_BYTES + 1];
};

static uint32_t lower(uint32_t count, uint32_t max)
{
	return count < max ? count : max;
}

/* libnfs' structs have no const; it only reads what it is given. */
static void fh_view(nfs_fh3 *to, const struct nfs3_fh *fh)
{
	to->data.data_len = fh->len;
	to->data.data_val = (char *)(uintptr_t)fh->data;
}

static int dirop_view(diropargs3 *to, struct name_room *room,
		      const struct nfs3_dirop *dirop)
{
	fh_view(&to->dir, &dirop->dir);
	to->name = room->text;
	return upstream_call_string(room->text, sizeof(room->text), &dirop->name);
}

static void time_view(nfstime3 *to, const struct nfs3_time *time)
{
	to->seconds = time->seconds;
	to->nseconds = time->nseconds;
}

static void sattr_view(sattr3 *to, const struct nfs3_sattr *sattr)
{
	memset(to, 0, sizeof(*to));
	to->mode.set_it = sattr->set_mode;
	to->mode.set_mode3_u.mode = sattr->mode;
	to->uid.set_it = sattr->set_uid;
	to->uid.set_uid3_u.uid = sattr->uid;
	to->gid.set_it = sattr->set_gid;
	to->gid.set_gid3_u.gid = sattr->gid;
	to->size.set_it = sattr->set_size;
	to->size.set_size3_u.size = sattr->size;
	to->atime.set_it = (time_how)sattr->atime_how;
	time_view(&to->atime.set_atime_u.atime, &sattr->atime);
	to->mtime.set_it = (time_how)sattr->mtime_how;
	time_view(&to->mtime.set_mtime_u.mtime, &sattr->mtime);
}

static int send_null(struct rpc_context *rpc, const struct nfs_call *call, rpc_cb cb,
		     void *arg)
{
	(void)call;
	return rpc_nfs3_null_async(rpc, cb, arg);
}

static int send_getattr(struct rpc_context *rpc, const struct nfs_call *call, rpc_cb cb,
			void *arg)
{
	GETATTR3args args;

	fh_view(&args.object, &call->args.fh);
	return rpc_nfs3_getattr_async(rpc, cb, &args, arg);
}

static int send_setattr(struct rpc_context *rpc, const struct nfs_call *call, rpc_cb cb,
			void *arg)
{
	const struct nfs3_setattr_args *from = &call->args.setattr;
	SETATTR3args args;

	fh_view(&args.object, &from->fh);
	sattr_view(&args.new_attributes, &from->sattr);
	args.guard.check = from->has_guard;
	time_view(&args.guard.sattrguard3_u.obj_ctime, &from->guard_ctime);
	return rpc_nfs3_setattr_async(rpc, cb, &args, arg);
}

static int send_lookup(struct rpc_context *rpc, const struct nfs_call *call, rpc_cb cb,
		       void *arg)
{
	struct name_room room;
	LOOKUP3args args;
	int err = dirop_view(&args.what, &room, &call->args.dirop);

	return err != 0 ? err : rpc_nfs3_lookup_async(rpc, cb, &args, arg);
}

static int send_access(struct rpc_context *rpc, const struct nfs_call *call, rpc_cb cb,
		       void *arg)
{
	ACCESS3args args = { .access = call->args.access.access };

	fh_view(&args.object, &call->args.access.fh);
	return rpc_nfs3_access_async(rpc, cb, &args, arg);
}

static int send_readlink(struct rpc_context *rpc, const struct nfs_call *call,
			 rpc_cb cb, void *arg)
{
	READLINK3args args;

	fh_view(&args.symlink, &call->args.fh);
	return rpc_nfs3_readlink_async(rpc, cb, &args, arg);
}

static int send_read(struct rpc_context *rpc, const struct nfs_call *call, rpc_cb cb,
		     void *arg)
{
	READ3args args = { .offset = call->args.read.offset,
			   .count = lower(call->args.read.count,
					  UPSTREAM_READ_MAX_BYTES) };

	fh_view(&args.file, &call->args.read.fh);
	return rpc_nfs3_read_async(rpc, cb, &args, arg);
}

static int send_write(struct rpc_context *rpc, const struct nfs_call *call, rpc_cb cb,
		      void *arg)
{
	const struct nfs3_write_args *from = &call->args.write;
	WRITE3args args = { .offset = from->offset,
			    .count = from->count,
			    .stable = (stable_how)from->stable };

	fh_view(&args.file, &from->fh);
	args.data.data_len = from->payload.len;
	args.data.data_val = (char *)(uintptr_t)from->payload.data;
	return rpc_nfs3_write_async(rpc, cb, &args, arg);
}

static int send_create(struct rpc_context *rpc, const struct nfs_call *call, rpc_cb cb,
		       void *arg)
{
	const struct nfs3_create_args *from = &call->args.create;
	struct name_room room;
	CREATE3args args;
	int err = dirop_view(&args.where, &room, &from->where);

	if (err != 0)
		return err;
	args.how.mode = (createmode3)from->mode;
	if (from->mode == NFS3_EXCLUSIVE)
		memcpy(args.how.createhow3_u.verf, from->verifier,
		       sizeof(args.how.createhow3_u.verf));
	else
		sattr_view(&args.how.createhow3_u.obj_attributes, &from->sattr);
	return rpc_nfs3_create_async(rpc, cb, &args, arg);
}

static int send_mkdir(struct rpc_context *rpc, const struct nfs_call *call, rpc_cb cb,
		      void *arg)
{
	struct name_room room;
	MKDIR3args args;
	int err = dirop_view(&args.where, &room, &call->args.mkdir.where);

	sattr_view(&args.attributes, &call->args.mkdir.sattr);
	return err != 0 ? err : rpc_nfs3_mkdir_async(rpc, cb, &args, arg);
}

static int send_symlink(struct rpc_context *rpc, const struct nfs_call *call, rpc_cb cb,
			void *arg)
{
	const struct nfs3_symlink_args *from = &call->args.symlink;
	char path[UPSTREAM_STRINGS_MAX_BYTES + 1];
	struct name_room room;
	SYMLINK3args args;
	int err = dirop_view(&args.where, &room, &from->where);

	if (err == 0)
		err = upstream_call_string(path, sizeof(path), &from->path);
	if (err != 0)
		return err;
	sattr_view(&args.symlink.symlink_attributes, &from->sattr);
	args.symlink.symlink_data = path;
	return rpc_nfs3_symlink_async(rpc, cb, &args, arg);
}

static int send_mknod(struct rpc_context *rpc, const struct nfs_call *call, rpc_cb cb,
		      void *arg)
{
	const struct nfs3_mknod_args *from = &call->args.mknod;
	struct name_room room;
	MKNOD3args args;
	int err = dirop_view(&args.where, &room, &from->where);

	if (err != 0)
		return err;
	args.what.type = (ftype3)from->type;
	switch (from->type) {
	case NFS3_CHR:
	case NFS3_BLK: { /* both arms of the union are the same */
		devicedata3 *device = &args.what.mknoddata3_u.chr_device;

		sattr_view(&device->dev_attributes, &from->sattr);
		device->spec.specdata1 = from->rdev_major;
		device->spec.specdata2 = from->rdev_minor;
		break;
	}
	case NFS3_SOCK:
	case NFS3_FIFO:
		sattr_view(&args.what.mknoddata3_u.sock_attributes, &from->sattr);
		break;
	default: /* the server refuses it */
		break;
	}
	return rpc_nfs3_mknod_async(rpc, cb, &args, arg);
}

static int send_remove(struct rpc_context *rpc, const struct nfs_call *call, rpc_cb cb,
		       void *arg)
{
	struct name_room room;
	REMOVE3args args;
	int err = dirop_view(&args.object, &room, &call->args.dirop);

	return err != 0 ? err : rpc_nfs3_remove_async(rpc, cb, &args, arg);
}

static int send_rmdir(struct rpc_context *rpc, const struct nfs_call *call, rpc_cb cb,
		      void *arg)
{
	struct name_room room;
	RMDIR3args args;
	int err = dirop_view(&args.object, &room, &call->args.dirop);

	return err != 0 ? err : rpc_nfs3_rmdir_async(rpc, cb, &args, arg);
}

static int send_rename(struct rpc_context *rpc, const struct nfs_call *call, rpc_cb cb,
		       void *arg)
{
	struct name_room from_room;
	struct name_room to_room;
	RENAME3args args;
	int err = dirop_view(&args.from, &from_room, &call->args.rename.from);

	if (err == 0)
		err = dirop_view(&args.to, &to_room, &call->args.rename.to);
	return err != 0 ? err : rpc_nfs3_rename_async(rpc, cb, &args, arg);
}

static int send_link(struct rpc_context *rpc, const struct nfs_call *call, rpc_cb cb,
		     void *arg)
{
	struct name_room room;
	LINK3args args;
	int err = dirop_view(&args.link, &room, &call->args.link.to);

	fh_view(&args.file, &call->args.link.fh);
	return err != 0 ? err : rpc_nfs3_link_async(rpc, cb, &args, arg);
}

static int send_readdir(struct rpc_context *rpc, const struct nfs_call *call, rpc_cb cb,
			void *arg)
{
	const struct nfs3_readdir_args *from = &call->args.readdir;
	READDIR3args args = { .cookie = from->cookie,
			      .count = lower(from->dircount,
					     UPSTREAM_READDIR_MAX_BYTES) };

	fh_view(&args.dir, &from->dir);
	memcpy(args.cookieverf, from->cookie_verifier, sizeof(args.cookieverf));
	return rpc_nfs3_readdir_async(rpc, cb, &args, arg);
}

static int send_readdirplus(struct rpc_context *rpc, const struct nfs_call *call,
			    rpc_cb cb, void *arg)
{
	const struct nfs3_readdir_args *from = &call->args.readdir;
	READDIRPLUS3args args = {
		.cookie = from->cookie,
		.dircount = lower(from->dircount, UPSTREAM_READDIR_MAX_BYTES),
		.maxcount = lower(from->maxcount, UPSTREAM_READDIR_MAX_BYTES),
	};

	fh_view(&args.dir, &from->dir);
	memcpy(args.cookieverf, from->cookie_verifier, sizeof(args.cookieverf));
	return rpc_nfs3_readdirplus_async(rpc, cb, &args, arg);
}

static int send_fsstat(struct rpc_context *rpc, const struct nfs_call *call, rpc_cb cb,
		       void *arg)
{
	FSSTAT3args args;

	fh_view(&args.fsroot, &call->args.fh);
	return rpc_nfs3_fsstat_async(rpc, cb, &args, arg);
}

static int send_fsinfo(struct rpc_context *rpc, const struct nfs_call *call, rpc_cb cb,
		       void *arg)
{
	FSINFO3args args;

	fh_view(&args.fsroot, &call->args.fh);
	return rpc_nfs3_fsinfo_async(rpc, cb, &args, arg);
}

static int send_pathconf(struct rpc_context *rpc, const struct nfs_call *call,
			 rpc_cb cb, void *arg)
{
	PATHCONF3args args;

	fh_view(&args.object, &call->args.fh);
	return rpc_nfs3_pathconf_async(rpc, cb, &args, arg);
}

static int send_commit(struct rpc_context *rpc, const struct nfs_call *call, rpc_cb cb,
		       void *arg)
{
	COMMIT3args args = { .offset = call->args.commit.offset,
			     .count = call->args.commit.count };

	fh_view(&args.file, &call->args.commit.fh);
	return rpc_nfs3_commit_async(rpc, cb, &args, arg);
}

static const struct upstream_proc procs[] = {
	[NFS3_PROC_NULL] = { send_null, NULL, 0 },
	[NFS3_PROC_GETATTR] = { send_getattr, encode_GETATTR3res, SMALL_BYTES },
	[NFS3_PROC_SETATTR] = { send_setattr, encode_SETATTR3res, SMALL_BYTES },
	[NFS3_PROC_LOOKUP] = { send_lookup, encode_LOOKUP3res, SMALL_BYTES },
	[NFS3_PROC_ACCESS] = { send_access, encode_ACCESS3res, SMALL_BYTES },
	[NFS3_PROC_READLINK] = { send_readlink, encode_READLINK3res, PATH_BYTES },
	[NFS3_PROC_READ] = { send_read, encode_READ3res, SMALL_BYTES },
	[NFS3_PROC_WRITE] = { send_write, encode_WRITE3res, SMALL_BYTES },
	[NFS3_PROC_CREATE] = { send_create, encode_CREATE3res, SMALL_BYTES },
	[NFS3_PROC_MKDIR] = { send_mkdir, encode_MKDIR3res, SMALL_BYTES },
	[NFS3_PROC_SYMLINK] = { send_symlink, encode_SYMLINK3res, SMALL_BYTES },
	[NFS3_PROC_MKNOD] = { send_mknod, encode_MKNOD3res, SMALL_BYTES },
	[NFS3_PROC_REMOVE] = { send_remove, encode_REMOVE3res, SMALL_BYTES },
	[NFS3_PROC_RMDIR] = { send_rmdir, encode_RMDIR3res, SMALL_BYTES },
	[NFS3_PROC_RENAME] = { send_rename, encode_RENAME3res, SMALL_BYTES },
	[NFS3_PROC_LINK] = { send_link, encode_LINK3res, SMALL_BYTES },
	[NFS3_PROC_READDIR] = { send_readdir, encode_READDIR3res, DIRECTORY_BYTES },
	[NFS3_PROC_READDIRPLUS] = { send_readdirplus, encode_READDIRPLUS3res,
				    DIRECTORY_BYTES },
	[NFS3_PROC_FSSTAT] = { send_fsstat, encode_FSSTAT3res, SMALL_BYTES },
	[NFS3_PROC_FSINFO] = { send_fsinfo, encode_FSINFO3res, SMALL_BYTES },
	[NFS3_PROC_PATHCONF] = { send_pathconf, encode_PATHCONF3res, SMALL_BYTES },
	[NFS3_PROC_COMMIT] = { send_commit, encode_COMMIT3res, SMALL_BYTES },
};

const struct upstream_proc *upstream_proc_nfs(uint32_t proc)
{
	return proc <= NFS3_PROC_COMMIT ? &procs[proc] : NULL;
}
