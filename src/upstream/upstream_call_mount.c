/*
 * MOUNT, versions 1 and 3 (RFC 1813 s5.2, RFC 1094 appendix A).
 *
 * The hard case: MNT of version 1 answers a handle of another NFS version; it is not
 * offered. All else is the same in both. Not promised: lists longer than a record
 * libnfs takes (1 MiB).
 */
#include "upstream/upstream_call.h"

#include <errno.h>

enum { MOUNT_RESULTS_BYTES = 512, MOUNT_LIST_BYTES = 16 * 1024 };

UPSTREAM_ENCODER(mountres3)
UPSTREAM_ENCODER(mountlist)
UPSTREAM_ENCODER(exports)

/* Calls that carry no arguments. */
#define SEND_VOID(procedure)                                                           \
	static int send_##procedure(struct rpc_context *rpc,                           \
				    const struct nfs_call *call, rpc_cb cb, void *arg) \
	{                                                                              \
		(void)call;                                                            \
		return rpc_##procedure##_async(rpc, cb, arg);                          \
	}

/* Calls that carry a path. */
#define SEND_PATH(procedure)                                                           \
	static int send_##procedure(struct rpc_context *rpc,                           \
				    const struct nfs_call *call, rpc_cb cb, void *arg) \
	{                                                                              \
		char path[MOUNT_PATH_MAX_BYTES + 1];                                   \
		int err = upstream_call_string(path, sizeof(path),                     \
					       &call->args.mount_path);                \
                                                                                       \
		return err != 0 ? err : rpc_##procedure##_async(rpc, cb, path, arg);   \
	}

SEND_VOID(mount1_null)
SEND_VOID(mount1_dump)
SEND_PATH(mount1_umnt)
SEND_VOID(mount1_umntall)
SEND_VOID(mount1_export)
SEND_VOID(mount3_null)
SEND_PATH(mount3_mnt)
SEND_VOID(mount3_dump)
SEND_PATH(mount3_umnt)
SEND_VOID(mount3_umntall)
SEND_VOID(mount3_export)

static const struct upstream_proc mount1_procs[] = {
	[MOUNT_PROC_NULL] = { send_mount1_null, NULL, 0 },
	[MOUNT_PROC_DUMP] = { send_mount1_dump, encode_mountlist, MOUNT_LIST_BYTES },
	[MOUNT_PROC_UMNT] = { send_mount1_umnt, NULL, 0 },
	[MOUNT_PROC_UMNTALL] = { send_mount1_umntall, NULL, 0 },
	[MOUNT_PROC_EXPORT] = { send_mount1_export, encode_exports, MOUNT_LIST_BYTES },
};

static const struct upstream_proc mount3_procs[] = {
	[MOUNT_PROC_NULL] = { send_mount3_null, NULL, 0 },
	[MOUNT_PROC_MNT] = { send_mount3_mnt, encode_mountres3, MOUNT_RESULTS_BYTES },
	[MOUNT_PROC_DUMP] = { send_mount3_dump, encode_mountlist, MOUNT_LIST_BYTES },
	[MOUNT_PROC_UMNT] = { send_mount3_umnt, NULL, 0 },
	[MOUNT_PROC_UMNTALL] = { send_mount3_umntall, NULL, 0 },
	[MOUNT_PROC_EXPORT] = { send_mount3_export, encode_exports, MOUNT_LIST_BYTES },
};

const struct upstream_proc *upstream_proc_mount(uint32_t version, uint32_t proc)
{
	if (proc > MOUNT_PROC_EXPORT)
		return NULL;
	if (version == 1)
		return proc == MOUNT_PROC_MNT ? NULL : &mount1_procs[proc];
	return version == 3 ? &mount3_procs[proc] : NULL;
}
