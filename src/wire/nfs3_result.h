/*
 * Results (RFC 1813 s3.3) as far as the proxy looks into them: WRITE and COMMIT whole,
 * of the others only what it must know or change. Attributes: nfs3_attrs.h. Everything
 * else passes as bytes.
 */
#ifndef WIRE_NFS3_RESULT_H
#define WIRE_NFS3_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nfsgather/buf.h"
#include "nfsgather/call.h"
#include "nfsgather/engine.h"
#include "nfsgather/invariant.h"
#include "wire/nfs_proc.h"

/*
 * 0, or -EBADMSG for results that do not decode whole: cut off, trailing bytes,
 * `committed` out of range. Statuses and file types of any number are taken.
 */
MUST_CHECK int nfs3_write_result_decode(struct engine_write_result *result,
					const struct buf *results);
MUST_CHECK int nfs3_commit_result_decode(struct engine_commit_result *result,
					 const struct buf *results);

/*
 * A LOOKUP that succeeded: the handle it found, and its attributes as `after` if they are
 * told. 0, or -EBADMSG (a failure too).
 */
MUST_CHECK int nfs3_lookup_result_decode(struct nfs3_fh *fh, struct nfs3_wcc *attr,
					 const struct buf *results);
/* A CREATE that succeeded and tells the handle. */
bool nfs3_create_result_has_fh(struct nfs3_fh *fh, const struct buf *results);

/* Results with headroom for rpc_reply_prepend(); NULL when memory is short. */
struct buf *nfs3_write_result_encode(const struct engine_write_result *result);
struct buf *nfs3_commit_result_encode(const struct engine_commit_result *result);
/*
 * Failure of any procedure, without attributes. `shape` must not be NFS_FAIL_VOID, nor
 * `status` NFS3_OK.
 */
struct buf *nfs3_failure_encode(enum nfs_fail_shape shape, uint32_t status);
/* No results at all (NULL, UMNTALL). */
struct buf *nfs3_void_encode(void);

/* The first word of results; SERVERFAULT when there is none. */
uint32_t nfs3_result_status(const struct buf *results);

/* FSINFO: wtmax; 0 of a failure, or of results that do not decode. */
uint32_t nfs3_fsinfo_wtmax(const struct buf *results);
/*
 * FSINFO: lowers rtmax and rtpref to at most `read_max_bytes`, wtmax and wtpref to at most
 * `write_max_bytes`, in place. A failure, or results that do not decode, stay as they are.
 */
void nfs3_fsinfo_cap_sizes(struct buf *results, uint32_t read_max_bytes,
			   uint32_t write_max_bytes);
/* ACCESS: takes the bits in `mask` away, in place; of a failure nothing is changed. */
void nfs3_access_clear(struct buf *results, uint32_t mask);

/*
 * MNT: replaces the flavor list by AUTH_SYS alone. A failure keeps its status; results
 * that do not decode become MNT3ERR_SERVERFAULT. New results, or NULL (no memory).
 */
struct buf *mount3_mnt_result_sys_only(const struct buf *results);
/*
 * EXPORT: keeps the entries for which keep() says so, with their groups; a path with a
 * NUL inside is not asked about and dropped. Results that do not decode become the
 * empty list. New results, or NULL (no memory).
 */
struct buf *mount3_export_filter(const struct buf *results,
				 bool (*keep)(void *arg, const char *path), void *arg);

#endif
