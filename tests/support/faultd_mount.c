/*
 * MOUNT version 3, and of version 1 what showmount needs.
 *
 * The hard case is the path: trailing and doubled slashes, subdirectories of exports,
 * and exports whose names begin alike. The list of mounts is as unreliable as everywhere.
 */
#include "faultd_nfs.h"

#include <stdio.h>
#include <string.h>

enum { AUTH_SYS = 1 };

/* Length of the export's path if the path lies in it, else 0. */
static size_t export_covers(const struct export *e, const char *path)
{
	size_t len = strlen(e->path);

	if (strncmp(path, e->path, len) != 0 || (path[len] && path[len] != '/'))
		return 0;
	return len;
}

struct node *fs_walk(struct faultd *f, const char *path, uint32_t *status)
{
	struct node *n = NULL;
	size_t best = 0;

	*status = NFS_ACCES;
	for (uint32_t i = 0; i < f->n_exports; i++) {
		size_t len = export_covers(&f->exports[i], path);

		if (len <= best)
			continue;
		best = len;
		n = fs_find(&f->fs, f->exports[i].root_id);
	}
	path += best;
	while (n) {
		size_t len = strcspn(path += strspn(path, "/"), "/");
		struct entry *e;

		*status = NFS_OK;
		if (!len)
			return n;
		*status = NFS_NOTDIR;
		if (n->type != NODE_DIR)
			return NULL;
		*status = NFS_NOENT;
		e = dir_find(n->dir, (const uint8_t *)path, (uint32_t)len);
		n = nfs_entry_node(f, e);
		path += len;
	}
	return NULL;
}

/* A path argument as a string; *too_long or embedded zeros do not pass. */
static bool get_path(struct call *call, char *path, bool *too_long)
{
	struct name p = nfs_get_name(&call->args);

	if (!xdr_get_done(&call->args) || memchr(p.p, 0, p.len))
		return false;
	*too_long = p.len > FS_PATH_MAX;
	if (!*too_long) {
		memcpy(path, p.p, p.len);
		path[p.len] = 0;
	}
	return true;
}

static void mount_host(const struct call *call, char *to, size_t size)
{
	if (call->cred.machine_len)
		snprintf(to, size, "%.*s", (int)call->cred.machine_len,
			 (const char *)call->cred.machine);
	else
		snprintf(to, size, "%s", call->conn->host);
}

/* Forgets mounts of the caller; path NULL: all of them. */
static void mount_forget(struct faultd *f, const struct call *call, const char *path)
{
	char host[256];
	uint32_t kept = 0;

	mount_host(call, host, sizeof(host));
	for (uint32_t i = 0; i < f->n_mounts; i++) {
		struct mount *m = &f->mounts[i];

		if (!strcmp(m->host, host) && (!path || !strcmp(m->path, path)))
			continue;
		if (kept != i)
			f->mounts[kept] = *m;
		kept++;
	}
	f->n_mounts = kept;
}

static void mount_remember(struct faultd *f, const struct call *call, const char *path)
{
	struct mount *m;

	mount_forget(f, call, path);
	if (f->n_mounts == MOUNTS_MAX)
		return;
	m = &f->mounts[f->n_mounts++];
	mount_host(call, m->host, sizeof(m->host));
	snprintf(m->path, sizeof(m->path), "%s", path);
}

/* RFC1813-5.2.1 */
bool mount_mnt(struct faultd *f, struct call *call, struct xdr_out *out)
{
	char path[FS_PATH_MAX + 1];
	bool too_long;
	uint32_t st = NFS_NAMETOOLONG;
	struct node *n = NULL;

	if (!get_path(call, path, &too_long))
		return false;
	if (!too_long)
		n = fs_walk(f, path, &st);
	if (n && n->type != NODE_DIR)
		st = NFS_NOTDIR;
	if (call->inject)
		st = call->inject;
	nfs_put_status(call, out, st);
	if (st)
		return true;
	mount_remember(f, call, path);
	nfs_put_handle(f, out, n);
	xdr_put_u32(out, 1);
	xdr_put_u32(out, AUTH_SYS);
	return true;
}

/* RFC1813-5.2.2 */
bool mount_dump(struct faultd *f, struct call *call, struct xdr_out *out)
{
	if (!xdr_get_done(&call->args))
		return false;
	for (uint32_t i = 0; i < f->n_mounts; i++) {
		xdr_put_u32(out, 1);
		xdr_put_opaque(out, f->mounts[i].host, strlen(f->mounts[i].host));
		xdr_put_opaque(out, f->mounts[i].path, strlen(f->mounts[i].path));
	}
	xdr_put_u32(out, 0);
	return true;
}

/* RFC1813-5.2.3 */
bool mount_umnt(struct faultd *f, struct call *call, struct xdr_out *out)
{
	char path[FS_PATH_MAX + 1];
	bool too_long;

	(void)out;
	if (!get_path(call, path, &too_long))
		return false;
	if (!too_long)
		mount_forget(f, call, path);
	return true;
}

/* RFC1813-5.2.4 */
bool mount_umntall(struct faultd *f, struct call *call, struct xdr_out *out)
{
	(void)out;
	if (!xdr_get_done(&call->args))
		return false;
	mount_forget(f, call, NULL);
	return true;
}

/* RFC1813-5.2.5 */
bool mount_export(struct faultd *f, struct call *call, struct xdr_out *out)
{
	if (!xdr_get_done(&call->args))
		return false;
	for (uint32_t i = 0; i < f->n_exports; i++) {
		xdr_put_u32(out, 1);
		xdr_put_opaque(out, f->exports[i].path, strlen(f->exports[i].path));
		xdr_put_u32(out, 0); /* no groups: everybody */
	}
	xdr_put_u32(out, 0);
	return true;
}
