/*
 * One decoded call: the contract between wire (which makes it from bytes),
 * frontend (which decides what becomes of it) and upstream (which sends it on).
 */
#ifndef NFSGATHER_CALL_H
#define NFSGATHER_CALL_H

#include "nfsgather/nfs3.h"

enum {
	RPC_AUTH_BODY_MAX_BYTES = 400, /* RFC 5531 s8.2 */
	RPC_MACHINE_NAME_MAX_BYTES = 255,
	RPC_AUTH_SYS_GIDS_MAX = 16,
};

enum rpc_auth_flavor {
	RPC_AUTH_NONE = 0,
	RPC_AUTH_SYS = 1,
};

/*
 * A credential as the client sent it. `body` holds the AUTH_SYS body byte for byte
 * and is what goes upstream; the fields below it are read from it (and are zero for
 * AUTH_NONE). Whoever changes a field re-encodes the body with rpc_cred_encode().
 */
struct rpc_cred {
	enum rpc_auth_flavor flavor;
	uint32_t body_len;
	uint8_t body[RPC_AUTH_BODY_MAX_BYTES];
	uint32_t stamp;
	uint32_t machine_name_len;
	char machine_name[RPC_MACHINE_NAME_MAX_BYTES + 1]; /* NUL added */
	uint32_t uid;
	uint32_t gid;
	uint32_t gid_count; /* 0..RPC_AUTH_SYS_GIDS_MAX */
	uint32_t gids[RPC_AUTH_SYS_GIDS_MAX];
};

struct nfs3_write_args {
	struct nfs3_fh fh;
	uint64_t offset;
	uint32_t count; /* equals payload.len: the decoder refuses anything else */
	enum nfs3_stable stable;
	struct nfs3_bytes payload;
};

struct nfs3_commit_args {
	struct nfs3_fh fh;
	uint64_t offset;
	uint32_t count;
};

struct nfs3_setattr_args {
	struct nfs3_fh fh;
	struct nfs3_sattr sattr;
	bool has_guard;
	struct nfs3_time guard_ctime;
};

struct nfs3_create_args {
	struct nfs3_dirop where;
	enum nfs3_create_mode mode;
	struct nfs3_sattr sattr;	       /* UNCHECKED, GUARDED */
	uint8_t verifier[NFS3_CREATEVERFSIZE]; /* EXCLUSIVE */
};

struct nfs3_mkdir_args {
	struct nfs3_dirop where;
	struct nfs3_sattr sattr;
};

struct nfs3_symlink_args {
	struct nfs3_dirop where;
	struct nfs3_sattr sattr;
	struct nfs3_bytes path;
};

struct nfs3_mknod_args {
	struct nfs3_dirop where;
	uint32_t type; /* any enum nfs3_file_type; sattr only for CHR BLK SOCK FIFO */
	struct nfs3_sattr sattr;
	uint32_t rdev_major; /* CHR and BLK */
	uint32_t rdev_minor;
};

struct nfs3_readdir_args { /* READDIR: maxcount unused; READDIRPLUS: both */
	struct nfs3_fh dir;
	uint64_t cookie;
	uint8_t cookie_verifier[NFS3_COOKIEVERFSIZE];
	uint32_t dircount; /* READDIR: count */
	uint32_t maxcount;
};

struct nfsacl_entry {
	uint32_t type;
	uint32_t id;
	uint32_t perm;
};

/* The entry arrays are views of wire bytes: 12 bytes big endian an entry. */
struct nfsacl_setacl_args {
	struct nfs3_fh fh;
	uint32_t mask;
	uint32_t ace_count;
	struct nfs3_bytes aces;
	uint32_t default_ace_count;
	struct nfs3_bytes default_aces;
	/* The counts that precede each array on the wire (they may exceed it). */
	uint32_t ace_limit;
	uint32_t default_ace_limit;
};

/* Program, version and procedure say which member of `args` is set. */
struct nfs_call {
	uint32_t program;
	uint32_t version;
	uint32_t proc;
	union {
		struct nfs3_fh fh;	 /* GETATTR READLINK FSSTAT FSINFO PATHCONF */
		struct nfs3_dirop dirop; /* LOOKUP REMOVE RMDIR */
		struct {
			struct nfs3_fh fh;
			uint32_t access;
		} access;
		struct {
			struct nfs3_fh fh;
			uint64_t offset;
			uint32_t count;
		} read;
		struct nfs3_write_args write;
		struct nfs3_commit_args commit;
		struct nfs3_setattr_args setattr;
		struct nfs3_create_args create;
		struct nfs3_mkdir_args mkdir;
		struct nfs3_symlink_args symlink;
		struct nfs3_mknod_args mknod;
		struct {
			struct nfs3_dirop from;
			struct nfs3_dirop to;
		} rename;
		struct {
			struct nfs3_fh fh;
			struct nfs3_dirop to;
		} link;
		struct nfs3_readdir_args readdir; /* READDIR READDIRPLUS */
		struct nfs3_bytes mount_path;	  /* MOUNT MNT, UMNT */
		struct {
			struct nfs3_fh fh;
			uint32_t mask;
		} getacl;
		struct nfsacl_setacl_args setacl;
	} args;
};

#endif
