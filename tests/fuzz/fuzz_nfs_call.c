/*
 * Arguments of all procedures: what decodes points into the input, and written again it
 * is the same bytes but for padding, which comes out as zeros.
 *
 * Input: program (one byte, 0 to 2), version, procedure (one byte each), arguments.
 */
#include <string.h>

#include "fuzz.h"
#include "wire/nfs_proc.h"
#include "wire/xdr.h"

static const uint8_t *input;
static size_t input_bytes;

static void out_view(struct xdr_out *out, struct nfs3_bytes view)
{
	FUZZ_ASSERT(view.data >= input);
	FUZZ_ASSERT(view.len <= input_bytes);
	FUZZ_ASSERT((size_t)(view.data - input) <= input_bytes - view.len);
	xdr_out_bytes(out, view.data, view.len);
}

static void out_fh(struct xdr_out *out, const struct nfs3_fh *fh)
{
	FUZZ_ASSERT(fh->len >= 1 && fh->len <= NFS3_FHSIZE);
	xdr_out_bytes(out, fh->data, fh->len);
}

static void out_dirop(struct xdr_out *out, const struct nfs3_dirop *dirop)
{
	FUZZ_ASSERT(memchr(dirop->name.data, '\0', dirop->name.len) == NULL);
	out_fh(out, &dirop->dir);
	out_view(out, dirop->name);
}

static void out_time(struct xdr_out *out, const struct nfs3_time *time)
{
	xdr_out_u32(out, time->seconds);
	xdr_out_u32(out, time->nseconds);
}

static void out_optional(struct xdr_out *out, bool is_set, uint32_t value)
{
	xdr_out_bool(out, is_set);
	if (is_set)
		xdr_out_u32(out, value);
}

static void out_sattr(struct xdr_out *out, const struct nfs3_sattr *sattr)
{
	out_optional(out, sattr->set_mode, sattr->mode);
	out_optional(out, sattr->set_uid, sattr->uid);
	out_optional(out, sattr->set_gid, sattr->gid);
	xdr_out_bool(out, sattr->set_size);
	if (sattr->set_size)
		xdr_out_u64(out, sattr->size);
	xdr_out_u32(out, sattr->atime_how);
	if (sattr->atime_how == NFS3_SET_TO_CLIENT_TIME)
		out_time(out, &sattr->atime);
	xdr_out_u32(out, sattr->mtime_how);
	if (sattr->mtime_how == NFS3_SET_TO_CLIENT_TIME)
		out_time(out, &sattr->mtime);
}

static void out_mknod(struct xdr_out *out, const struct nfs3_mknod_args *args)
{
	out_dirop(out, &args->where);
	xdr_out_u32(out, args->type);
	if (args->type != NFS3_CHR && args->type != NFS3_BLK &&
	    args->type != NFS3_SOCK && args->type != NFS3_FIFO)
		return;
	out_sattr(out, &args->sattr);
	if (args->type == NFS3_SOCK || args->type == NFS3_FIFO)
		return;
	xdr_out_u32(out, args->rdev_major);
	xdr_out_u32(out, args->rdev_minor);
}

static void out_create(struct xdr_out *out, const struct nfs3_create_args *args)
{
	out_dirop(out, &args->where);
	xdr_out_u32(out, args->mode);
	if (args->mode == NFS3_EXCLUSIVE)
		xdr_out_fixed(out, args->verifier, NFS3_CREATEVERFSIZE);
	else
		out_sattr(out, &args->sattr);
}

static void out_setattr(struct xdr_out *out, const struct nfs3_setattr_args *args)
{
	out_fh(out, &args->fh);
	out_sattr(out, &args->sattr);
	xdr_out_bool(out, args->has_guard);
	if (args->has_guard)
		out_time(out, &args->guard_ctime);
}

static void out_write(struct xdr_out *out, const struct nfs3_write_args *args)
{
	FUZZ_ASSERT(args->count == args->payload.len);
	out_fh(out, &args->fh);
	xdr_out_u64(out, args->offset);
	xdr_out_u32(out, args->count);
	xdr_out_u32(out, args->stable);
	out_view(out, args->payload);
}

static void out_range(struct xdr_out *out, const struct nfs3_fh *fh, uint64_t offset,
		      uint32_t count)
{
	out_fh(out, fh);
	xdr_out_u64(out, offset);
	xdr_out_u32(out, count);
}

static void out_readdir(struct xdr_out *out, const struct nfs3_readdir_args *args)
{
	out_fh(out, &args->dir);
	xdr_out_u64(out, args->cookie);
	xdr_out_fixed(out, args->cookie_verifier, NFS3_COOKIEVERFSIZE);
	xdr_out_u32(out, args->dircount);
}

static void out_nfs3(struct xdr_out *out, const struct nfs_call *call)
{
	switch ((enum nfs3_proc)call->proc) {
	case NFS3_PROC_NULL:
		return;
	case NFS3_PROC_GETATTR:
	case NFS3_PROC_READLINK:
	case NFS3_PROC_FSSTAT:
	case NFS3_PROC_FSINFO:
	case NFS3_PROC_PATHCONF:
		out_fh(out, &call->args.fh);
		return;
	case NFS3_PROC_LOOKUP:
	case NFS3_PROC_REMOVE:
	case NFS3_PROC_RMDIR:
		out_dirop(out, &call->args.dirop);
		return;
	case NFS3_PROC_SETATTR:
		out_setattr(out, &call->args.setattr);
		return;
	case NFS3_PROC_ACCESS:
		out_fh(out, &call->args.access.fh);
		xdr_out_u32(out, call->args.access.access);
		return;
	case NFS3_PROC_READ:
		out_range(out, &call->args.read.fh, call->args.read.offset,
			  call->args.read.count);
		return;
	case NFS3_PROC_WRITE:
		out_write(out, &call->args.write);
		return;
	case NFS3_PROC_CREATE:
		out_create(out, &call->args.create);
		return;
	case NFS3_PROC_MKDIR:
		out_dirop(out, &call->args.mkdir.where);
		out_sattr(out, &call->args.mkdir.sattr);
		return;
	case NFS3_PROC_SYMLINK:
		out_dirop(out, &call->args.symlink.where);
		out_sattr(out, &call->args.symlink.sattr);
		out_view(out, call->args.symlink.path);
		return;
	case NFS3_PROC_MKNOD:
		out_mknod(out, &call->args.mknod);
		return;
	case NFS3_PROC_RENAME:
		out_dirop(out, &call->args.rename.from);
		out_dirop(out, &call->args.rename.to);
		return;
	case NFS3_PROC_LINK:
		out_fh(out, &call->args.link.fh);
		out_dirop(out, &call->args.link.to);
		return;
	case NFS3_PROC_READDIR:
		out_readdir(out, &call->args.readdir);
		return;
	case NFS3_PROC_READDIRPLUS:
		out_readdir(out, &call->args.readdir);
		xdr_out_u32(out, call->args.readdir.maxcount);
		return;
	case NFS3_PROC_COMMIT:
		out_range(out, &call->args.commit.fh, call->args.commit.offset,
			  call->args.commit.count);
		return;
	}
	FUZZ_ASSERT(false);
}

static void out_entries(struct xdr_out *out, uint32_t limit, uint32_t count,
			struct nfs3_bytes entries)
{
	FUZZ_ASSERT(count <= NFSACL_ENTRIES_MAX && entries.len == count * 12);
	xdr_out_u32(out, limit);
	xdr_out_u32(out, count);
	xdr_out_fixed(out, entries.data, entries.len);
}

static void out_nfsacl(struct xdr_out *out, const struct nfs_call *call)
{
	const struct nfsacl_setacl_args *setacl = &call->args.setacl;

	if (call->proc == NFSACL_PROC_GETACL) {
		out_fh(out, &call->args.getacl.fh);
		xdr_out_u32(out, call->args.getacl.mask);
	} else if (call->proc == NFSACL_PROC_SETACL) {
		out_fh(out, &setacl->fh);
		xdr_out_u32(out, setacl->mask);
		out_entries(out, setacl->ace_limit, setacl->ace_count, setacl->aces);
		out_entries(out, setacl->default_ace_limit, setacl->default_ace_count,
			    setacl->default_aces);
	}
}

static size_t write_again(uint8_t *room, size_t room_bytes, const struct nfs_call *call)
{
	struct xdr_out out;

	xdr_out_init(&out, room, room_bytes);
	if (call->program == PROGRAM_NFS)
		out_nfs3(&out, call);
	else if (call->program == PROGRAM_NFSACL)
		out_nfsacl(&out, call);
	else if (call->proc == MOUNT_PROC_MNT || call->proc == MOUNT_PROC_UMNT)
		out_view(&out, call->args.mount_path);
	FUZZ_ASSERT(xdr_out_ok(&out));
	return xdr_out_len_bytes(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len_bytes)
{
	static const uint32_t programs[] = { PROGRAM_NFS, PROGRAM_MOUNT,
					     PROGRAM_NFSACL };
	const struct nfs_proc *found;
	struct nfs_call call;
	uint32_t low;
	uint32_t high;
	uint8_t *again;

	if (len_bytes < 3)
		return 0;
	input = bytes + 3;
	input_bytes = len_bytes - 3;
	int err = nfs_call_decode(&call, programs[bytes[0] % 3], bytes[1], bytes[2],
				  input, input_bytes);
	if (nfs_proc_find(call.program, call.version, call.proc, &found, &low, &high) !=
	    NFS_LOOKUP_OK) {
		FUZZ_ASSERT(err != 0 && found == NULL);
		return 0;
	}
	FUZZ_ASSERT(found != NULL);
	if (err != 0)
		return 0;
	again = malloc(input_bytes + 1);
	FUZZ_ASSERT(again != NULL);
	FUZZ_ASSERT(write_again(again, input_bytes, &call) == input_bytes);
	for (size_t i = 0; i < input_bytes; i++)
		FUZZ_ASSERT(again[i] == input[i] || again[i] == 0);
	if (nfs_call_fh(&call) != NULL)
		FUZZ_ASSERT(nfs_call_fh(&call)->len == input[3]);
	FUZZ_ASSERT(nfs_call_decode(&call, call.program, call.version, call.proc, again,
				    input_bytes) == 0);
	free(again);
	return 0;
}
