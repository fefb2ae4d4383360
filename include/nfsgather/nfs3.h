/*
 * Neutral NFSv3 values (RFC 1813): what every layer above the wire speaks.
 *
 * No type here comes from libtirpc or libnfs; those two cannot meet in one file.
 * Byte strings (names, paths, payload) are views: they point into the record that
 * was received and live exactly as long as its buffer.
 */
#ifndef NFSGATHER_NFS3_H
#define NFSGATHER_NFS3_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	NFS3_FHSIZE = 64, /* RFC 1813 s2.4 */
	NFS3_COOKIEVERFSIZE = 8,
	NFS3_CREATEVERFSIZE = 8,
	NFS3_WRITEVERFSIZE = 8,
	NFS3_NAME_MAX_BYTES = 255, /* what every server we know enforces */
	NFS3_PATH_MAX_BYTES = 1024,
	MOUNT_PATH_MAX_BYTES = 1024,
	NFSACL_ENTRIES_MAX = 1024,
};

enum {
	PROGRAM_NFS = 100003,
	PROGRAM_MOUNT = 100005,
	PROGRAM_NFSACL = 100227,
};

/* number, C name, text: one row names the procedure everywhere */
#define NFS3_PROC_TABLE(X)                                                             \
	X(0, NULL, "NULL")                                                             \
	X(1, GETATTR, "GETATTR")                                                       \
	X(2, SETATTR, "SETATTR")                                                       \
	X(3, LOOKUP, "LOOKUP")                                                         \
	X(4, ACCESS, "ACCESS")                                                         \
	X(5, READLINK, "READLINK")                                                     \
	X(6, READ, "READ")                                                             \
	X(7, WRITE, "WRITE")                                                           \
	X(8, CREATE, "CREATE")                                                         \
	X(9, MKDIR, "MKDIR")                                                           \
	X(10, SYMLINK, "SYMLINK")                                                      \
	X(11, MKNOD, "MKNOD")                                                          \
	X(12, REMOVE, "REMOVE")                                                        \
	X(13, RMDIR, "RMDIR")                                                          \
	X(14, RENAME, "RENAME")                                                        \
	X(15, LINK, "LINK")                                                            \
	X(16, READDIR, "READDIR")                                                      \
	X(17, READDIRPLUS, "READDIRPLUS")                                              \
	X(18, FSSTAT, "FSSTAT")                                                        \
	X(19, FSINFO, "FSINFO")                                                        \
	X(20, PATHCONF, "PATHCONF")                                                    \
	X(21, COMMIT, "COMMIT")

enum nfs3_proc {
#define X(number, name, text) NFS3_PROC_##name = (number),
	NFS3_PROC_TABLE(X)
#undef X
};

enum mount_proc {
	MOUNT_PROC_NULL = 0,
	MOUNT_PROC_MNT = 1,
	MOUNT_PROC_DUMP = 2,
	MOUNT_PROC_UMNT = 3,
	MOUNT_PROC_UMNTALL = 4,
	MOUNT_PROC_EXPORT = 5,
};

enum nfsacl_proc {
	NFSACL_PROC_NULL = 0,
	NFSACL_PROC_GETACL = 1,
	NFSACL_PROC_SETACL = 2,
};

#define NFS3_STATUS_TABLE(X)                                                           \
	X(0, NFS3_OK)                                                                  \
	X(1, NFS3ERR_PERM)                                                             \
	X(2, NFS3ERR_NOENT)                                                            \
	X(5, NFS3ERR_IO)                                                               \
	X(6, NFS3ERR_NXIO)                                                             \
	X(13, NFS3ERR_ACCES)                                                           \
	X(17, NFS3ERR_EXIST)                                                           \
	X(18, NFS3ERR_XDEV)                                                            \
	X(19, NFS3ERR_NODEV)                                                           \
	X(20, NFS3ERR_NOTDIR)                                                          \
	X(21, NFS3ERR_ISDIR)                                                           \
	X(22, NFS3ERR_INVAL)                                                           \
	X(27, NFS3ERR_FBIG)                                                            \
	X(28, NFS3ERR_NOSPC)                                                           \
	X(30, NFS3ERR_ROFS)                                                            \
	X(31, NFS3ERR_MLINK)                                                           \
	X(63, NFS3ERR_NAMETOOLONG)                                                     \
	X(66, NFS3ERR_NOTEMPTY)                                                        \
	X(69, NFS3ERR_DQUOT)                                                           \
	X(70, NFS3ERR_STALE)                                                           \
	X(71, NFS3ERR_REMOTE)                                                          \
	X(10001, NFS3ERR_BADHANDLE)                                                    \
	X(10002, NFS3ERR_NOT_SYNC)                                                     \
	X(10003, NFS3ERR_BAD_COOKIE)                                                   \
	X(10004, NFS3ERR_NOTSUPP)                                                      \
	X(10005, NFS3ERR_TOOSMALL)                                                     \
	X(10006, NFS3ERR_SERVERFAULT)                                                  \
	X(10007, NFS3ERR_BADTYPE)                                                      \
	X(10008, NFS3ERR_JUKEBOX)

/* A status an upstream sends that is not in the table travels as its number. */
enum nfs3_status {
#define X(number, name) name = (number),
	NFS3_STATUS_TABLE(X)
#undef X
};

/* MOUNT v3 statuses we make ourselves; the numbers are those of RFC 1813 s5.1.5. */
enum mount3_status {
	MNT3_OK = 0,
	MNT3ERR_ACCES = 13,
};

enum nfs3_stable {
	NFS3_UNSTABLE = 0,
	NFS3_DATA_SYNC = 1,
	NFS3_FILE_SYNC = 2,
};

enum nfs3_file_type {
	NFS3_REG = 1,
	NFS3_DIR = 2,
	NFS3_BLK = 3,
	NFS3_CHR = 4,
	NFS3_LNK = 5,
	NFS3_SOCK = 6,
	NFS3_FIFO = 7,
};

enum nfs3_create_mode {
	NFS3_UNCHECKED = 0,
	NFS3_GUARDED = 1,
	NFS3_EXCLUSIVE = 2,
};

enum {
	NFS3_ACCESS_READ = 0x01,
	NFS3_ACCESS_LOOKUP = 0x02,
	NFS3_ACCESS_MODIFY = 0x04,
	NFS3_ACCESS_EXTEND = 0x08,
	NFS3_ACCESS_DELETE = 0x10,
	NFS3_ACCESS_EXECUTE = 0x20,
};

struct nfs3_fh {
	uint32_t len; /* 1..NFS3_FHSIZE */
	uint8_t data[NFS3_FHSIZE];
};

/* A view into a received record. */
struct nfs3_bytes {
	const uint8_t *data;
	uint32_t len;
};

struct nfs3_time {
	uint32_t seconds;
	uint32_t nseconds;
};

struct nfs3_verifier {
	uint8_t data[NFS3_WRITEVERFSIZE];
};

/* fattr3, RFC 1813 s2.5 */
struct nfs3_attr {
	uint32_t type; /* enum nfs3_file_type, as received */
	uint32_t mode;
	uint32_t nlink;
	uint32_t uid;
	uint32_t gid;
	uint64_t size;
	uint64_t used;
	uint32_t rdev_major;
	uint32_t rdev_minor;
	uint64_t fsid;
	uint64_t fileid;
	struct nfs3_time atime;
	struct nfs3_time mtime;
	struct nfs3_time ctime;
};

/* wcc_data, RFC 1813 s2.6 */
struct nfs3_wcc {
	bool has_before;
	bool has_after;
	struct {
		uint64_t size;
		struct nfs3_time mtime;
		struct nfs3_time ctime;
	} before;
	struct nfs3_attr after;
};

enum nfs3_time_how {
	NFS3_DONT_CHANGE = 0,
	NFS3_SET_TO_SERVER_TIME = 1,
	NFS3_SET_TO_CLIENT_TIME = 2,
};

/* sattr3, RFC 1813 s2.5 */
struct nfs3_sattr {
	bool set_mode;
	bool set_uid;
	bool set_gid;
	bool set_size;
	enum nfs3_time_how atime_how;
	enum nfs3_time_how mtime_how;
	uint32_t mode;
	uint32_t uid;
	uint32_t gid;
	uint64_t size;
	struct nfs3_time atime;
	struct nfs3_time mtime;
};

struct nfs3_dirop {
	struct nfs3_fh dir;
	struct nfs3_bytes name;
};

/* "NFS3ERR_STALE", or "NFS3ERR_?" for a number outside the table; never NULL. */
const char *nfs3_status_name(uint32_t status);

bool nfs3_fh_equal(const struct nfs3_fh *a, const struct nfs3_fh *b);

#endif
