/*
 * NFSv3 attributes: handles, names, fattr3, sattr3, wcc, and the procedures that only
 * ask or set attributes.
 *
 * The hard case is an injected error: it shows after the handle was resolved, so that
 * the failure arm carries true attributes, and before anything was changed.
 */
#include "faultd_nfs.h"

#include <string.h>

enum { HANDLE_MAGIC = 0x464c5464 };
enum {
	ACCESS_READ = 1,
	ACCESS_LOOKUP = 2,
	ACCESS_MODIFY = 4,
	ACCESS_EXTEND = 8,
	ACCESS_DELETE = 16,
	ACCESS_EXECUTE = 32
};
enum { FSF_LINK = 1, FSF_SYMLINK = 2, FSF_HOMOGENEOUS = 8, FSF_CANSETTIME = 16 };

struct handle nfs_get_handle(struct xdr_in *in)
{
	struct handle h;

	h.p = xdr_get_opaque(in, FS_HANDLE_MAX, &h.len);
	return h;
}

struct name nfs_get_name(struct xdr_in *in)
{
	struct name n;

	n.p = xdr_get_opaque(in, NAME_WIRE_MAX, &n.len);
	return n;
}

struct place nfs_get_place(struct xdr_in *in)
{
	struct place p = { .handle = nfs_get_handle(in) };

	p.name = nfs_get_name(in);
	return p;
}

static void get_time(struct xdr_in *in, uint32_t *how, struct stamp *t)
{
	*how = xdr_get_u32(in);
	if (*how > 2)
		in->bad = true;
	if (*how != 2)
		return;
	t->sec = xdr_get_u32(in);
	t->nsec = xdr_get_u32(in);
}

struct sattr nfs_get_sattr(struct xdr_in *in)
{
	struct sattr s = { .set_mode = xdr_get_bool(in) };

	if (s.set_mode)
		s.mode = xdr_get_u32(in);
	s.set_uid = xdr_get_bool(in);
	if (s.set_uid)
		s.uid = xdr_get_u32(in);
	s.set_gid = xdr_get_bool(in);
	if (s.set_gid)
		s.gid = xdr_get_u32(in);
	s.set_size = xdr_get_bool(in);
	if (s.set_size)
		s.size = xdr_get_u64(in);
	get_time(in, &s.atime_how, &s.atime);
	get_time(in, &s.mtime_how, &s.mtime);
	return s;
}

static void handle_make(const struct faultd *f, const struct node *n, uint8_t *to)
{
	struct xdr_out out = { .base = to, .cap = FS_HANDLE_MAX };

	xdr_put_u32(&out, HANDLE_MAGIC);
	xdr_put_u64(&out, n->id);
	xdr_put_u32(&out, n->fsid);
	for (uint32_t i = 16; i < f->options.handle_size; i++)
		to[i] = (uint8_t)(i * 7u + (uint32_t)n->id);
}

void nfs_put_handle(struct faultd *f, struct xdr_out *out, const struct node *n)
{
	uint8_t bytes[FS_HANDLE_MAX];

	handle_make(f, n, bytes);
	xdr_put_opaque(out, bytes, f->options.handle_size);
}

uint32_t nfs_find(struct faultd *f, struct call *call, struct handle h, struct node **n)
{
	struct xdr_in in = { .p = h.p, .left = h.len };
	uint8_t expect[FS_HANDLE_MAX];
	struct node probe = { 0 };

	*n = NULL;
	if (h.len != f->options.handle_size || xdr_get_u32(&in) != HANDLE_MAGIC)
		return NFS_BADHANDLE;
	probe.id = xdr_get_u64(&in);
	probe.fsid = xdr_get_u32(&in);
	handle_make(f, &probe, expect);
	if (memcmp(expect, h.p, h.len) != 0)
		return NFS_BADHANDLE;
	*n = fs_find(&f->fs, probe.id);
	if (*n && (*n)->fsid != probe.fsid)
		*n = NULL;
	if (call->inject)
		return call->inject;
	return *n ? NFS_OK : NFS_STALE;
}

struct node *nfs_entry_node(struct faultd *f, const struct entry *e)
{
	return e ? fs_find(&f->fs, e->node_id) : NULL;
}

uint32_t nfs_find_place(struct faultd *f, struct call *call, struct place *p,
			uint32_t want)
{
	uint32_t st = nfs_find(f, call, p->handle, &p->dir);

	if (st)
		return st;
	if (p->dir->type != NODE_DIR)
		return NFS_NOTDIR;
	if (p->name.len == 0 || memchr(p->name.p, '/', p->name.len) ||
	    memchr(p->name.p, 0, p->name.len))
		return NFS_ACCES;
	if (p->name.len > FS_NAME_MAX)
		return NFS_NAMETOOLONG;
	p->entry = dir_find(p->dir->dir, p->name.p, p->name.len);
	return node_permit(p->dir, &call->cred, want);
}

static bool cred_in_group(const struct cred *cred, uint32_t gid)
{
	for (uint32_t i = 0; i < cred->n_gids; i++) {
		if (cred->gids[i] == gid)
			return true;
	}
	return cred->gid == gid;
}

uint32_t nfs_may_sattr(const struct node *n, const struct cred *cred,
		       const struct sattr *s)
{
	bool owner = cred->uid == 0 || cred->uid == n->uid;
	bool now = s->atime_how == 1 || s->mtime_how == 1;

	if (s->set_size && n->type == NODE_DIR)
		return NFS_ISDIR;
	if (s->set_size && n->type != NODE_FILE)
		return NFS_INVAL;
	if (s->set_mode && !owner)
		return NFS_PERM;
	if (s->set_uid && s->uid != n->uid && cred->uid != 0)
		return NFS_PERM;
	if (s->set_gid && s->gid != n->gid && cred->uid != 0 &&
	    !(owner && cred_in_group(cred, s->gid)))
		return NFS_PERM;
	if ((s->atime_how == 2 || s->mtime_how == 2) && !owner)
		return NFS_PERM;
	if (s->set_size || (now && !owner))
		return node_permit(n, cred, PERM_WRITE);
	return NFS_OK;
}

uint32_t nfs_apply_sattr(struct faultd *f, struct node *n, const struct sattr *s)
{
	if (s->set_size) {
		uint32_t st = node_resize(&f->fs, n, s->size);

		if (st)
			return st;
	}
	node_touch(&f->fs, n, s->set_size);
	if (s->set_mode)
		n->mode = s->mode & 07777;
	if (s->set_uid)
		n->uid = s->uid;
	if (s->set_gid)
		n->gid = s->gid;
	if (s->atime_how)
		n->atime = s->atime_how == 1 ? fs_now(&f->fs) : s->atime;
	if (s->mtime_how)
		n->mtime = s->mtime_how == 1 ? fs_now(&f->fs) : s->mtime;
	return NFS_OK;
}

static uint64_t node_size(const struct node *n)
{
	if (n->type == NODE_DIR)
		return 4096;
	return n->type == NODE_LINK ? n->target_len : n->content.visible.size;
}

struct wcc nfs_wcc(const struct node *n)
{
	if (!n)
		return (struct wcc){ 0 };
	return (struct wcc){ true, node_size(n), n->mtime, n->ctime };
}

void nfs_put_status(struct call *call, struct xdr_out *out, uint32_t status)
{
	call->status = status;
	xdr_put_u32(out, status);
}

static void put_stamp(struct xdr_out *out, struct stamp t)
{
	xdr_put_u32(out, t.sec);
	xdr_put_u32(out, t.nsec);
}

void nfs_put_fattr(struct xdr_out *out, const struct node *n)
{
	xdr_put_u32(out, n->type);
	xdr_put_u32(out, n->mode);
	xdr_put_u32(out, n->nlink);
	xdr_put_u32(out, n->uid);
	xdr_put_u32(out, n->gid);
	xdr_put_u64(out, node_size(n));
	xdr_put_u64(out, (node_size(n) + 4095) & ~(uint64_t)4095);
	xdr_put_u32(out, n->rdev[0]);
	xdr_put_u32(out, n->rdev[1]);
	xdr_put_u64(out, n->fsid);
	xdr_put_u64(out, n->id);
	put_stamp(out, n->atime);
	put_stamp(out, n->mtime);
	put_stamp(out, n->ctime);
}

void nfs_put_post(struct faultd *f, struct xdr_out *out, const struct node *n)
{
	if (f->no_attrs)
		n = NULL;
	xdr_put_u32(out, n != NULL);
	if (n)
		nfs_put_fattr(out, n);
}

void nfs_put_wcc(struct faultd *f, struct xdr_out *out, const struct wcc *before,
		 const struct node *n)
{
	bool known = before->known && !f->no_wcc && !f->no_attrs;

	xdr_put_u32(out, known);
	if (known) {
		xdr_put_u64(out, before->size);
		put_stamp(out, before->mtime);
		put_stamp(out, before->ctime);
	}
	nfs_put_post(f, out, n);
}

/* RFC1813-3.3.1 */
bool nfs_getattr(struct faultd *f, struct call *call, struct xdr_out *out)
{
	struct handle h = nfs_get_handle(&call->args);
	struct node *n;
	uint32_t st;

	if (!xdr_get_done(&call->args))
		return false;
	st = nfs_find(f, call, h, &n);
	nfs_put_status(call, out, st);
	if (!st)
		nfs_put_fattr(out, n);
	return true;
}

/* RFC1813-3.3.2 */
bool nfs_setattr(struct faultd *f, struct call *call, struct xdr_out *out)
{
	struct handle h = nfs_get_handle(&call->args);
	struct sattr s = nfs_get_sattr(&call->args);
	bool guarded = xdr_get_bool(&call->args);
	struct stamp guard = { 0 };
	struct node *n;
	struct wcc before;
	uint32_t st;

	if (guarded) {
		guard.sec = xdr_get_u32(&call->args);
		guard.nsec = xdr_get_u32(&call->args);
	}
	if (!xdr_get_done(&call->args))
		return false;
	st = nfs_find(f, call, h, &n);
	before = nfs_wcc(n);
	if (!st && guarded &&
	    (guard.sec != n->ctime.sec || guard.nsec != n->ctime.nsec))
		st = NFS_NOT_SYNC;
	if (!st)
		st = nfs_may_sattr(n, &call->cred, &s);
	if (!st)
		st = nfs_apply_sattr(f, n, &s);
	if (!st && (s.atime_how || s.mtime_how))
		n->has_create_verf = false;
	nfs_put_status(call, out, st);
	nfs_put_wcc(f, out, &before, n);
	return true;
}

static uint32_t lookup(struct faultd *f, struct place *p, struct node **found)
{
	const struct name *name = &p->name;

	*found = p->dir;
	if (name->len == 1 && name->p[0] == '.')
		return NFS_OK;
	if (name->len == 2 && !memcmp(name->p, "..", 2)) {
		if (p->dir->dir->parent_id)
			*found = fs_find(&f->fs, p->dir->dir->parent_id);
		return NFS_OK;
	}
	*found = nfs_entry_node(f, p->entry);
	return *found ? NFS_OK : NFS_NOENT;
}

/* RFC1813-3.3.3 */
bool nfs_lookup(struct faultd *f, struct call *call, struct xdr_out *out)
{
	struct place p = nfs_get_place(&call->args);
	struct node *n = NULL;
	uint32_t st;

	if (!xdr_get_done(&call->args))
		return false;
	st = nfs_find_place(f, call, &p, PERM_EXEC);
	if (!st)
		st = lookup(f, &p, &n);
	nfs_put_status(call, out, st);
	if (!st) {
		nfs_put_handle(f, out, n);
		nfs_put_post(f, out, n);
	}
	nfs_put_post(f, out, p.dir);
	return true;
}

/* RFC1813-3.3.4 */
bool nfs_access(struct faultd *f, struct call *call, struct xdr_out *out)
{
	struct handle h = nfs_get_handle(&call->args);
	uint32_t asked = xdr_get_u32(&call->args), granted = 0;
	struct node *n;
	uint32_t st;

	if (!xdr_get_done(&call->args))
		return false;
	st = nfs_find(f, call, h, &n);
	nfs_put_status(call, out, st);
	nfs_put_post(f, out, n);
	if (st)
		return true;
	if (!node_permit(n, &call->cred, PERM_READ))
		granted |= ACCESS_READ;
	if (!node_permit(n, &call->cred, PERM_WRITE))
		granted |= ACCESS_MODIFY | ACCESS_EXTEND |
			   (n->type == NODE_DIR ? ACCESS_DELETE : 0);
	if (!node_permit(n, &call->cred, PERM_EXEC))
		granted |= n->type == NODE_DIR ? ACCESS_LOOKUP : ACCESS_EXECUTE;
	xdr_put_u32(out, asked & granted);
	return true;
}

/* RFC1813-3.3.5 */
bool nfs_readlink(struct faultd *f, struct call *call, struct xdr_out *out)
{
	struct handle h = nfs_get_handle(&call->args);
	struct node *n;
	uint32_t st;

	if (!xdr_get_done(&call->args))
		return false;
	st = nfs_find(f, call, h, &n);
	if (!st && n->type != NODE_LINK)
		st = NFS_INVAL;
	nfs_put_status(call, out, st);
	nfs_put_post(f, out, n);
	if (!st)
		xdr_put_opaque(out, n->target, n->target_len);
	return true;
}

/* RFC1813-3.3.18 */
bool nfs_fsstat(struct faultd *f, struct call *call, struct xdr_out *out)
{
	struct handle h = nfs_get_handle(&call->args);
	uint64_t left = f->fs.limit_bytes > f->fs.used_bytes
				? f->fs.limit_bytes - f->fs.used_bytes
				: 0;
	struct node *n;
	uint32_t st;

	if (!xdr_get_done(&call->args))
		return false;
	st = nfs_find(f, call, h, &n);
	nfs_put_status(call, out, st);
	nfs_put_post(f, out, n);
	if (st)
		return true;
	xdr_put_u64(out, f->fs.limit_bytes);
	xdr_put_u64(out, left);
	xdr_put_u64(out, left);
	xdr_put_u64(out, 1u << 24);
	xdr_put_u64(out, (1u << 24) - f->fs.n_nodes);
	xdr_put_u64(out, (1u << 24) - f->fs.n_nodes);
	xdr_put_u32(out, 0);
	return true;
}

/* RFC1813-3.3.19 */
bool nfs_fsinfo(struct faultd *f, struct call *call, struct xdr_out *out)
{
	struct handle h = nfs_get_handle(&call->args);
	struct node *n;
	uint32_t st;

	if (!xdr_get_done(&call->args))
		return false;
	st = nfs_find(f, call, h, &n);
	nfs_put_status(call, out, st);
	nfs_put_post(f, out, n);
	if (st)
		return true;
	xdr_put_u32(out, f->options.rtmax);
	xdr_put_u32(out, f->options.rtmax);
	xdr_put_u32(out, 512);
	xdr_put_u32(out, f->options.wtmax);
	xdr_put_u32(out, f->options.wtmax);
	xdr_put_u32(out, 512);
	xdr_put_u32(out, f->options.rtmax < 65536 ? f->options.rtmax : 65536);
	xdr_put_u64(out, (uint64_t)1 << FS_FILE_MAX_SHIFT);
	xdr_put_u32(out, 0);
	xdr_put_u32(out, 1);
	xdr_put_u32(out, FSF_LINK | FSF_SYMLINK | FSF_HOMOGENEOUS | FSF_CANSETTIME);
	return true;
}

/* RFC1813-3.3.20 */
bool nfs_pathconf(struct faultd *f, struct call *call, struct xdr_out *out)
{
	struct handle h = nfs_get_handle(&call->args);
	struct node *n;
	uint32_t st;

	if (!xdr_get_done(&call->args))
		return false;
	st = nfs_find(f, call, h, &n);
	nfs_put_status(call, out, st);
	nfs_put_post(f, out, n);
	if (st)
		return true;
	xdr_put_u32(out, 32000); /* linkmax */
	xdr_put_u32(out, FS_NAME_MAX);
	xdr_put_u32(out, 1); /* no_trunc */
	xdr_put_u32(out, 1); /* chown_restricted */
	xdr_put_u32(out, 0); /* case_insensitive */
	xdr_put_u32(out, 1); /* case_preserving */
	return true;
}
