/* What the NFSv3 executors of the fault server share (RFC 1813 s2.5, s2.6). */
#ifndef FAULTD_NFS_H
#define FAULTD_NFS_H

#include "faultd.h"

struct handle {
	const uint8_t *p;
	uint32_t len;
};

struct name {
	const uint8_t *p;
	uint32_t len;
};

/* Directory and name, with what both lead to. */
struct place {
	struct handle handle;
	struct name name;
	struct node *dir;
	struct entry *entry; /* NULL: no such name, or "." and ".." */
};

struct sattr {
	bool set_mode, set_uid, set_gid, set_size;
	uint32_t mode, uid, gid;
	uint64_t size;
	uint32_t atime_how, mtime_how; /* 0 keep, 1 server's time, 2 given */
	struct stamp atime, mtime;
};

/* Attributes before an operation. */
struct wcc {
	bool known;
	uint64_t size;
	struct stamp mtime, ctime;
};

enum { NAME_WIRE_MAX = 4096 }; /* longer ones are garbage, not NAMETOOLONG */

struct handle nfs_get_handle(struct xdr_in *in);
struct name nfs_get_name(struct xdr_in *in);
struct place nfs_get_place(struct xdr_in *in);
struct sattr nfs_get_sattr(struct xdr_in *in);

/* Handle to node, or an error; injected errors come out here, node set if it is known. */
uint32_t nfs_find(struct faultd *f, struct call *call, struct handle h,
		  struct node **n);
/* As nfs_find, must be a directory, name must be legal and permitted (want). */
uint32_t nfs_find_place(struct faultd *f, struct call *call, struct place *p,
			uint32_t want);
struct node *nfs_entry_node(struct faultd *f, const struct entry *e);

/* May the caller change these attributes? */
uint32_t nfs_may_sattr(const struct node *n, const struct cred *cred,
		       const struct sattr *s);
uint32_t nfs_apply_sattr(struct faultd *f, struct node *n, const struct sattr *s);

struct wcc nfs_wcc(const struct node *n);
void nfs_put_status(struct call *call, struct xdr_out *out, uint32_t status);
void nfs_put_handle(struct faultd *f, struct xdr_out *out, const struct node *n);
void nfs_put_fattr(struct xdr_out *out, const struct node *n);
/* n may be NULL. */
void nfs_put_post(struct faultd *f, struct xdr_out *out, const struct node *n);
void nfs_put_wcc(struct faultd *f, struct xdr_out *out, const struct wcc *before,
		 const struct node *n);

#endif
