/*
 * The in-memory file tree of the fault server. Everything but UNSTABLE data is stable
 * at once. Statuses are NFSv3 numbers (RFC 1813 s2.6), 0 is success.
 */
#ifndef FAULTD_FS_H
#define FAULTD_FS_H

#include "faultd_image.h"

enum nfs_status {
	NFS_OK = 0,
	NFS_PERM = 1,
	NFS_NOENT = 2,
	NFS_IO = 5,
	NFS_ACCES = 13,
	NFS_EXIST = 17,
	NFS_XDEV = 18,
	NFS_NOTDIR = 20,
	NFS_ISDIR = 21,
	NFS_INVAL = 22,
	NFS_FBIG = 27,
	NFS_NOSPC = 28,
	NFS_NAMETOOLONG = 63,
	NFS_NOTEMPTY = 66,
	NFS_STALE = 70,
	NFS_BADHANDLE = 10001,
	NFS_NOT_SYNC = 10002,
	NFS_BAD_COOKIE = 10003,
	NFS_NOTSUPP = 10004,
	NFS_TOOSMALL = 10005,
	NFS_BADTYPE = 10007,
};

enum node_type {
	NODE_FILE = 1,
	NODE_DIR = 2,
	NODE_BLOCK = 3,
	NODE_CHAR = 4,
	NODE_LINK = 5,
	NODE_SOCK = 6,
	NODE_FIFO = 7,
};

enum {
	FS_NAME_MAX = 255,
	FS_PATH_MAX = 1024,
	FS_FILE_MAX_SHIFT = 40, /* largest file: 1 TiB */
	FS_HANDLE_MAX = 64,
	FS_FIRST_COOKIE = 3, /* 1 and 2 are "." and ".." */
};

enum { PERM_READ = 4, PERM_WRITE = 2, PERM_EXEC = 1 };

struct stamp {
	uint32_t sec, nsec;
};

struct cred {
	uint32_t flavor, uid, gid, n_gids;
	uint32_t gids[16];
	const uint8_t *machine;
	uint32_t machine_len;
};

struct entry {
	char *name;
	uint32_t len;
	uint64_t node_id, cookie;
	struct entry *next; /* same hash bucket */
};

struct dir {
	struct entry **entries; /* by rising cookie */
	size_t n, cap;
	struct entry **buckets;
	size_t n_buckets;
	uint64_t next_cookie, parent_id;
};

struct node {
	uint64_t id;
	enum node_type type;
	uint32_t mode, uid, gid, nlink, rdev[2];
	uint32_t fsid;
	struct stamp atime, mtime, ctime;
	uint32_t pins; /* snapshots of waiting COMMITs; freed when nlink and pins are 0 */
	struct content content;
	struct dir *dir;
	uint8_t *target; /* of a symbolic link */
	uint32_t target_len;
	bool has_create_verf;
	uint8_t create_verf[8];
	uint8_t *acl; /* NFSACL body as set, NULL: none */
	size_t acl_len;
};

struct fs {
	struct node **nodes; /* by id; ids are never used twice */
	uint64_t n_nodes, cap;
	uint64_t used_bytes,
		limit_bytes; /* sum of visible sizes; NFS_NOSPC over limit */
	int64_t clock_offset_ms;
	uint64_t cookie_epoch; /* changing it makes all cookie verifiers stale */
};

struct stamp fs_now(const struct fs *fs);
/* New node with nlink 0 and all times now; never fails. */
struct node *fs_new_node(struct fs *fs, enum node_type type, uint32_t fsid);
struct node *fs_find(const struct fs *fs, uint64_t id);
/* Frees what has neither links nor pins left. */
void fs_drop(struct fs *fs, struct node *n);
void fs_fini(struct fs *fs);

struct entry *dir_find(const struct dir *d, const uint8_t *name, uint32_t len);
void dir_add(struct node *dir, const uint8_t *name, uint32_t len, struct node *n);
/* Takes the entry out and frees it; the caller mends nlink of what it named. */
void dir_remove(struct node *dir, struct entry *e);
/* Position of the first entry with a cookie above the given one; d->n if none. */
size_t dir_seek(const struct dir *d, uint64_t cookie);
uint64_t dir_cookie_verf(const struct fs *fs, const struct node *dir);

/* mtime and ctime, or ctime alone; ctime always moves forward. */
void node_touch(const struct fs *fs, struct node *n, bool data);
/* Permission by mode bits; root may all, owners may read and write their files. */
uint32_t node_permit(const struct node *n, const struct cred *cred, uint32_t want);
/* Changes the size, keeping fs->used_bytes right. NFS_FBIG, NFS_NOSPC. */
uint32_t node_resize(struct fs *fs, struct node *n, uint64_t size);
uint32_t node_write(struct fs *fs, struct node *n, uint64_t off, const uint8_t *from,
		    size_t len, bool stable);
/* Drops UNSTABLE data everywhere. */
void fs_reboot(struct fs *fs, uint64_t some);

#endif
