/*
 * The table of procedures, and the way from a call's bytes to its arguments.
 *
 * The hard case is a version between two that are there (MOUNT 2): the caller gets the
 * range, which includes it, and asks for another one.
 *
 * Not promised: that the upstream offers the same procedures; its refusal is passed on.
 */
#include "wire/nfs_proc.h"

#include <errno.h>
#include <string.h>

#include "wire/call_args.h"

enum { NFS_VERSION = 3, MOUNT_VERSION_LOW = 1, MOUNT_VERSION = 3, NFSACL_VERSION = 3 };

#define LOCAL(text)                                                                    \
	{                                                                              \
		.name = (text), .class = NFS_CLASS_LOCAL, .idempotent = true           \
	}
#define READS(text, shape)                                                             \
	{                                                                              \
		.name = (text), .class = NFS_CLASS_RELAY, .fail_shape = (shape),       \
		.idempotent = true                                                     \
	}
#define MODIFIES_AS(class_, text, shape)                                               \
	{                                                                              \
		.name = (text), .class = (class_), .fail_shape = (shape),              \
		.modifies = true                                                       \
	}
#define MODIFIES(text, shape) MODIFIES_AS(NFS_CLASS_RELAY, text, shape)
#define MOUNTS(text, shape)                                                            \
	{                                                                              \
		.name = (text), .class = NFS_CLASS_MOUNT, .fail_shape = (shape),       \
		.idempotent = true                                                     \
	}

/* Failures: RFC 1813 s3.3.1 to s3.3.21, the resfail of each. */
static const struct nfs_proc nfs3_procs[] = {
	[NFS3_PROC_NULL] = LOCAL("NULL"),
	[NFS3_PROC_GETATTR] = { .name = "GETATTR",
				.class = NFS_CLASS_BARRIER,
				.fail_shape = NFS_FAIL_STATUS,
				.idempotent = true },
	[NFS3_PROC_SETATTR] = MODIFIES_AS(NFS_CLASS_BARRIER, "SETATTR", NFS_FAIL_WCC),
	[NFS3_PROC_LOOKUP] = READS("LOOKUP", NFS_FAIL_ATTR),
	[NFS3_PROC_ACCESS] = READS("ACCESS", NFS_FAIL_ATTR),
	[NFS3_PROC_READLINK] = READS("READLINK", NFS_FAIL_ATTR),
	[NFS3_PROC_READ] = { .name = "READ",
			     .class = NFS_CLASS_BARRIER,
			     .fail_shape = NFS_FAIL_ATTR,
			     .idempotent = true,
			     .bulk = true },
	[NFS3_PROC_WRITE] = { .name = "WRITE",
			      .class = NFS_CLASS_WRITE,
			      .fail_shape = NFS_FAIL_WCC,
			      .modifies = true,
			      .bulk = true },
	[NFS3_PROC_CREATE] = MODIFIES_AS(NFS_CLASS_NAME, "CREATE", NFS_FAIL_WCC),
	[NFS3_PROC_MKDIR] = MODIFIES("MKDIR", NFS_FAIL_WCC),
	[NFS3_PROC_SYMLINK] = MODIFIES("SYMLINK", NFS_FAIL_WCC),
	[NFS3_PROC_MKNOD] = MODIFIES("MKNOD", NFS_FAIL_WCC),
	[NFS3_PROC_REMOVE] = MODIFIES_AS(NFS_CLASS_NAME, "REMOVE", NFS_FAIL_WCC),
	[NFS3_PROC_RMDIR] = MODIFIES("RMDIR", NFS_FAIL_WCC),
	[NFS3_PROC_RENAME] = MODIFIES_AS(NFS_CLASS_NAME, "RENAME", NFS_FAIL_TWO_WCC),
	[NFS3_PROC_LINK] = MODIFIES("LINK", NFS_FAIL_ATTR_WCC),
	[NFS3_PROC_READDIR] = READS("READDIR", NFS_FAIL_ATTR),
	[NFS3_PROC_READDIRPLUS] = READS("READDIRPLUS", NFS_FAIL_ATTR),
	[NFS3_PROC_FSSTAT] = READS("FSSTAT", NFS_FAIL_ATTR),
	[NFS3_PROC_FSINFO] = READS("FSINFO", NFS_FAIL_ATTR),
	[NFS3_PROC_PATHCONF] = READS("PATHCONF", NFS_FAIL_ATTR),
	[NFS3_PROC_COMMIT] = { .name = "COMMIT",
			       .class = NFS_CLASS_COMMIT,
			       .fail_shape = NFS_FAIL_WCC,
			       .idempotent = true,
			       .bulk = true },
};

static const struct nfs_proc mount3_procs[] = {
	[MOUNT_PROC_NULL] = LOCAL("NULL"),
	[MOUNT_PROC_MNT] = MOUNTS("MNT", NFS_FAIL_STATUS),
	[MOUNT_PROC_DUMP] = MOUNTS("DUMP", NFS_FAIL_VOID),
	[MOUNT_PROC_UMNT] = MOUNTS("UMNT", NFS_FAIL_VOID),
	[MOUNT_PROC_UMNTALL] = LOCAL("UMNTALL"),
	[MOUNT_PROC_EXPORT] = MOUNTS("EXPORT", NFS_FAIL_VOID),
};

static const struct nfs_proc nfsacl_procs[] = {
	[NFSACL_PROC_NULL] = LOCAL("NULL"),
	[NFSACL_PROC_GETACL] = READS("GETACL", NFS_FAIL_ATTR),
	[NFSACL_PROC_SETACL] = MODIFIES_AS(NFS_CLASS_BARRIER, "SETACL", NFS_FAIL_ATTR),
};

struct nfs_program {
	uint32_t number;
	uint32_t version_low;
	uint32_t version_high;
	const struct nfs_proc *procs;
	uint32_t proc_count;
	void (*decode)(struct nfs_call *call, struct xdr_in *in);
};

#define PROCS(table) .procs = (table), .proc_count = sizeof(table) / sizeof((table)[0])

static const struct nfs_program programs[] = {
	{
		.number = PROGRAM_NFS,
		.version_low = NFS_VERSION,
		.version_high = NFS_VERSION,
		PROCS(nfs3_procs),
		.decode = nfs3_args_decode,
	},
	{
		.number = PROGRAM_MOUNT,
		.version_low = MOUNT_VERSION_LOW,
		.version_high = MOUNT_VERSION,
		PROCS(mount3_procs),
		.decode = mount3_args_decode,
	},
	{
		.number = PROGRAM_NFSACL,
		.version_low = NFSACL_VERSION,
		.version_high = NFSACL_VERSION,
		PROCS(nfsacl_procs),
		.decode = nfsacl_args_decode,
	},
};

static const struct nfs_program *nfs_program_find(uint32_t number)
{
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		if (programs[i].number == number)
			return &programs[i];
	}
	return NULL;
}

static enum nfs_lookup nfs_program_lookup(const struct nfs_program *program,
					  uint32_t version, uint32_t proc)
{
	if (program == NULL)
		return NFS_LOOKUP_PROG_UNAVAIL;
	if (version != program->version_low && version != program->version_high)
		return NFS_LOOKUP_PROG_MISMATCH;
	if (proc >= program->proc_count)
		return NFS_LOOKUP_PROC_UNAVAIL;
	if (program->number == PROGRAM_MOUNT && version == MOUNT_VERSION_LOW &&
	    proc == MOUNT_PROC_MNT)
		return NFS_LOOKUP_PROC_UNAVAIL;
	return NFS_LOOKUP_OK;
}

enum nfs_lookup nfs_proc_find(uint32_t program, uint32_t version, uint32_t proc,
			      const struct nfs_proc **found, uint32_t *low,
			      uint32_t *high)
{
	const struct nfs_program *row = nfs_program_find(program);
	enum nfs_lookup lookup = nfs_program_lookup(row, version, proc);

	*found = NULL;
	if (lookup == NFS_LOOKUP_OK)
		*found = &row->procs[proc];
	if (lookup == NFS_LOOKUP_PROG_MISMATCH) {
		*low = row->version_low;
		*high = row->version_high;
	}
	return lookup;
}

int nfs_call_decode(struct nfs_call *call, uint32_t program, uint32_t version,
		    uint32_t proc, const uint8_t *bytes, size_t len_bytes)
{
	const struct nfs_program *row = nfs_program_find(program);
	struct xdr_in in;

	/* Not an initialiser: that need not reach past the union's first member. */
	memset(call, 0, sizeof(*call));
	call->program = program;
	call->version = version;
	call->proc = proc;
	if (nfs_program_lookup(row, version, proc) != NFS_LOOKUP_OK)
		return -EBADMSG;
	xdr_in_init(&in, bytes, len_bytes);
	row->decode(call, &in);
	return xdr_in_ok(&in) && xdr_in_left_bytes(&in) == 0 ? 0 : -EBADMSG;
}

const struct nfs3_fh *nfs_call_fh(const struct nfs_call *call)
{
	if (call->program == PROGRAM_NFS)
		return nfs3_args_fh(call);
	if (call->program == PROGRAM_NFSACL)
		return nfsacl_args_fh(call);
	return NULL;
}
