/*
 * The table of programs, versions and procedures that a listener answers: name, class,
 * and what the layers above must know of each.
 */
#ifndef WIRE_NFS_PROC_H
#define WIRE_NFS_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nfsgather/call.h"
#include "nfsgather/invariant.h"

enum nfs_proc_class {
	NFS_CLASS_LOCAL,  /* answered here with nfs3_void_encode(): NULL, UMNTALL */
	NFS_CLASS_WRITE,  /* engine */
	NFS_CLASS_COMMIT, /* engine */
	/* Relayed when buffered bytes of the file named by handle are out of the way. */
	NFS_CLASS_BARRIER,
	/* The same for files named by directory and name: CREATE, REMOVE, RENAME. */
	NFS_CLASS_NAME,
	NFS_CLASS_MOUNT, /* MNT, DUMP, UMNT, EXPORT: relayed, checked against exports */
	NFS_CLASS_RELAY,
};

/* Where the refusal of a call without results from upstream finds its shape. */
enum nfs_fail_shape {
	NFS_FAIL_VOID,	 /* procedure has no status: nothing to refuse with */
	NFS_FAIL_STATUS, /* status alone: GETATTR, MNT */
	/*
	 * post_op_attr. GETACL and SETACL too: Solaris reads it there; Linux and libnfs
	 * stop after the status and ignore what follows.
	 */
	NFS_FAIL_ATTR,
	NFS_FAIL_WCC,	   /* wcc_data */
	NFS_FAIL_TWO_WCC,  /* RENAME */
	NFS_FAIL_ATTR_WCC, /* LINK */
};

struct nfs_proc {
	const char *name; /* "WRITE", "MNT", "GETACL" */
	enum nfs_proc_class class;
	enum nfs_fail_shape fail_shape;
	bool modifies;	 /* refused for a read-only client */
	bool idempotent; /* false: reply cache, and never blindly re-sent */
	bool bulk;	 /* READ, WRITE, COMMIT: a bulk connection by handle */
};

enum nfs_lookup {
	NFS_LOOKUP_OK,
	NFS_LOOKUP_PROG_UNAVAIL,
	NFS_LOOKUP_PROG_MISMATCH, /* *low and *high are set */
	NFS_LOOKUP_PROC_UNAVAIL,
};

/*
 * NFS 3, MOUNT 1 and 3 (2 is a mismatch inside the range 1..3), NFSACL 3. MOUNT 1 is
 * there for old showmount: it has no MNT, since its handle would be one of NFS version
 * 2. What it has is, byte for byte, what version 3 has. *found is set with
 * NFS_LOOKUP_OK, else NULL; *low and *high only with PROG_MISMATCH.
 */
enum nfs_lookup nfs_proc_find(uint32_t program, uint32_t version, uint32_t proc,
			      const struct nfs_proc **found, uint32_t *low,
			      uint32_t *high);

/*
 * The protocol leaves names and symlink contents unbounded. These are as long as a path
 * gets on any server we know; whether they are too long is the upstream's answer to
 * give.
 */
enum {
	NFS_CALL_NAME_MAX_BYTES = 4096,
	NFS_CALL_SYMLINK_MAX_BYTES = 4096,
};

/*
 * Decodes the arguments: 0, or -EBADMSG (GARBAGE_ARGS), which is also what a procedure
 * gives that nfs_proc_find() does not find. Views point into `bytes`. Program, version
 * and procedure of `call` are set by this function.
 *
 * Bad are: cut off arguments and trailing bytes; handles that are not 1..64 bytes;
 * enums out of range; a WRITE whose count is not its payload's length; names and paths
 * over their bounds or with a NUL inside (the upstream's library takes C strings, it
 * would act on another name); more than NFSACL_ENTRIES_MAX entries. Padding may have
 * any content.
 */
MUST_CHECK int nfs_call_decode(struct nfs_call *call, uint32_t program,
			       uint32_t version, uint32_t proc, const uint8_t *bytes,
			       size_t len_bytes);

/*
 * The handle a call is about: the directory for calls on names (RENAME: the one it
 * leaves; LINK: the file). NULL when it has none.
 */
const struct nfs3_fh *nfs_call_fh(const struct nfs_call *call);

#endif
