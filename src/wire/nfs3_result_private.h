/*
 * Shared by the readers and makers of results: attributes, and buffers with room for the
 * reply header in front.
 */
#ifndef WIRE_NFS3_RESULT_PRIVATE_H
#define WIRE_NFS3_RESULT_PRIVATE_H

#include <stddef.h>

#include "nfsgather/buf.h"
#include "nfsgather/nfs3.h"
#include "wire/xdr.h"

/* A cursor over the valid bytes of `results`. */
void nfs3_result_in_init(struct xdr_in *in, const struct buf *results);
/* wcc_data; what is not there is zero. */
void nfs3_result_in_wcc(struct xdr_in *in, struct nfs3_wcc *wcc);
/* post_op_attr, as the `after` of a wcc. */
void nfs3_result_in_post_op_attr(struct xdr_in *in, struct nfs3_wcc *wcc);
/* nfs_fh3 */
void nfs3_result_in_fh(struct xdr_in *in, struct nfs3_fh *fh);
/* Room for `max_bytes` of results, and a cursor on it; NULL when memory is short. */
struct buf *nfs3_result_new(struct xdr_out *out, size_t max_bytes);
/* Sets the length to what was written, which must have fitted; returns `results`. */
struct buf *nfs3_result_finish(struct buf *results, const struct xdr_out *out);

#endif
