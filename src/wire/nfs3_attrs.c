/*
 * Walks over the results of every procedure and stops at each post_op_attr and wcc_data.
 *
 * The hard case is taking something out of bytes that are still being read: a first walk
 * only asks, so that nothing is touched in results that do not decode, and a second one
 * closes the gaps from front to back; what it writes lies behind what it has read.
 *
 *   read    [status][1][attributes][0][rest]
 *   written [status][0][0][rest]
 *
 * Not promised: that the attributes make sense, or that names in a directory do.
 */
#include "wire/nfs3_attrs.h"

#include <errno.h>
#include <string.h>

#include "wire/nfs3_result_private.h"
#include "wire/nfs_proc.h"

struct attrs_walk {
	const struct nfs_call *call;
	struct xdr_in in;
	nfs3_attrs_keep *keep;
	void *arg;
	bool removes;	     /* second walk */
	bool found;	     /* something is to be taken out */
	uint8_t *to;	     /* second walk: where the next kept bytes go ... */
	const uint8_t *from; /* ... and where they begin */
};

/* Takes [start, in.at) out and puts `absent` words of "not here" in its place. */
static void attrs_take_out(struct attrs_walk *walk, const uint8_t *start,
			   unsigned int absent)
{
	size_t kept_bytes = (size_t)(start - walk->from);

	walk->found = true;
	if (!walk->removes)
		return;
	memmove(walk->to, walk->from, kept_bytes);
	walk->to += kept_bytes;
	memset(walk->to, 0, (size_t)absent * 4);
	walk->to += (size_t)absent * 4;
	walk->from = walk->in.at;
}

static bool attrs_stay(struct attrs_walk *walk, const struct nfs3_attrs *attrs)
{
	return !xdr_in_ok(&walk->in) ||
	       (!attrs->wcc.has_before && !attrs->wcc.has_after) ||
	       walk->keep(walk->arg, attrs);
}

static void attrs_post_op(struct attrs_walk *walk, enum nfs3_attrs_role role,
			  const struct nfs3_fh *fh)
{
	const uint8_t *start = walk->in.at;
	struct nfs3_attrs attrs = { .role = role, .fh = fh };

	nfs3_result_in_post_op_attr(&walk->in, &attrs.wcc);
	if (!attrs_stay(walk, &attrs))
		attrs_take_out(walk, start, 1);
}

static void attrs_wcc(struct attrs_walk *walk, enum nfs3_attrs_role role,
		      const struct nfs3_fh *fh)
{
	const uint8_t *start = walk->in.at;
	struct nfs3_attrs attrs = { .role = role, .fh = fh };

	nfs3_result_in_wcc(&walk->in, &attrs.wcc);
	if (!attrs_stay(walk, &attrs))
		attrs_take_out(walk, start, 2);
}

static const struct nfs3_fh *attrs_call_fh(const struct attrs_walk *walk)
{
	return nfs_call_fh(walk->call);
}

static void attrs_lookup(struct attrs_walk *walk, bool ok)
{
	struct nfs3_fh fh;

	if (ok) {
		nfs3_result_in_fh(&walk->in, &fh);
		attrs_post_op(walk, NFS3_ATTRS_OF_FOUND, &fh);
	}
	attrs_post_op(walk, NFS3_ATTRS_OF_DIR, attrs_call_fh(walk));
}

/* CREATE, MKDIR, SYMLINK, MKNOD */
static void attrs_make(struct attrs_walk *walk, bool ok)
{
	struct nfs3_fh fh;
	bool has_fh;

	if (ok) {
		has_fh = xdr_in_bool(&walk->in);
		if (has_fh)
			nfs3_result_in_fh(&walk->in, &fh);
		attrs_post_op(walk, NFS3_ATTRS_OF_FOUND, has_fh ? &fh : NULL);
	}
	attrs_wcc(walk, NFS3_ATTRS_OF_DIR, attrs_call_fh(walk));
}

/* Entries tell attributes before the handle they belong to. */
static void attrs_entry(struct attrs_walk *walk)
{
	struct xdr_in *in = &walk->in;
	struct nfs3_attrs attrs = { .role = NFS3_ATTRS_OF_ENTRY };
	const uint8_t *start;
	const uint8_t *end;
	struct nfs3_fh fh;

	(void)xdr_in_u64(in); /* fileid */
	(void)xdr_in_bytes(in, UINT32_MAX);
	(void)xdr_in_u64(in); /* cookie */
	start = in->at;
	nfs3_result_in_post_op_attr(in, &attrs.wcc);
	end = in->at;
	if (xdr_in_bool(in)) {
		nfs3_result_in_fh(in, &fh);
		attrs.fh = &fh;
	}
	if (!attrs_stay(walk, &attrs)) {
		const uint8_t *at = in->at;

		in->at = end;
		attrs_take_out(walk, start, 1);
		in->at = at;
	}
}

static void attrs_readdirplus(struct attrs_walk *walk, bool ok)
{
	struct xdr_in *in = &walk->in;

	attrs_post_op(walk, NFS3_ATTRS_OF_CALL, attrs_call_fh(walk));
	if (!ok)
		return;
	(void)xdr_in_fixed(in, NFS3_COOKIEVERFSIZE);
	while (xdr_in_bool(in))
		attrs_entry(walk);
	(void)xdr_in_bool(in); /* eof */
}

/* post_op_attr, then things of no interest here */
static void attrs_call_first(struct attrs_walk *walk)
{
	attrs_post_op(walk, NFS3_ATTRS_OF_CALL, attrs_call_fh(walk));
}

static void attrs_skip_rest(struct attrs_walk *walk)
{
	(void)xdr_in_fixed(&walk->in, (uint32_t)xdr_in_left_bytes(&walk->in));
}

static void attrs_nfs3(struct attrs_walk *walk, bool ok)
{
	const struct nfs_call *call = walk->call;

	switch ((enum nfs3_proc)call->proc) {
	case NFS3_PROC_NULL:
	case NFS3_PROC_GETATTR:
		attrs_skip_rest(walk);
		return;
	case NFS3_PROC_LOOKUP:
		attrs_lookup(walk, ok);
		return;
	case NFS3_PROC_ACCESS:
	case NFS3_PROC_READLINK:
	case NFS3_PROC_READ:
	case NFS3_PROC_READDIR:
	case NFS3_PROC_FSSTAT:
	case NFS3_PROC_FSINFO:
	case NFS3_PROC_PATHCONF:
		attrs_call_first(walk);
		if (ok)
			attrs_skip_rest(walk);
		return;
	case NFS3_PROC_SETATTR:
	case NFS3_PROC_WRITE:
	case NFS3_PROC_COMMIT:
		attrs_wcc(walk, NFS3_ATTRS_OF_CALL, attrs_call_fh(walk));
		if (ok)
			attrs_skip_rest(walk);
		return;
	case NFS3_PROC_CREATE:
	case NFS3_PROC_MKDIR:
	case NFS3_PROC_SYMLINK:
	case NFS3_PROC_MKNOD:
		attrs_make(walk, ok);
		return;
	case NFS3_PROC_REMOVE:
	case NFS3_PROC_RMDIR:
		attrs_wcc(walk, NFS3_ATTRS_OF_DIR, attrs_call_fh(walk));
		return;
	case NFS3_PROC_RENAME:
		attrs_wcc(walk, NFS3_ATTRS_OF_DIR, &call->args.rename.from.dir);
		attrs_wcc(walk, NFS3_ATTRS_OF_DIR, &call->args.rename.to.dir);
		return;
	case NFS3_PROC_LINK:
		attrs_call_first(walk);
		attrs_wcc(walk, NFS3_ATTRS_OF_DIR, &call->args.link.to.dir);
		return;
	case NFS3_PROC_READDIRPLUS:
		attrs_readdirplus(walk, ok);
		return;
	}
	xdr_in_reject(&walk->in);
}

/* Some servers tell nothing after the status of a failure (nfs_proc.h). */
static void attrs_nfsacl(struct attrs_walk *walk, bool ok)
{
	if (walk->call->proc == NFSACL_PROC_NULL)
		return;
	if (ok || xdr_in_left_bytes(&walk->in) > 0)
		attrs_call_first(walk);
	if (ok)
		attrs_skip_rest(walk);
}

/* False: the results do not decode. */
static bool attrs_walk_over(struct attrs_walk *walk, const struct buf *results)
{
	bool has_status = walk->call->proc != 0; /* NULL, of either program */
	bool ok;

	nfs3_result_in_init(&walk->in, results);
	ok = !has_status || xdr_in_u32(&walk->in) == NFS3_OK;
	if (walk->call->program == PROGRAM_NFS)
		attrs_nfs3(walk, ok);
	else if (walk->call->program == PROGRAM_NFSACL)
		attrs_nfsacl(walk, ok);
	else
		xdr_in_reject(&walk->in);
	return xdr_in_ok(&walk->in) && xdr_in_left_bytes(&walk->in) == 0;
}

int nfs3_attrs_filter(const struct nfs_call *call, struct buf *results,
		      nfs3_attrs_keep *keep, void *arg)
{
	struct attrs_walk walk = { .call = call, .keep = keep, .arg = arg };

	if (!attrs_walk_over(&walk, results))
		return -EBADMSG;
	if (!walk.found)
		return 0;
	walk.removes = true;
	walk.to = buf_start(results);
	walk.from = walk.to;
	/* It reads what the first walk read: bytes ahead of `from` are untouched. */
	(void)attrs_walk_over(&walk, results);
	attrs_take_out(&walk, walk.in.at, 0);
	results->len_bytes = (size_t)(walk.to - buf_start(results));
	return 0;
}
