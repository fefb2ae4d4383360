/*
 * From struct nfs_call to libnfs and from libnfs' result structs to bytes.
 *
 * The hard case: libnfs calls back with a decoded struct that dies with the callback,
 * so results are encoded again there and then, with libnfs' own coders. Those check the
 * room for strings and words but not for fixed opaques and padding: room is kept behind
 * what they are told of, and the end is checked.
 *
 * Not promised: protection from an upstream that is hostile or broken inside a record.
 * libnfs' decoders read a verifier past the end of a record cut off before it, trust
 * array lengths, and recurse once per directory entry (a record full of them takes more
 * than 4 and less than 8 MiB of stack). A name that contains a NUL byte comes back cut
 * off there. Padding is zeroed, bytes after the results are dropped, and failed GETACL
 * and SETACL come without attributes.
 */
#include "upstream/upstream_call.h"

#include <errno.h>
#include <string.h>

#include "nfsgather/upstream.h"
#include "upstream/upstream_libnfs.h"
#include "wire/nfs3_result.h"
#include "wire/nfs_proc.h"

enum {
	/* Verifiers (8 bytes) and padding are encoded unchecked. */
	ROOM_BEHIND_BYTES = 64,
	/* More than any record libnfs takes can decode to. */
	RESULTS_MAX_BYTES = UPSTREAM_READ_MAX_BYTES + 8192,
	/* Return value of rpc_*_async when the arguments did not fit its buffer. */
	LIBNFS_ENCODE_FAILED = -2,
};

static const struct upstream_proc *proc_find(const struct nfs_call *call)
{
	if (call->program == PROGRAM_NFS && call->version == 3)
		return upstream_proc_nfs(call->proc);
	if (call->program == PROGRAM_MOUNT)
		return upstream_proc_mount(call->version, call->proc);
	if (call->program == PROGRAM_NFSACL && call->version == 3)
		return upstream_proc_nfsacl(call->proc);
	return NULL;
}

/* Bytes of names, paths and ACL entries, padded. */
static size_t call_strings_bytes(const struct nfs_call *call)
{
	enum { PAD = 3 * 2 };

	if (call->program == PROGRAM_NFSACL && call->proc == NFSACL_PROC_SETACL)
		return (size_t)call->args.setacl.aces.len +
		       call->args.setacl.default_aces.len;
	if (call->program != PROGRAM_NFS)
		return 0;
	switch (call->proc) {
	case NFS3_PROC_LOOKUP:
	case NFS3_PROC_REMOVE:
	case NFS3_PROC_RMDIR:
		return (size_t)call->args.dirop.name.len + PAD;
	case NFS3_PROC_CREATE:
		return (size_t)call->args.create.where.name.len + PAD;
	case NFS3_PROC_MKDIR:
		return (size_t)call->args.mkdir.where.name.len + PAD;
	case NFS3_PROC_SYMLINK:
		return (size_t)call->args.symlink.where.name.len +
		       call->args.symlink.path.len + PAD;
	case NFS3_PROC_MKNOD:
		return (size_t)call->args.mknod.where.name.len + PAD;
	case NFS3_PROC_RENAME:
		return (size_t)call->args.rename.from.name.len +
		       call->args.rename.to.name.len + PAD;
	case NFS3_PROC_LINK:
		return (size_t)call->args.link.to.name.len + PAD;
	default:
		return 0;
	}
}

int upstream_call_send(struct rpc_context *rpc, const struct nfs_call *call, rpc_cb cb,
		       void *arg)
{
	const struct upstream_proc *proc = proc_find(call);
	int err;

	if (proc == NULL)
		return -ENOTSUP;
	if (call_strings_bytes(call) > UPSTREAM_STRINGS_MAX_BYTES)
		return -E2BIG;
	err = proc->send(rpc, call, cb, arg);
	if (err >= 0)
		return 0;
	if (err == LIBNFS_ENCODE_FAILED)
		return -E2BIG;
	return err == -EBADMSG ? -EBADMSG : -ENOMEM;
}

int upstream_call_refuse_size(const struct nfs_call *call, struct buf **results)
{
	uint32_t status = call->program == PROGRAM_NFSACL ? NFS3ERR_NOSPC
							  : NFS3ERR_NAMETOOLONG;
	const struct nfs_proc *proc;
	uint32_t low;
	uint32_t high;

	if (nfs_proc_find(call->program, call->version, call->proc, &proc, &low,
			  &high) != NFS_LOOKUP_OK ||
	    proc->fail_shape == NFS_FAIL_VOID)
		UNREACHABLE(); /* only calls with a status have strings */
	*results = nfs3_failure_encode(proc->fail_shape, status);
	return *results == NULL ? -ENOMEM : 0;
}

static size_t results_guess_bytes(const struct nfs_call *call,
				  const struct upstream_proc *proc)
{
	size_t asked_bytes = 0;

	if (call->program == PROGRAM_NFS && call->proc == NFS3_PROC_READ)
		asked_bytes = call->args.read.count;
	else if (call->program == PROGRAM_NFS && call->proc == NFS3_PROC_READDIR)
		asked_bytes = call->args.readdir.dircount;
	else if (call->program == PROGRAM_NFS && call->proc == NFS3_PROC_READDIRPLUS)
		asked_bytes = call->args.readdir.maxcount;
	if (asked_bytes > UPSTREAM_READ_MAX_BYTES)
		asked_bytes = UPSTREAM_READ_MAX_BYTES;
	return proc->results_bytes + asked_bytes;
}

static int results_encode(const struct upstream_proc *proc, void *data,
			  size_t room_bytes, struct buf **results)
{
	struct buf *buf =
		buf_new(UPSTREAM_REPLY_HEADROOM_BYTES + room_bytes + ROOM_BEHIND_BYTES);
	size_t len_bytes = 0;
	ZDR zdr;

	if (buf == NULL)
		return -ENOMEM;
	buf->off_bytes = UPSTREAM_REPLY_HEADROOM_BYTES;
	if (proc->encode != NULL) {
		bool encoded;

		zdrmem_create(&zdr, (char *)buf_start(buf), (uint32_t)room_bytes,
			      ZDR_ENCODE);
		encoded = proc->encode(&zdr, data);
		len_bytes = zdr_getpos(&zdr);
		zdr_destroy(&zdr);
		INVARIANT(len_bytes <= room_bytes + ROOM_BEHIND_BYTES);
		if (!encoded) {
			buf_unref(buf);
			return -EBADMSG;
		}
	}
	buf->len_bytes = len_bytes;
	*results = buf;
	return 0;
}

int upstream_call_results(const struct nfs_call *call, void *data, struct buf **results)
{
	const struct upstream_proc *proc = proc_find(call);
	size_t room_bytes;
	int err;

	INVARIANT(proc != NULL);
	if (proc->encode != NULL && data == NULL)
		return -EBADMSG;
	room_bytes = results_guess_bytes(call, proc);
	err = results_encode(proc, data, room_bytes, results);
	if (err == -EBADMSG && room_bytes < RESULTS_MAX_BYTES)
		err = results_encode(proc, data, RESULTS_MAX_BYTES, results);
	return err;
}

size_t upstream_call_payload_bytes(const struct nfs_call *call)
{
	if (call->program != PROGRAM_NFS)
		return 0;
	if (call->proc == NFS3_PROC_WRITE)
		return call->args.write.payload.len;
	if (call->proc == NFS3_PROC_READ)
		return call->args.read.count < UPSTREAM_READ_MAX_BYTES
			       ? call->args.read.count
			       : UPSTREAM_READ_MAX_BYTES;
	return 0;
}

const struct nfs3_fh *upstream_call_bulk_fh(const struct nfs_call *call)
{
	if (call->program != PROGRAM_NFS)
		return NULL;
	switch (call->proc) {
	case NFS3_PROC_READ:
		return &call->args.read.fh;
	case NFS3_PROC_WRITE:
		return &call->args.write.fh;
	case NFS3_PROC_COMMIT:
		return &call->args.commit.fh;
	default:
		return NULL;
	}
}

int upstream_call_string(char *string, size_t size_bytes,
			 const struct nfs3_bytes *bytes)
{
	if (bytes->len >= size_bytes)
		return -EBADMSG;
	if (bytes->len > 0 && memchr(bytes->data, '\0', bytes->len) != NULL)
		return -EBADMSG;
	if (bytes->len > 0)
		memcpy(string, bytes->data, bytes->len);
	string[bytes->len] = '\0';
	return 0;
}
