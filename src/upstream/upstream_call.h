/*
 * Calls as libnfs takes them, results as bytes: one table row per procedure.
 */
#ifndef UPSTREAM_UPSTREAM_CALL_H
#define UPSTREAM_UPSTREAM_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nfsgather/buf.h"
#include "nfsgather/call.h"
#include "nfsgather/invariant.h"
#include "upstream/libnfs_raw.h"

enum {
	/* READDIR and READDIRPLUS: libnfs decodes and encodes entries recursively. */
	UPSTREAM_READDIR_MAX_BYTES = 256 * 1024,
	/*
	 * libnfs encodes a call's header and arguments (a WRITE's payload apart) into
	 * 4096 bytes and does not check all it writes: names, paths and ACLs of one
	 * call must leave room for the rest (a credential of 400 bytes, two handles,
	 * attributes).
	 */
	UPSTREAM_STRINGS_MAX_BYTES = 3072,
};

/*
 * How one procedure goes to libnfs and comes back. send() returns what the rpc_*_async
 * function returned, or a negative errno. encode() is NULL when there are no results.
 */
struct upstream_proc {
	int (*send)(struct rpc_context *rpc, const struct nfs_call *call, rpc_cb cb,
		    void *arg);
	bool (*encode)(ZDR *zdr, void *results);
	size_t results_bytes; /* enough for nearly all results, variable parts apart */
};

/* Both NULL when out of range. */
const struct upstream_proc *upstream_proc_nfs(uint32_t proc);
const struct upstream_proc *upstream_proc_mount(uint32_t version, uint32_t proc);
const struct upstream_proc *upstream_proc_nfsacl(uint32_t proc);

/*
 * Hands the call to libnfs, which copies all of it; cb() will run with `arg`.
 * -ENOMEM: try later. -EBADMSG: arguments that cannot be sent (a name with a NUL byte).
 * -E2BIG: more than UPSTREAM_STRINGS_MAX_BYTES of them. -ENOTSUP: unknown procedure.
 */
MUST_CHECK int upstream_call_send(struct rpc_context *rpc, const struct nfs_call *call,
				  rpc_cb cb, void *arg);

/*
 * Encodes the results that cb() was given, with UPSTREAM_REPLY_HEADROOM_BYTES before
 * them. 0, -ENOMEM, or -EBADMSG for results that do not encode.
 */
MUST_CHECK int upstream_call_results(const struct nfs_call *call, void *data,
				     struct buf **results);

/*
 * What a call that was -E2BIG is answered with: NFS3ERR_NAMETOOLONG, or for an ACL
 * NFS3ERR_NOSPC, as file systems say it. 0 or -ENOMEM.
 */
MUST_CHECK int upstream_call_refuse_size(const struct nfs_call *call,
					 struct buf **results);

/* Payload that libnfs keeps a copy of until the reply is there. */
size_t upstream_call_payload_bytes(const struct nfs_call *call);

/* Is this READ, WRITE or COMMIT, and then of which file? NULL: no. */
const struct nfs3_fh *upstream_call_bulk_fh(const struct nfs_call *call);

/* Defines encode_TYPE() around libnfs' coder zdr_TYPE(). */
#define UPSTREAM_ENCODER(type)                                                         \
	static bool encode_##type(ZDR *zdr, void *results)                             \
	{                                                                              \
		return zdr_##type(zdr, results) != 0;                                  \
	}

/* A counted string as the NUL-terminated one that libnfs wants. -EBADMSG: no such. */
MUST_CHECK int upstream_call_string(char *string, size_t size_bytes,
				    const struct nfs3_bytes *bytes);

#endif
