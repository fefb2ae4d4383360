/*
 * Results of MOUNT procedures (RFC 1813 s5.2) that the proxy rewrites: MNT and EXPORT.
 *
 * The hard case is a list from upstream that does not decode: the client still gets
 * results that do (a failure, or the empty list), never half of it.
 *
 * Not promised: that AUTH_SYS is among the flavors the upstream named; calls it refuses
 * are refused one by one.
 */
#include <string.h>

#include "nfsgather/invariant.h"
#include "wire/nfs3_result.h"
#include "wire/nfs3_result_private.h"
#include "wire/xdr.h"

enum {
	MNT3ERR_SERVERFAULT = 10006,
	MOUNT_MNT_RESULT_MAX_BYTES = 4 + 4 + NFS3_FHSIZE + 4 + 4,
};

/* The status alone. */
static struct buf *mount3_failure(uint32_t status)
{
	return nfs3_failure_encode(NFS_FAIL_STATUS, status);
}

struct buf *mount3_mnt_result_sys_only(const struct buf *results)
{
	struct xdr_in in;
	struct xdr_out out;
	struct nfs3_bytes fh;
	struct buf *new_results;
	uint32_t status = nfs3_result_status(results);

	if (status != MNT3_OK)
		return mount3_failure(status);
	nfs3_result_in_init(&in, results);
	(void)xdr_in_u32(&in);
	fh = xdr_in_bytes(&in, NFS3_FHSIZE);
	if (!xdr_in_ok(&in) || fh.len == 0)
		return mount3_failure(MNT3ERR_SERVERFAULT);
	new_results = nfs3_result_new(&out, MOUNT_MNT_RESULT_MAX_BYTES);
	if (new_results == NULL)
		return NULL;
	xdr_out_u32(&out, MNT3_OK);
	xdr_out_bytes(&out, fh.data, fh.len);
	xdr_out_u32(&out, 1);
	xdr_out_u32(&out, RPC_AUTH_SYS);
	return nfs3_result_finish(new_results, &out);
}

/* One exportnode after its "follows" word; false when it does not decode. */
static bool mount3_export_entry(struct xdr_in *in, struct nfs3_bytes *path)
{
	*path = xdr_in_bytes(in, MOUNT_PATH_MAX_BYTES);
	while (xdr_in_bool(in))
		(void)xdr_in_bytes(in, UINT32_MAX); /* group name */
	return xdr_in_ok(in);
}

/* As C string; no path of ours has a NUL inside, so one that has matches nothing. */
static bool mount3_export_is_kept(struct nfs3_bytes path,
				  bool (*keep)(void *arg, const char *path), void *arg)
{
	char text[MOUNT_PATH_MAX_BYTES + 1];

	if (memchr(path.data, '\0', path.len) != NULL)
		return false;
	memcpy(text, path.data, path.len);
	text[path.len] = '\0';
	return keep(arg, text);
}

struct buf *mount3_export_filter(const struct buf *results,
				 bool (*keep)(void *arg, const char *path), void *arg)
{
	struct xdr_in in;
	struct xdr_out out;
	struct nfs3_bytes path;
	/* At most what came, or the word that ends an empty list. */
	struct buf *new_results = nfs3_result_new(&out, results->len_bytes + 4);

	if (new_results == NULL)
		return NULL;
	nfs3_result_in_init(&in, results);
	while (xdr_in_bool(&in)) {
		const uint8_t *entry = in.at;

		if (!mount3_export_entry(&in, &path))
			break;
		if (!mount3_export_is_kept(path, keep, arg))
			continue;
		xdr_out_bool(&out, true);
		xdr_out_fixed(&out, entry, (uint32_t)(in.at - entry));
	}
	if (!xdr_in_ok(&in) || xdr_in_left_bytes(&in) != 0)
		xdr_out_init(&out, buf_start(new_results), results->len_bytes + 4);
	xdr_out_bool(&out, false);
	return nfs3_result_finish(new_results, &out);
}
