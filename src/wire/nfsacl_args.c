/*
 * Arguments of the NFSACL version 3 procedures. There is no RFC; the form is that of
 * the Solaris and Linux implementations:
 *
 *   GETACL: handle, mask
 *   SETACL: handle, mask, limit, entry<1024>, limit, entry<1024>
 *   entry:  type, id, perm
 *
 * The hard case is the array count, which is bounded before it is multiplied. Entries
 * stay views of wire bytes.
 *
 * Not promised: that an entry makes sense, or that a limit agrees with its array.
 */
#include "nfsgather/invariant.h"
#include "wire/call_args.h"

enum { NFSACL_ENTRY_BYTES = 12 };

static void nfsacl_args_in_entries(struct xdr_in *in, uint32_t *count,
				   struct nfs3_bytes *entries)
{
	*count = xdr_in_u32_max(in, NFSACL_ENTRIES_MAX);
	entries->data = xdr_in_fixed(in, *count * NFSACL_ENTRY_BYTES);
	entries->len = *count * NFSACL_ENTRY_BYTES;
}

static void nfsacl_args_setacl(struct nfs_call *call, struct xdr_in *in)
{
	struct nfsacl_setacl_args *args = &call->args.setacl;

	nfs3_args_in_fh(in, &args->fh);
	args->mask = xdr_in_u32(in);
	args->ace_limit = xdr_in_u32(in);
	nfsacl_args_in_entries(in, &args->ace_count, &args->aces);
	args->default_ace_limit = xdr_in_u32(in);
	nfsacl_args_in_entries(in, &args->default_ace_count, &args->default_aces);
}

void nfsacl_args_decode(struct nfs_call *call, struct xdr_in *in)
{
	switch ((enum nfsacl_proc)call->proc) {
	case NFSACL_PROC_NULL:
		return;
	case NFSACL_PROC_GETACL:
		nfs3_args_in_fh(in, &call->args.getacl.fh);
		call->args.getacl.mask = xdr_in_u32(in);
		return;
	case NFSACL_PROC_SETACL:
		nfsacl_args_setacl(call, in);
		return;
	}
	UNREACHABLE();
}

const struct nfs3_fh *nfsacl_args_fh(const struct nfs_call *call)
{
	switch ((enum nfsacl_proc)call->proc) {
	case NFSACL_PROC_NULL:
		return NULL;
	case NFSACL_PROC_GETACL:
		return &call->args.getacl.fh;
	case NFSACL_PROC_SETACL:
		return &call->args.setacl.fh;
	}
	UNREACHABLE();
}
