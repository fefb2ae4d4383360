/*
 * In-memory tree: nodes by number, directories as cookie-ordered arrays with a hash.
 *
 * The hard case is a file removed while a COMMIT for it waits: its number is gone at
 * once (STALE), its memory only when the COMMIT has let go. Does not promise sticky
 * bits, quotas or access lists: permission is mode bits alone.
 */
#include "faultd_fs.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct stamp fs_now(const struct fs *fs)
{
	struct timespec ts;
	int64_t ns;

	clock_gettime(CLOCK_REALTIME, &ts);
	ns = (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec +
	     fs->clock_offset_ms * 1000000;
	return (struct stamp){ (uint32_t)(ns / 1000000000),
			       (uint32_t)(ns % 1000000000) };
}

struct node *fs_new_node(struct fs *fs, enum node_type type, uint32_t fsid)
{
	struct node *n = calloc(1, sizeof(*n));

	if (fs->n_nodes == fs->cap) {
		fs->cap = fs->cap ? fs->cap * 2 : 1024;
		fs->nodes = realloc(fs->nodes, fs->cap * sizeof(struct node *));
		if (!fs->nodes)
			abort();
	}
	if (!fs->n_nodes)
		fs->nodes[fs->n_nodes++] = NULL; /* id 0 is nobody */
	if (!n)
		abort();
	n->id = fs->n_nodes;
	n->type = type;
	n->fsid = fsid;
	n->atime = n->mtime = n->ctime = fs_now(fs);
	if (type == NODE_DIR) {
		n->dir = calloc(1, sizeof(*n->dir));
		if (!n->dir)
			abort();
		n->dir->next_cookie = FS_FIRST_COOKIE;
	}
	fs->nodes[fs->n_nodes++] = n;
	return n;
}

struct node *fs_find(const struct fs *fs, uint64_t id)
{
	struct node *n = id < fs->n_nodes ? fs->nodes[id] : NULL;

	return n && n->nlink ? n : NULL;
}

static void dir_free(struct dir *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->n; i++) {
		free(d->entries[i]->name);
		free(d->entries[i]);
	}
	free(d->entries);
	free(d->buckets);
	free(d);
}

static void node_free(struct fs *fs, struct node *n)
{
	fs->nodes[n->id] = NULL;
	fs->used_bytes -= n->content.visible.size;
	content_fini(&n->content);
	dir_free(n->dir);
	free(n->target);
	free(n->acl);
	free(n);
}

void fs_drop(struct fs *fs, struct node *n)
{
	if (!n->nlink && !n->pins)
		node_free(fs, n);
}

void fs_fini(struct fs *fs)
{
	for (uint64_t i = 0; i < fs->n_nodes; i++) {
		if (fs->nodes[i])
			node_free(fs, fs->nodes[i]);
	}
	free(fs->nodes);
	*fs = (struct fs){ 0 };
}

static uint64_t name_hash(const uint8_t *name, uint32_t len)
{
	uint64_t h = 14695981039346656037u;

	for (uint32_t i = 0; i < len; i++)
		h = (h ^ name[i]) * 1099511628211u;
	return h;
}

struct entry *dir_find(const struct dir *d, const uint8_t *name, uint32_t len)
{
	struct entry *e;

	if (!d->n_buckets)
		return NULL;
	for (e = d->buckets[name_hash(name, len) % d->n_buckets]; e; e = e->next) {
		if (e->len == len && !memcmp(e->name, name, len))
			return e;
	}
	return NULL;
}

static void dir_link_bucket(struct dir *d, struct entry *e)
{
	uint64_t h = name_hash((const uint8_t *)e->name, e->len) % d->n_buckets;

	e->next = d->buckets[h];
	d->buckets[h] = e;
}

static void dir_grow(struct dir *d)
{
	d->cap = d->cap ? d->cap * 2 : 16;
	d->n_buckets = d->cap * 2;
	free(d->buckets);
	d->buckets = calloc(d->n_buckets, sizeof(struct entry *));
	d->entries = realloc(d->entries, d->cap * sizeof(struct entry *));
	if (!d->buckets || !d->entries)
		abort();
	for (size_t i = 0; i < d->n; i++)
		dir_link_bucket(d, d->entries[i]);
}

void dir_add(struct node *dir, const uint8_t *name, uint32_t len, struct node *n)
{
	struct dir *d = dir->dir;
	struct entry *e = calloc(1, sizeof(*e));

	if (d->n == d->cap)
		dir_grow(d);
	if (!e || !(e->name = malloc(len + 1)))
		abort();
	memcpy(e->name, name, len);
	e->name[len] = 0;
	e->len = len;
	e->node_id = n->id;
	e->cookie = d->next_cookie++;
	d->entries[d->n++] = e;
	dir_link_bucket(d, e);
	if (n->type == NODE_DIR) {
		n->dir->parent_id = dir->id;
		n->nlink = n->nlink ? n->nlink : 2;
		dir->nlink++;
	} else {
		n->nlink++;
	}
}

size_t dir_seek(const struct dir *d, uint64_t cookie)
{
	size_t low = 0, high = d->n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (d->entries[mid]->cookie > cookie)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

void dir_remove(struct node *dir, struct entry *e)
{
	struct dir *d = dir->dir;
	size_t i = dir_seek(d, e->cookie - 1);
	struct entry **at =
		&d->buckets[name_hash((const uint8_t *)e->name, e->len) % d->n_buckets];

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	d->n--;
	memmove(d->entries + i, d->entries + i + 1,
		(d->n - i) * sizeof(struct entry *));
	free(e->name);
	free(e);
}

uint64_t dir_cookie_verf(const struct fs *fs, const struct node *dir)
{
	return (dir->id + 1) * 0x9e3779b97f4a7c15u + fs->cookie_epoch;
}

static bool stamp_le(struct stamp a, struct stamp b)
{
	return a.sec < b.sec || (a.sec == b.sec && a.nsec <= b.nsec);
}

void node_touch(const struct fs *fs, struct node *n, bool data)
{
	struct stamp now = fs_now(fs);

	if (stamp_le(now, n->ctime)) {
		now = n->ctime;
		if (++now.nsec == 1000000000)
			now = (struct stamp){ now.sec + 1, 0 };
	}
	n->ctime = now;
	if (data)
		n->mtime = now;
}

uint32_t node_permit(const struct node *n, const struct cred *cred, uint32_t want)
{
	uint32_t bits = n->mode;
	bool in_group = cred->gid == n->gid;

	if (cred->uid == 0)
		return NFS_OK;
	for (uint32_t i = 0; i < cred->n_gids; i++)
		in_group = in_group || cred->gids[i] == n->gid;
	if (cred->uid == n->uid)
		bits >>= 6;
	else if (in_group)
		bits >>= 3;
	if (n->type != NODE_DIR && cred->uid == n->uid && want != PERM_EXEC)
		return NFS_OK;
	if (n->type != NODE_DIR && want == PERM_READ && (bits & PERM_EXEC))
		return NFS_OK;
	return (bits & want) == want ? NFS_OK : NFS_ACCES;
}

static uint32_t node_may_grow(struct fs *fs, const struct node *n, uint64_t size)
{
	uint64_t now = n->content.visible.size;

	if (size > (uint64_t)1 << FS_FILE_MAX_SHIFT)
		return NFS_FBIG;
	if (size > now && fs->used_bytes + (size - now) > fs->limit_bytes)
		return NFS_NOSPC;
	return NFS_OK;
}

uint32_t node_resize(struct fs *fs, struct node *n, uint64_t size)
{
	uint32_t st = node_may_grow(fs, n, size);

	if (st)
		return st;
	fs->used_bytes += size - n->content.visible.size;
	content_resize(&n->content, size);
	return NFS_OK;
}

uint32_t node_write(struct fs *fs, struct node *n, uint64_t off, const uint8_t *from,
		    size_t len, bool stable)
{
	uint64_t before = n->content.visible.size;
	uint32_t st;

	if (off + len < off)
		return NFS_INVAL;
	st = len ? node_may_grow(fs, n, off + len) : NFS_OK;
	if (st)
		return st;
	content_write(&n->content, off, from, len, stable);
	fs->used_bytes += n->content.visible.size - before;
	return NFS_OK;
}

void fs_reboot(struct fs *fs, uint64_t some)
{
	for (uint64_t i = 0; i < fs->n_nodes; i++) {
		struct node *n = fs->nodes[i];
		uint64_t before;

		if (!n || n->type != NODE_FILE)
			continue;
		before = n->content.visible.size;
		content_reboot(&n->content, some ? some + i * 977 : 0);
		fs->used_bytes -= before - n->content.visible.size;
	}
}
