/*
 * READ, WRITE and COMMIT.
 *
 * The hard case is COMMIT: it covers what had been applied when it arrived, not when it
 * is executed. With `committed` set by the script the data is really treated as the
 * reply says: the server never claims more than it keeps.
 */
#include "faultd_nfs.h"

static uint32_t io_find(struct faultd *f, struct call *call, struct handle h,
			struct node **n, uint32_t want)
{
	uint32_t st = nfs_find(f, call, h, n);

	if (st)
		return st;
	if ((*n)->type != NODE_FILE)
		return NFS_INVAL;
	return want ? node_permit(*n, &call->cred, want) : NFS_OK;
}

static uint32_t clip(uint64_t value, uint64_t limit)
{
	return (uint32_t)(value < limit ? value : limit);
}

/* RFC1813-3.3.6 */
bool nfs_read(struct faultd *f, struct call *call, struct xdr_out *out)
{
	struct handle h = nfs_get_handle(&call->args);
	uint64_t off = xdr_get_u64(&call->args), size;
	uint32_t count = clip(xdr_get_u32(&call->args), f->options.rtmax);
	struct node *n;
	uint32_t st;
	uint8_t *to;

	if (!xdr_get_done(&call->args))
		return false;
	st = io_find(f, call, h, &n, PERM_READ);
	if (!st && off + count < off)
		st = NFS_INVAL;
	nfs_put_status(call, out, st);
	nfs_put_post(f, out, n);
	if (st)
		return true;
	size = n->content.visible.size;
	count = off < size ? clip(count, size - off) : 0;
	count = clip(count, call->short_bytes);
	xdr_put_u32(out, count);
	xdr_put_u32(out, off + count >= size);
	xdr_put_u32(out, count);
	to = xdr_put_room(out, count);
	if (to)
		image_read(&n->content.visible, off, to, count);
	f->stats.bytes_read += count;
	return true;
}

static void write_done(struct faultd *f, struct call *call, struct node *n,
		       uint32_t count, enum stable_how how)
{
	uint32_t log2 = 31 - (uint32_t)__builtin_clz(count | 1);

	node_touch(&f->fs, n, true);
	if (call->cred.uid != 0)
		n->mode &= ~06000u;
	f->stats.bytes_written += count;
	f->stats.writes[how]++;
	f->stats.write_sizes[log2]++;
	if (call->stable != UNSTABLE)
		f->stats.forced++;
}

/* RFC1813-3.3.7 */
bool nfs_write(struct faultd *f, struct call *call, struct xdr_out *out)
{
	struct handle h = nfs_get_handle(&call->args);
	uint64_t off = xdr_get_u64(&call->args);
	uint32_t count = xdr_get_u32(&call->args);
	uint32_t asked = xdr_get_u32(&call->args), len, st;
	const uint8_t *data = xdr_get_opaque(&call->args, UINT32_MAX, &len);
	enum stable_how how = f->committed_as == STABLE_AS_ASKED
				      ? (enum stable_how)asked
				      : f->committed_as;
	bool zero = f->zero_verifier && asked == FILE_SYNC && how == FILE_SYNC;
	struct wcc before;
	struct node *n;

	if (!xdr_get_done(&call->args) || asked > FILE_SYNC || len != count)
		return false;
	st = io_find(f, call, h, &n, PERM_WRITE);
	before = nfs_wcc(n);
	if (!st && off + count < off)
		st = NFS_INVAL;
	count = clip(clip(count, f->options.wtmax), call->short_bytes);
	if (!st)
		st = node_write(&f->fs, n, off, data, count, how != UNSTABLE);
	if (!st)
		write_done(f, call, n, count, how);
	nfs_put_status(call, out, st);
	nfs_put_wcc(f, out, &before, n);
	if (st)
		return true;
	xdr_put_u32(out, count);
	xdr_put_u32(out, how);
	xdr_put_u64(out, zero ? 0 : f->verifier);
	return true;
}

static void commit_snapshot(struct call *call, struct node *n)
{
	call->snap_node = n;
	call->snap = content_snapshot(&n->content, call->offset, call->count);
	n->pins++;
}

static void commit_finish(struct faultd *f, struct call *call, bool apply)
{
	struct node *n = call->snap_node;

	if (!call->snap)
		return;
	content_finish(&n->content, call->snap, apply);
	call->snap = NULL;
	call->snap_node = NULL;
	n->pins--;
	fs_drop(&f->fs, n);
}

void nfs_commit_arrives(struct faultd *f, struct call *call)
{
	struct xdr_in args = call->args;
	struct handle h = nfs_get_handle(&args);
	struct node *n = NULL;

	if (!args.bad)
		nfs_find(f, call, h, &n);
	if (n && n->type == NODE_FILE)
		commit_snapshot(call, n);
}

/* RFC1813-3.3.21 */
bool nfs_commit(struct faultd *f, struct call *call, struct xdr_out *out)
{
	struct handle h = nfs_get_handle(&call->args);
	struct wcc before;
	struct node *n;
	uint32_t st;

	xdr_get_u64(&call->args);
	xdr_get_u32(&call->args);
	if (!xdr_get_done(&call->args)) {
		commit_finish(f, call, false);
		return false;
	}
	st = io_find(f, call, h, &n, 0);
	before = nfs_wcc(n);
	if (!st && !call->snap)
		commit_snapshot(call, n);
	if (!st) {
		f->stats.forced++;
		f->stats.empty_commits += content_is_clean(&n->content);
	}
	commit_finish(f, call, st == NFS_OK);
	nfs_put_status(call, out, st);
	nfs_put_wcc(f, out, &before, n);
	if (!st)
		xdr_put_u64(out, f->verifier);
	return true;
}
