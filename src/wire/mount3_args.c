/*
 * Arguments of the MOUNT procedures (RFC 1813 s5.2; version 1: RFC 1094 appendix A).
 *
 * The hard case is small: both versions share what is decoded here, and version 1 lacks
 * MNT, which the procedure table takes care of.
 *
 * Not promised: that the path is absolute or exported.
 */
#include "nfsgather/invariant.h"
#include "wire/call_args.h"

void mount3_args_decode(struct nfs_call *call, struct xdr_in *in)
{
	switch ((enum mount_proc)call->proc) {
	case MOUNT_PROC_NULL:
	case MOUNT_PROC_DUMP:
	case MOUNT_PROC_UMNTALL:
	case MOUNT_PROC_EXPORT:
		return;
	case MOUNT_PROC_MNT:
	case MOUNT_PROC_UMNT:
		call->args.mount_path = nfs3_args_in_text(in, MOUNT_PATH_MAX_BYTES);
		return;
	}
	UNREACHABLE();
}
