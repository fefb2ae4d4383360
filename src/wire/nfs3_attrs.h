/*
 * Finds the attributes of objects in results (RFC 1813 s3.3, NFSACL 3), so that those
 * which must not be shown can be taken out.
 */
#ifndef WIRE_NFS3_ATTRS_H
#define WIRE_NFS3_ATTRS_H

#include <stdbool.h>

#include "nfsgather/buf.h"
#include "nfsgather/call.h"
#include "nfsgather/invariant.h"

enum nfs3_attrs_role {
	NFS3_ATTRS_OF_CALL,  /* the object the call is about, by nfs_call_fh() */
	NFS3_ATTRS_OF_DIR,   /* a directory in which the call named something */
	NFS3_ATTRS_OF_FOUND, /* what LOOKUP found, or CREATE, MKDIR, ... made or found */
	NFS3_ATTRS_OF_ENTRY, /* one entry of READDIRPLUS */
};

struct nfs3_attrs {
	enum nfs3_attrs_role role;
	const struct nfs3_fh *fh; /* NULL: not told (FOUND, ENTRY) */
	struct nfs3_wcc wcc; /* post_op_attr: only `after`; at least one is there */
};

/* True: they stay; false: they are taken out, a wcc_data's before and after both. */
typedef bool nfs3_attrs_keep(void *arg, const struct nfs3_attrs *attrs);

/*
 * Asks about all optional attributes of the results of `call`, in the order in which they
 * stand, and takes those out, in place, for which keep() says no. keep() is asked a second
 * time about the same when there are any, and must say the same.
 *
 * 0, or -EBADMSG for results that do not decode whole: nothing was changed then.
 * GETATTR's attributes are its results and not optional; nobody is asked about them.
 */
MUST_CHECK int nfs3_attrs_filter(const struct nfs_call *call, struct buf *results,
				 nfs3_attrs_keep *keep, void *arg);

#endif
