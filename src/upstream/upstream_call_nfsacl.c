/*
 * NFSACL version 3, the side protocol for POSIX ACLs.
 *
 * The hard case: libnfs gives the call a fixed buffer, which 256 entries fill; larger
 * lists are refused (-E2BIG), never cut.
 */
#include "upstream/upstream_call.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NFSACL_RESULTS_BYTES = 2048, NFSACL_ENTRY_BYTES = 12 };

/* libnfs forgets the attributes that follow a failure: say that there are none. */
static bool encode_failure_attr(ZDR *zdr, nfsstat3 status)
{
	bool_t follows = 0;

	return status == 0 || zdr_bool(zdr, &follows) != 0;
}

static bool encode_GETACL3res(ZDR *zdr, void *results)
{
	GETACL3res *res = results;

	return zdr_GETACL3res(zdr, res) != 0 && encode_failure_attr(zdr, res->status);
}

static bool encode_SETACL3res(ZDR *zdr, void *results)
{
	SETACL3res *res = results;

	return zdr_SETACL3res(zdr, res) != 0 && encode_failure_attr(zdr, res->status);
}

static void fh_view(nfs_fh3 *to, const struct nfs3_fh *fh)
{
	to->data.data_len = fh->len;
	to->data.data_val = (char *)(uintptr_t)fh->data;
}

static int send_null(struct rpc_context *rpc, const struct nfs_call *call, rpc_cb cb,
		     void *arg)
{
	(void)call;
	return rpc_nfsacl_null_async(rpc, cb, arg);
}

static int send_getacl(struct rpc_context *rpc, const struct nfs_call *call, rpc_cb cb,
		       void *arg)
{
	GETACL3args args = { .mask = call->args.getacl.mask };

	fh_view(&args.dir, &call->args.getacl.fh);
	return rpc_nfsacl_getacl_async(rpc, cb, &args, arg);
}

static void aces_decode(struct nfsacl_ace *aces, const struct nfs3_bytes *bytes,
			uint32_t count)
{
	uint32_t words[3];
	uint32_t i;

	for (i = 0; i < count; i++) {
		memcpy(words, bytes->data + (size_t)i * NFSACL_ENTRY_BYTES,
		       sizeof(words));
		aces[i].type = ntohl(words[0]);
		aces[i].id = ntohl(words[1]);
		aces[i].perm = ntohl(words[2]);
	}
}

static int send_setacl(struct rpc_context *rpc, const struct nfs_call *call, rpc_cb cb,
		       void *arg)
{
	const struct nfsacl_setacl_args *from = &call->args.setacl;
	SETACL3args args = { .mask = from->mask,
			     .ace_count = from->ace_limit,
			     .default_ace_count = from->default_ace_limit };
	size_t count = (size_t)from->ace_count + from->default_ace_count;
	struct nfsacl_ace *aces;
	int err;

	INVARIANT(from->aces.len == from->ace_count * NFSACL_ENTRY_BYTES);
	INVARIANT(from->default_aces.len ==
		  from->default_ace_count * NFSACL_ENTRY_BYTES);
	aces = calloc(count + 1, sizeof(*aces));
	if (aces == NULL)
		return -ENOMEM;
	aces_decode(aces, &from->aces, from->ace_count);
	aces_decode(aces + from->ace_count, &from->default_aces,
		    from->default_ace_count);
	fh_view(&args.dir, &from->fh);
	args.ace.ace_len = from->ace_count;
	args.ace.ace_val = aces;
	args.default_ace.default_ace_len = from->default_ace_count;
	args.default_ace.default_ace_val = aces + from->ace_count;
	err = rpc_nfsacl_setacl_async(rpc, cb, &args, arg);
	free(aces);
	return err;
}

static const struct upstream_proc procs[] = {
	[NFSACL_PROC_NULL] = { send_null, NULL, 0 },
	[NFSACL_PROC_GETACL] = { send_getacl, encode_GETACL3res, NFSACL_RESULTS_BYTES },
	[NFSACL_PROC_SETACL] = { send_setacl, encode_SETACL3res, NFSACL_RESULTS_BYTES },
};

const struct upstream_proc *upstream_proc_nfsacl(uint32_t proc)
{
	return proc <= NFSACL_PROC_SETACL ? &procs[proc] : NULL;
}
