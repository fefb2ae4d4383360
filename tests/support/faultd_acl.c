/*
 * NFSACL version 3: GETACL and SETACL, kept as the bytes that were set.
 *
 * The hard case is a file without a list: one is made up from its mode bits. Access is
 * decided by mode bits alone, never by these lists.
 */
#include "faultd_nfs.h"

#include <stdlib.h>
#include <string.h>

enum { ACL_MASK = 15, ACL_ENTRIES_MAX = 1024 };
enum { ACL_USER_OBJ = 1, ACL_GROUP_OBJ = 4, ACL_OTHER = 32 };

/* One counted array of (type, id, permissions) with its length before it. */
static void acl_skip(struct xdr_in *in)
{
	uint32_t count, n;

	count = xdr_get_u32(in);
	n = xdr_get_u32(in);
	if (n > ACL_ENTRIES_MAX || (n && n != count))
		in->bad = true;
	else
		xdr_get_fixed(in, (size_t)n * 12);
}

static void acl_put_entry(struct xdr_out *out, uint32_t type, uint32_t perm)
{
	xdr_put_u32(out, type);
	xdr_put_u32(out, 0);
	xdr_put_u32(out, perm & 7);
}

static void acl_put_mode(struct xdr_out *out, const struct node *n)
{
	xdr_put_u32(out, 3);
	xdr_put_u32(out, 3);
	acl_put_entry(out, ACL_USER_OBJ, n->mode >> 6);
	acl_put_entry(out, ACL_GROUP_OBJ, n->mode >> 3);
	acl_put_entry(out, ACL_OTHER, n->mode);
	xdr_put_u32(out, 0);
	xdr_put_u32(out, 0);
}

bool acl_getacl(struct faultd *f, struct call *call, struct xdr_out *out)
{
	struct handle h = nfs_get_handle(&call->args);
	uint32_t mask = xdr_get_u32(&call->args);
	struct node *n;
	uint32_t st;

	if (!xdr_get_done(&call->args))
		return false;
	st = nfs_find(f, call, h, &n);
	if (!st && mask & ~(uint32_t)ACL_MASK)
		st = NFS_INVAL;
	nfs_put_status(call, out, st);
	nfs_put_post(f, out, n);
	if (st)
		return true;
	xdr_put_u32(out, mask);
	if (n->acl)
		xdr_put_fixed(out, n->acl, n->acl_len);
	else
		acl_put_mode(out, n);
	return true;
}

bool acl_setacl(struct faultd *f, struct call *call, struct xdr_out *out)
{
	struct handle h = nfs_get_handle(&call->args);
	uint32_t mask = xdr_get_u32(&call->args);
	const uint8_t *body = call->args.p;
	size_t len = call->args.left;
	struct node *n;
	uint32_t st;

	acl_skip(&call->args);
	acl_skip(&call->args);
	if (!xdr_get_done(&call->args))
		return false;
	st = nfs_find(f, call, h, &n);
	if (!st && mask & ~(uint32_t)ACL_MASK)
		st = NFS_INVAL;
	if (!st && call->cred.uid != 0 && call->cred.uid != n->uid)
		st = NFS_PERM;
	if (!st) {
		free(n->acl);
		n->acl = malloc(len);
		if (!n->acl)
			abort();
		memcpy(n->acl, body, len);
		n->acl_len = len;
		node_touch(&f->fs, n, false);
	}
	nfs_put_status(call, out, st);
	nfs_put_post(f, out, n);
	return true;
}
