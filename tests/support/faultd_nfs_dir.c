/*
 * REMOVE, RMDIR, RENAME, LINK, READDIR, READDIRPLUS.
 *
 * The hard case is RENAME over something, or of a directory below itself. Cookies are
 * given once per entry and stay valid whatever else is removed; no entry is shown twice.
 */
#include "faultd_nfs.h"

#include <string.h>

enum {
	FATTR_SIZE = 84,
	ENTRY_HEAD = 4 + 8 + 4 + 8,	/* follows, fileid, name length, cookie */
	LIST_HEAD = 4 + FATTR_SIZE + 8, /* post_op_attr, verifier */
	LIST_END = 8,			/* no more, eof */
};

static bool name_is(const struct name *n, const char *s)
{
	return n->len == strlen(s) && !memcmp(n->p, s, n->len);
}

/* Takes a name away and what depends on it. */
static void unlink_entry(struct faultd *f, struct node *dir, struct entry *e)
{
	struct node *n = nfs_entry_node(f, e);

	dir_remove(dir, e);
	node_touch(&f->fs, dir, true);
	if (!n)
		return;
	if (n->type == NODE_DIR) {
		dir->nlink--;
		n->nlink = 0;
	} else {
		n->nlink--;
		node_touch(&f->fs, n, false);
	}
	fs_drop(&f->fs, n);
}

static bool remove_any(struct faultd *f, struct call *call, struct xdr_out *out,
		       bool dir)
{
	struct place p = nfs_get_place(&call->args);
	struct node *n = NULL;
	struct wcc before;
	uint32_t st;

	if (!xdr_get_done(&call->args))
		return false;
	st = nfs_find_place(f, call, &p, PERM_WRITE | PERM_EXEC);
	before = nfs_wcc(p.dir);
	if (!st && name_is(&p.name, "."))
		st = NFS_INVAL;
	else if (!st && name_is(&p.name, ".."))
		st = NFS_EXIST;
	else if (!st && !(n = nfs_entry_node(f, p.entry)))
		st = NFS_NOENT;
	else if (!st && dir && n->type != NODE_DIR)
		st = NFS_NOTDIR;
	else if (!st && !dir && n->type == NODE_DIR)
		st = NFS_ISDIR;
	else if (!st && dir && n->dir->n)
		st = NFS_NOTEMPTY;
	if (!st)
		unlink_entry(f, p.dir, p.entry);
	nfs_put_status(call, out, st);
	nfs_put_wcc(f, out, &before, p.dir);
	return true;
}

/* RFC1813-3.3.12 */
bool nfs_remove(struct faultd *f, struct call *call, struct xdr_out *out)
{
	return remove_any(f, call, out, false);
}

/* RFC1813-3.3.13 */
bool nfs_rmdir(struct faultd *f, struct call *call, struct xdr_out *out)
{
	return remove_any(f, call, out, true);
}

static bool is_below(struct faultd *f, const struct node *dir, const struct node *top)
{
	while (dir && dir != top)
		dir = dir->dir->parent_id ? fs_find(&f->fs, dir->dir->parent_id) : NULL;
	return dir != NULL;
}

static uint32_t rename_check(struct faultd *f, struct place *from, struct place *to,
			     struct node **source, struct node **target)
{
	if (name_is(&from->name, ".") || name_is(&from->name, "..") ||
	    name_is(&to->name, ".") || name_is(&to->name, ".."))
		return NFS_INVAL;
	*source = nfs_entry_node(f, from->entry);
	*target = nfs_entry_node(f, to->entry);
	if (!*source)
		return NFS_NOENT;
	if (from->dir->fsid != to->dir->fsid)
		return NFS_XDEV;
	if ((*source)->type == NODE_DIR && is_below(f, to->dir, *source))
		return NFS_INVAL;
	if (!*target || *target == *source)
		return NFS_OK;
	if (((*source)->type == NODE_DIR) != ((*target)->type == NODE_DIR))
		return NFS_EXIST;
	if ((*target)->type == NODE_DIR && (*target)->dir->n)
		return NFS_NOTEMPTY;
	return NFS_OK;
}

static void rename_do(struct faultd *f, struct place *from, struct place *to,
		      struct node *source)
{
	if (to->entry)
		unlink_entry(f, to->dir, to->entry);
	dir_remove(from->dir, from->entry);
	if (source->type == NODE_DIR)
		from->dir->nlink--;
	else
		source->nlink--;
	dir_add(to->dir, to->name.p, to->name.len, source);
	node_touch(&f->fs, source, false);
	node_touch(&f->fs, from->dir, true);
	if (to->dir != from->dir)
		node_touch(&f->fs, to->dir, true);
}

/* RFC1813-3.3.14 */
bool nfs_rename(struct faultd *f, struct call *call, struct xdr_out *out)
{
	struct place from = nfs_get_place(&call->args);
	struct place to = nfs_get_place(&call->args);
	struct node *source = NULL, *target = NULL;
	struct wcc before_from, before_to;
	uint32_t st, st_to;

	if (!xdr_get_done(&call->args))
		return false;
	st = nfs_find_place(f, call, &from, PERM_WRITE | PERM_EXEC);
	st_to = nfs_find_place(f, call, &to, PERM_WRITE | PERM_EXEC);
	st = st ? st : st_to;
	before_from = nfs_wcc(from.dir);
	before_to = nfs_wcc(to.dir);
	if (!st)
		st = rename_check(f, &from, &to, &source, &target);
	if (!st && source != target)
		rename_do(f, &from, &to, source);
	nfs_put_status(call, out, st);
	nfs_put_wcc(f, out, &before_from, from.dir);
	nfs_put_wcc(f, out, &before_to, to.dir);
	return true;
}

/* RFC1813-3.3.15 */
bool nfs_link(struct faultd *f, struct call *call, struct xdr_out *out)
{
	struct handle h = nfs_get_handle(&call->args);
	struct place to = nfs_get_place(&call->args);
	struct wcc before;
	struct node *n;
	uint32_t st, st_to;

	if (!xdr_get_done(&call->args))
		return false;
	st = nfs_find(f, call, h, &n);
	st_to = nfs_find_place(f, call, &to, PERM_WRITE | PERM_EXEC);
	st = st ? st : st_to;
	before = nfs_wcc(to.dir);
	if (!st && n->type == NODE_DIR)
		st = NFS_INVAL;
	if (!st && n->fsid != to.dir->fsid)
		st = NFS_XDEV;
	if (!st && (to.entry || name_is(&to.name, ".") || name_is(&to.name, "..")))
		st = NFS_EXIST;
	if (!st) {
		dir_add(to.dir, to.name.p, to.name.len, n);
		node_touch(&f->fs, n, false);
		node_touch(&f->fs, to.dir, true);
	}
	nfs_put_status(call, out, st);
	nfs_put_post(f, out, n);
	nfs_put_wcc(f, out, &before, to.dir);
	return true;
}

/* One call's walk through a directory. */
struct listing {
	struct node *dir;
	bool plus;
	uint64_t cookie;   /* of the last entry given */
	size_t left;	   /* bytes of the whole reply */
	size_t names_left; /* bytes of names, ids and cookies (dircount) */
	uint32_t given;
};

/* False: does not fit. */
static bool list_entry(struct faultd *f, struct xdr_out *out, struct listing *l,
		       const char *name, size_t len, const struct node *n,
		       uint64_t cookie)
{
	size_t names = ENTRY_HEAD + len + xdr_pad(len);
	size_t plus = f->options.handle_size + xdr_pad(f->options.handle_size) + 8 + 4 +
		      (f->no_attrs ? 0 : FATTR_SIZE);
	size_t total = names + (l->plus ? plus : 0);

	if (total > l->left || (l->plus && l->given && names > l->names_left))
		return false;
	l->left -= total;
	l->names_left -= names < l->names_left ? names : l->names_left;
	l->given++;
	l->cookie = cookie;
	xdr_put_u32(out, 1);
	xdr_put_u64(out, n->id);
	xdr_put_opaque(out, name, len);
	xdr_put_u64(out, cookie);
	if (!l->plus)
		return true;
	nfs_put_post(f, out, n);
	xdr_put_u32(out, 1);
	nfs_put_handle(f, out, n);
	return true;
}

/* True: came to the end of the directory. */
static bool list_all(struct faultd *f, struct xdr_out *out, struct listing *l)
{
	struct dir *d = l->dir->dir;
	struct node *up = d->parent_id ? fs_find(&f->fs, d->parent_id) : l->dir;

	if (l->cookie < 1 && !list_entry(f, out, l, ".", 1, l->dir, 1))
		return false;
	if (l->cookie < 2 && !list_entry(f, out, l, "..", 2, up ? up : l->dir, 2))
		return false;
	for (size_t i = dir_seek(d, l->cookie); i < d->n; i++) {
		struct entry *e = d->entries[i];

		if (!list_entry(f, out, l, e->name, e->len, nfs_entry_node(f, e),
				e->cookie))
			return false;
	}
	return true;
}

static bool read_directory(struct faultd *f, struct call *call, struct xdr_out *out,
			   bool plus)
{
	struct handle h = nfs_get_handle(&call->args);
	struct listing l = { .plus = plus, .cookie = xdr_get_u64(&call->args) };
	uint64_t verf = xdr_get_u64(&call->args);
	size_t start = out->len;
	bool eof;
	uint32_t st;

	l.names_left = plus ? xdr_get_u32(&call->args) : 0;
	l.left = xdr_get_u32(&call->args);
	if (!xdr_get_done(&call->args))
		return false;
	if (l.left > f->options.rtmax)
		l.left = f->options.rtmax;
	st = nfs_find(f, call, h, &l.dir);
	if (!st && l.dir->type != NODE_DIR)
		st = NFS_NOTDIR;
	if (!st)
		st = node_permit(l.dir, &call->cred, PERM_READ);
	if (!st && l.cookie && verf != dir_cookie_verf(&f->fs, l.dir))
		st = NFS_BAD_COOKIE;
	if (!st && l.left < LIST_HEAD + LIST_END)
		st = NFS_TOOSMALL;
	nfs_put_status(call, out, st);
	nfs_put_post(f, out, l.dir);
	if (st)
		return true;
	l.left -= LIST_HEAD + LIST_END;
	xdr_put_u64(out, dir_cookie_verf(&f->fs, l.dir));
	eof = list_all(f, out, &l);
	xdr_put_u32(out, 0);
	xdr_put_u32(out, eof);
	if (!eof && !l.given) {
		out->len = start;
		nfs_put_status(call, out, NFS_TOOSMALL);
		nfs_put_post(f, out, l.dir);
	}
	return true;
}

/* RFC1813-3.3.16 */
bool nfs_readdir(struct faultd *f, struct call *call, struct xdr_out *out)
{
	return read_directory(f, call, out, false);
}

/* RFC1813-3.3.17 */
bool nfs_readdirplus(struct faultd *f, struct call *call, struct xdr_out *out)
{
	return read_directory(f, call, out, true);
}
