/*
 * Results of NFSv3 procedures: WRITE and COMMIT whole, others where they are changed.
 *
 * The hard case is changing results in place: nothing is written before the whole
 * of them has decoded, so results that are not what they claim pass unchanged.
 *
 * Not promised: that statuses and file types are ones RFC 1813 knows; they travel as
 * numbers.
 */
#include "wire/nfs3_result.h"

#include <errno.h>
#include <string.h>

#include "wire/nfs3_result_private.h"
#include "wire/rpc_msg.h"
#include "wire/xdr.h"

enum {
	NFS3_FATTR_BYTES = 84,
	NFS3_WCC_MAX_BYTES = 4 + 24 + 4 + NFS3_FATTR_BYTES,
	NFS3_WRITE_RESULT_MAX_BYTES = 4 + NFS3_WCC_MAX_BYTES + 8 + NFS3_WRITEVERFSIZE,
	NFS3_COMMIT_RESULT_MAX_BYTES = 4 + NFS3_WCC_MAX_BYTES + NFS3_WRITEVERFSIZE,
	NFS3_FAILURE_MAX_BYTES = 4 + 16,
};

void nfs3_result_in_init(struct xdr_in *in, const struct buf *results)
{
	xdr_in_init(in, results->data + results->off_bytes, results->len_bytes);
}

struct buf *nfs3_result_new(struct xdr_out *out, size_t max_bytes)
{
	const size_t headroom_bytes = RPC_RECORD_MARK_BYTES + RPC_REPLY_HEADER_BYTES;
	struct buf *results = buf_new(headroom_bytes + max_bytes);

	if (results == NULL)
		return NULL;
	results->off_bytes = headroom_bytes;
	xdr_out_init(out, buf_start(results), max_bytes);
	return results;
}

struct buf *nfs3_result_finish(struct buf *results, const struct xdr_out *out)
{
	INVARIANT(xdr_out_ok(out));
	results->len_bytes = xdr_out_len_bytes(out);
	return results;
}

static bool nfs3_result_in_whole(const struct xdr_in *in)
{
	return xdr_in_ok(in) && xdr_in_left_bytes(in) == 0;
}

static void nfs3_in_time(struct xdr_in *in, struct nfs3_time *time)
{
	time->seconds = xdr_in_u32(in);
	time->nseconds = xdr_in_u32(in);
}

static void nfs3_out_time(struct xdr_out *out, const struct nfs3_time *time)
{
	xdr_out_u32(out, time->seconds);
	xdr_out_u32(out, time->nseconds);
}

/* fattr3 */
static void nfs3_in_attr(struct xdr_in *in, struct nfs3_attr *attr)
{
	attr->type = xdr_in_u32(in);
	attr->mode = xdr_in_u32(in);
	attr->nlink = xdr_in_u32(in);
	attr->uid = xdr_in_u32(in);
	attr->gid = xdr_in_u32(in);
	attr->size = xdr_in_u64(in);
	attr->used = xdr_in_u64(in);
	attr->rdev_major = xdr_in_u32(in);
	attr->rdev_minor = xdr_in_u32(in);
	attr->fsid = xdr_in_u64(in);
	attr->fileid = xdr_in_u64(in);
	nfs3_in_time(in, &attr->atime);
	nfs3_in_time(in, &attr->mtime);
	nfs3_in_time(in, &attr->ctime);
}

static void nfs3_out_attr(struct xdr_out *out, const struct nfs3_attr *attr)
{
	xdr_out_u32(out, attr->type);
	xdr_out_u32(out, attr->mode);
	xdr_out_u32(out, attr->nlink);
	xdr_out_u32(out, attr->uid);
	xdr_out_u32(out, attr->gid);
	xdr_out_u64(out, attr->size);
	xdr_out_u64(out, attr->used);
	xdr_out_u32(out, attr->rdev_major);
	xdr_out_u32(out, attr->rdev_minor);
	xdr_out_u64(out, attr->fsid);
	xdr_out_u64(out, attr->fileid);
	nfs3_out_time(out, &attr->atime);
	nfs3_out_time(out, &attr->mtime);
	nfs3_out_time(out, &attr->ctime);
}

static void nfs3_in_skip_post_op_attr(struct xdr_in *in)
{
	if (xdr_in_bool(in))
		(void)xdr_in_fixed(in, NFS3_FATTR_BYTES);
}

void nfs3_result_in_post_op_attr(struct xdr_in *in, struct nfs3_wcc *wcc)
{
	*wcc = (struct nfs3_wcc){ .has_after = xdr_in_bool(in) };
	if (wcc->has_after)
		nfs3_in_attr(in, &wcc->after);
}

void nfs3_result_in_fh(struct xdr_in *in, struct nfs3_fh *fh)
{
	struct nfs3_bytes view = xdr_in_bytes(in, NFS3_FHSIZE);

	if (view.len == 0) {
		xdr_in_reject(in);
		return;
	}
	fh->len = view.len;
	memcpy(fh->data, view.data, view.len);
}

void nfs3_result_in_wcc(struct xdr_in *in, struct nfs3_wcc *wcc)
{
	*wcc = (struct nfs3_wcc){ .has_before = xdr_in_bool(in) };
	if (wcc->has_before) {
		wcc->before.size = xdr_in_u64(in);
		nfs3_in_time(in, &wcc->before.mtime);
		nfs3_in_time(in, &wcc->before.ctime);
	}
	wcc->has_after = xdr_in_bool(in);
	if (wcc->has_after)
		nfs3_in_attr(in, &wcc->after);
}

static void nfs3_out_wcc(struct xdr_out *out, const struct nfs3_wcc *wcc)
{
	xdr_out_bool(out, wcc->has_before);
	if (wcc->has_before) {
		xdr_out_u64(out, wcc->before.size);
		nfs3_out_time(out, &wcc->before.mtime);
		nfs3_out_time(out, &wcc->before.ctime);
	}
	xdr_out_bool(out, wcc->has_after);
	if (wcc->has_after)
		nfs3_out_attr(out, &wcc->after);
}

static void nfs3_in_verifier(struct xdr_in *in, struct nfs3_verifier *verifier)
{
	const uint8_t *bytes = xdr_in_fixed(in, NFS3_WRITEVERFSIZE);

	if (bytes != NULL)
		memcpy(verifier->data, bytes, NFS3_WRITEVERFSIZE);
}

/* RFC1813-3.3.7 */
int nfs3_write_result_decode(struct engine_write_result *result,
			     const struct buf *results)
{
	struct xdr_in in;

	*result = (struct engine_write_result){ 0 };
	nfs3_result_in_init(&in, results);
	result->status = xdr_in_u32(&in);
	nfs3_result_in_wcc(&in, &result->wcc);
	if (result->status == NFS3_OK) {
		result->count = xdr_in_u32(&in);
		result->committed = xdr_in_u32_max(&in, NFS3_FILE_SYNC);
		nfs3_in_verifier(&in, &result->verifier);
	}
	return nfs3_result_in_whole(&in) ? 0 : -EBADMSG;
}

/* RFC1813-3.3.21 */
int nfs3_commit_result_decode(struct engine_commit_result *result,
			      const struct buf *results)
{
	struct xdr_in in;

	*result = (struct engine_commit_result){ 0 };
	nfs3_result_in_init(&in, results);
	result->status = xdr_in_u32(&in);
	nfs3_result_in_wcc(&in, &result->wcc);
	if (result->status == NFS3_OK)
		nfs3_in_verifier(&in, &result->verifier);
	return nfs3_result_in_whole(&in) ? 0 : -EBADMSG;
}

/* RFC1813-3.3.3 */
int nfs3_lookup_result_decode(struct nfs3_fh *fh, struct nfs3_wcc *attr,
			      const struct buf *results)
{
	struct nfs3_wcc unused;
	struct xdr_in in;

	nfs3_result_in_init(&in, results);
	if (xdr_in_u32(&in) != NFS3_OK)
		return -EBADMSG;
	nfs3_result_in_fh(&in, fh);
	nfs3_result_in_post_op_attr(&in, attr);
	nfs3_result_in_post_op_attr(&in, &unused); /* of the directory */
	return nfs3_result_in_whole(&in) ? 0 : -EBADMSG;
}

/* RFC1813-3.3.8 */
bool nfs3_create_result_has_fh(struct nfs3_fh *fh, const struct buf *results)
{
	struct xdr_in in;

	nfs3_result_in_init(&in, results);
	if (xdr_in_u32(&in) != NFS3_OK || !xdr_in_bool(&in))
		return false;
	nfs3_result_in_fh(&in, fh);
	return xdr_in_ok(&in);
}

struct buf *nfs3_write_result_encode(const struct engine_write_result *result)
{
	struct xdr_out out;
	struct buf *results = nfs3_result_new(&out, NFS3_WRITE_RESULT_MAX_BYTES);

	if (results == NULL)
		return NULL;
	xdr_out_u32(&out, result->status);
	nfs3_out_wcc(&out, &result->wcc);
	if (result->status == NFS3_OK) {
		xdr_out_u32(&out, result->count);
		xdr_out_u32(&out, result->committed);
		xdr_out_fixed(&out, result->verifier.data, NFS3_WRITEVERFSIZE);
	}
	return nfs3_result_finish(results, &out);
}

struct buf *nfs3_commit_result_encode(const struct engine_commit_result *result)
{
	struct xdr_out out;
	struct buf *results = nfs3_result_new(&out, NFS3_COMMIT_RESULT_MAX_BYTES);

	if (results == NULL)
		return NULL;
	xdr_out_u32(&out, result->status);
	nfs3_out_wcc(&out, &result->wcc);
	if (result->status == NFS3_OK)
		xdr_out_fixed(&out, result->verifier.data, NFS3_WRITEVERFSIZE);
	return nfs3_result_finish(results, &out);
}

/* How many "not here" words follow the status: one an attribute. */
static unsigned int nfs3_failure_absent_count(enum nfs_fail_shape shape)
{
	switch (shape) {
	case NFS_FAIL_STATUS:
		return 0;
	case NFS_FAIL_ATTR:
		return 1;
	case NFS_FAIL_WCC:
		return 2;
	case NFS_FAIL_ATTR_WCC:
		return 3;
	case NFS_FAIL_TWO_WCC:
		return 4;
	case NFS_FAIL_VOID:
		break;
	}
	UNREACHABLE();
}

struct buf *nfs3_failure_encode(enum nfs_fail_shape shape, uint32_t status)
{
	unsigned int absent_count = nfs3_failure_absent_count(shape);
	struct xdr_out out;
	struct buf *results;

	INVARIANT(status != NFS3_OK);
	results = nfs3_result_new(&out, NFS3_FAILURE_MAX_BYTES);
	if (results == NULL)
		return NULL;
	xdr_out_u32(&out, status);
	for (unsigned int i = 0; i < absent_count; i++)
		xdr_out_bool(&out, false);
	return nfs3_result_finish(results, &out);
}

struct buf *nfs3_void_encode(void)
{
	struct xdr_out out;
	struct buf *results = nfs3_result_new(&out, 0);

	return results == NULL ? NULL : nfs3_result_finish(results, &out);
}

uint32_t nfs3_result_status(const struct buf *results)
{
	struct xdr_in in;
	uint32_t status;

	nfs3_result_in_init(&in, results);
	status = xdr_in_u32(&in);
	return xdr_in_ok(&in) ? status : NFS3ERR_SERVERFAULT;
}

/* Overwrites the word that a reading cursor stood at. */
static void nfs3_result_put_u32(struct buf *results, size_t off_bytes, uint32_t value)
{
	struct xdr_out out;

	INVARIANT(off_bytes + 4 <= results->len_bytes);
	xdr_out_init(&out, buf_start(results) + off_bytes, 4);
	xdr_out_u32(&out, value);
}

static void nfs3_result_cap_u32(struct buf *results, size_t off_bytes, uint32_t found,
				uint32_t max)
{
	if (found > max)
		nfs3_result_put_u32(results, off_bytes, max);
}

/* What FSINFO says about sizes, and where in the results that starts. */
struct nfs3_fsinfo_sizes {
	size_t off_bytes;
	uint32_t rtmax;
	uint32_t rtpref;
	uint32_t wtmax;
	uint32_t wtpref;
};

/* RFC1813-3.3.19: attributes, rtmax, rtpref, rtmult, wtmax, wtpref, wtmult, ... */
static bool nfs3_fsinfo_find_sizes(struct nfs3_fsinfo_sizes *sizes,
				   const struct buf *results)
{
	enum { FSINFO_REST_BYTES = 4 + 4 + 8 + 8 + 4 }; /* wtmult to properties */
	struct xdr_in in;

	nfs3_result_in_init(&in, results);
	if (xdr_in_u32(&in) != NFS3_OK)
		return false;
	nfs3_in_skip_post_op_attr(&in);
	sizes->off_bytes = results->len_bytes - xdr_in_left_bytes(&in);
	sizes->rtmax = xdr_in_u32(&in);
	sizes->rtpref = xdr_in_u32(&in);
	(void)xdr_in_u32(&in); /* rtmult */
	sizes->wtmax = xdr_in_u32(&in);
	sizes->wtpref = xdr_in_u32(&in);
	(void)xdr_in_fixed(&in, FSINFO_REST_BYTES);
	return nfs3_result_in_whole(&in);
}

uint32_t nfs3_fsinfo_wtmax(const struct buf *results)
{
	struct nfs3_fsinfo_sizes sizes;

	return nfs3_fsinfo_find_sizes(&sizes, results) ? sizes.wtmax : 0;
}

void nfs3_fsinfo_cap_sizes(struct buf *results, uint32_t read_max_bytes,
			   uint32_t write_max_bytes)
{
	struct nfs3_fsinfo_sizes sizes;
	size_t off;

	if (!nfs3_fsinfo_find_sizes(&sizes, results))
		return;
	off = sizes.off_bytes;
	nfs3_result_cap_u32(results, off, sizes.rtmax, read_max_bytes);
	nfs3_result_cap_u32(results, off + 4, sizes.rtpref, read_max_bytes);
	nfs3_result_cap_u32(results, off + 12, sizes.wtmax, write_max_bytes);
	nfs3_result_cap_u32(results, off + 16, sizes.wtpref, write_max_bytes);
}

/* RFC1813-3.3.4 */
void nfs3_access_clear(struct buf *results, uint32_t mask)
{
	struct xdr_in in;
	size_t access_off;
	uint32_t access;

	nfs3_result_in_init(&in, results);
	if (xdr_in_u32(&in) != NFS3_OK)
		return;
	nfs3_in_skip_post_op_attr(&in);
	access_off = results->len_bytes - xdr_in_left_bytes(&in);
	access = xdr_in_u32(&in);
	if (nfs3_result_in_whole(&in))
		nfs3_result_put_u32(results, access_off, access & ~mask);
}
