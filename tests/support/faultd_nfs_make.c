/*
 * CREATE, MKDIR, SYMLINK, MKNOD.
 *
 * The hard case is CREATE on a name that exists: UNCHECKED truncates if asked to,
 * GUARDED fails, EXCLUSIVE succeeds if and only if it is the same call again.
 */
#include "faultd_nfs.h"

#include <stdlib.h>
#include <string.h>

enum { CREATE_UNCHECKED = 0, CREATE_GUARDED = 1, CREATE_EXCLUSIVE = 2 };

static bool name_is_dots(const struct name *n)
{
	return (n->len == 1 && n->p[0] == '.') ||
	       (n->len == 2 && !memcmp(n->p, "..", 2));
}

/* Resolves a place where something new shall be. */
static uint32_t make_find(struct faultd *f, struct call *call, struct place *p)
{
	uint32_t st = nfs_find_place(f, call, p, PERM_WRITE | PERM_EXEC);

	if (!st && (p->entry || name_is_dots(&p->name)))
		st = NFS_EXIST;
	return st;
}

static struct node *make_node(struct faultd *f, struct call *call, struct place *p,
			      enum node_type type, const struct sattr *s)
{
	struct node *n = fs_new_node(&f->fs, type, p->dir->fsid);

	n->uid = call->cred.uid;
	n->gid = call->cred.gid;
	if (s) {
		struct sattr own = *s;

		own.set_size = s->set_size && type == NODE_FILE;
		if (call->cred.uid != 0)
			own.set_uid = own.set_gid = false;
		/* too large a size leaves an empty file, as O_TRUNC would */
		(void)nfs_apply_sattr(f, n, &own);
	}
	dir_add(p->dir, p->name.p, p->name.len, n);
	node_touch(&f->fs, p->dir, true);
	return n;
}

static bool make_answer(struct faultd *f, struct call *call, struct xdr_out *out,
			uint32_t st, const struct node *n, const struct wcc *before,
			const struct node *dir)
{
	nfs_put_status(call, out, st);
	if (!st) {
		xdr_put_u32(out, 1);
		nfs_put_handle(f, out, n);
		nfs_put_post(f, out, n);
	}
	nfs_put_wcc(f, out, before, dir);
	return true;
}

/* CREATE found the name. */
static uint32_t create_existing(struct faultd *f, struct call *call, struct node *n,
				uint32_t how, const struct sattr *s,
				const uint8_t *verf)
{
	struct sattr size = { .set_size = s->set_size, .size = s->size };
	uint32_t st;

	if (!n || n->type != NODE_FILE || how == CREATE_GUARDED)
		return NFS_EXIST;
	if (how == CREATE_EXCLUSIVE)
		return n->has_create_verf && !memcmp(n->create_verf, verf, 8)
			       ? NFS_OK
			       : NFS_EXIST;
	if (!size.set_size)
		return NFS_OK;
	st = nfs_may_sattr(n, &call->cred, &size);
	return st ? st : nfs_apply_sattr(f, n, &size);
}

/* The verifier also shows in the times, as on servers that have no other place. */
static void create_set_verf(struct node *n, const uint8_t *verf)
{
	struct xdr_in in = { .p = verf, .left = 8 };

	memcpy(n->create_verf, verf, 8);
	n->has_create_verf = true;
	n->atime.sec = xdr_get_u32(&in) & 0x7fffffff;
	n->mtime.sec = xdr_get_u32(&in) & 0x7fffffff;
}

/* RFC1813-3.3.8 */
bool nfs_create(struct faultd *f, struct call *call, struct xdr_out *out)
{
	struct place p = nfs_get_place(&call->args);
	uint32_t how = xdr_get_u32(&call->args), st;
	const uint8_t *verf = NULL;
	struct sattr s = { 0 };
	struct node *n = NULL;
	struct wcc before;

	if (how == CREATE_EXCLUSIVE)
		verf = xdr_get_fixed(&call->args, 8);
	else
		s = nfs_get_sattr(&call->args);
	if (!xdr_get_done(&call->args) || how > CREATE_EXCLUSIVE)
		return false;
	st = make_find(f, call, &p);
	before = nfs_wcc(p.dir);
	if (st == NFS_EXIST && !call->inject) {
		n = nfs_entry_node(f, p.entry);
		st = create_existing(f, call, n, how, &s, verf);
	} else if (!st) {
		n = make_node(f, call, &p, NODE_FILE, &s);
		if (verf)
			create_set_verf(n, verf);
	}
	return make_answer(f, call, out, st, n, &before, p.dir);
}

/* RFC1813-3.3.9 */
bool nfs_mkdir(struct faultd *f, struct call *call, struct xdr_out *out)
{
	struct place p = nfs_get_place(&call->args);
	struct sattr s = nfs_get_sattr(&call->args);
	struct node *n = NULL;
	struct wcc before;
	uint32_t st;

	if (!xdr_get_done(&call->args))
		return false;
	st = make_find(f, call, &p);
	before = nfs_wcc(p.dir);
	if (!st)
		n = make_node(f, call, &p, NODE_DIR, &s);
	return make_answer(f, call, out, st, n, &before, p.dir);
}

/* RFC1813-3.3.10 */
bool nfs_symlink(struct faultd *f, struct call *call, struct xdr_out *out)
{
	struct place p = nfs_get_place(&call->args);
	struct sattr s = nfs_get_sattr(&call->args);
	struct name target = nfs_get_name(&call->args);
	struct node *n = NULL;
	struct wcc before;
	uint32_t st;

	if (!xdr_get_done(&call->args))
		return false;
	st = make_find(f, call, &p);
	before = nfs_wcc(p.dir);
	if (!st && target.len > FS_PATH_MAX)
		st = NFS_NAMETOOLONG;
	if (!st) {
		n = make_node(f, call, &p, NODE_LINK, &s);
		n->target = malloc(target.len + 1);
		if (!n->target)
			abort();
		memcpy(n->target, target.p, target.len);
		n->target_len = target.len;
	}
	return make_answer(f, call, out, st, n, &before, p.dir);
}

/* RFC1813-3.3.11 */
bool nfs_mknod(struct faultd *f, struct call *call, struct xdr_out *out)
{
	struct place p = nfs_get_place(&call->args);
	uint32_t type = xdr_get_u32(&call->args), st;
	bool device = type == NODE_CHAR || type == NODE_BLOCK;
	bool special = device || type == NODE_SOCK || type == NODE_FIFO;
	uint32_t rdev[2] = { 0 };
	struct sattr s = { 0 };
	struct node *n = NULL;
	struct wcc before;

	if (special)
		s = nfs_get_sattr(&call->args);
	if (device) {
		rdev[0] = xdr_get_u32(&call->args);
		rdev[1] = xdr_get_u32(&call->args);
	}
	if (!xdr_get_done(&call->args))
		return false;
	st = make_find(f, call, &p);
	before = nfs_wcc(p.dir);
	if (!st && !special)
		st = NFS_BADTYPE;
	if (!st && device && call->cred.uid != 0)
		st = NFS_PERM;
	if (!st) {
		n = make_node(f, call, &p, (enum node_type)type, &s);
		memcpy(n->rdev, rdev, sizeof(rdev));
	}
	return make_answer(f, call, out, st, n, &before, p.dir);
}
