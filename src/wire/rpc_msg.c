/*
 * RPC call headers in, reply headers out.
 *
 * The hard case is telling a caller that can be answered from one that cannot: as soon
 * as xid, "this is a call" and the RPC version are known, a fault has a name that the
 * caller understands; a header that ends early has none.
 *
 * Not promised: that a program or procedure exists (nfs_proc.h) or that a credential
 * tells the truth.
 */
#include "wire/rpc_msg.h"

#include <errno.h>
#include <string.h>

#include "wire/xdr.h"

enum rpc_msg_type {
	RPC_MSG_CALL = 0,
	RPC_MSG_REPLY = 1,
};

enum rpc_reply_stat {
	RPC_REPLY_ACCEPTED = 0,
	RPC_REPLY_DENIED = 1,
};

enum rpc_reject_stat {
	RPC_REJECT_RPC_MISMATCH = 0,
	RPC_REJECT_AUTH_ERROR = 1,
};

enum {
	RPC_VERSION = 2,
	RPC_FRAGMENT_MAX_BYTES = 0x7fffffff, /* longest fragment */
};

#define RPC_RECORD_MARK_LAST ((uint32_t)1 << 31)

int rpc_cred_decode_sys(struct rpc_cred *cred, const uint8_t *body, uint32_t len_bytes)
{
	struct xdr_in in;
	struct nfs3_bytes name;

	*cred = (struct rpc_cred){ .flavor = RPC_AUTH_SYS };
	if (len_bytes > RPC_AUTH_BODY_MAX_BYTES)
		return -EBADMSG;
	xdr_in_init(&in, body, len_bytes);
	cred->stamp = xdr_in_u32(&in);
	name = xdr_in_bytes(&in, RPC_MACHINE_NAME_MAX_BYTES);
	cred->uid = xdr_in_u32(&in);
	cred->gid = xdr_in_u32(&in);
	cred->gid_count = xdr_in_u32(&in);
	if (cred->gid_count > RPC_AUTH_SYS_GIDS_MAX)
		goto bad;
	for (uint32_t i = 0; i < cred->gid_count; i++)
		cred->gids[i] = xdr_in_u32(&in);
	if (!xdr_in_ok(&in) || xdr_in_left_bytes(&in) != 0)
		goto bad;
	cred->machine_name_len = name.len;
	memcpy(cred->machine_name, name.data, name.len);
	cred->body_len = len_bytes;
	memcpy(cred->body, body, len_bytes);
	return 0;
bad:
	*cred = (struct rpc_cred){ .flavor = RPC_AUTH_SYS };
	return -EBADMSG;
}

void rpc_cred_encode(struct rpc_cred *cred)
{
	struct xdr_out out;

	if (cred->flavor != RPC_AUTH_SYS) {
		cred->body_len = 0;
		return;
	}
	INVARIANT(cred->machine_name_len <= RPC_MACHINE_NAME_MAX_BYTES);
	INVARIANT(cred->gid_count <= RPC_AUTH_SYS_GIDS_MAX);
	xdr_out_init(&out, cred->body, sizeof(cred->body));
	xdr_out_u32(&out, cred->stamp);
	xdr_out_bytes(&out, cred->machine_name, cred->machine_name_len);
	xdr_out_u32(&out, cred->uid);
	xdr_out_u32(&out, cred->gid);
	xdr_out_u32(&out, cred->gid_count);
	for (uint32_t i = 0; i < cred->gid_count; i++)
		xdr_out_u32(&out, cred->gids[i]);
	INVARIANT(xdr_out_ok(&out));
	cred->body_len = (uint32_t)xdr_out_len_bytes(&out);
}

/* `body` lies whole in the record and is not too long. */
static enum rpc_auth_error rpc_cred_decode(struct rpc_cred *cred, uint32_t flavor,
					   struct nfs3_bytes body)
{
	if (flavor == RPC_AUTH_SYS) {
		if (rpc_cred_decode_sys(cred, body.data, body.len) != 0)
			return RPC_AUTH_BADCRED;
		return RPC_AUTH_OK;
	}
	if (flavor != RPC_AUTH_NONE)
		return RPC_AUTH_REJECTEDCRED;
	cred->flavor = RPC_AUTH_NONE;
	cred->body_len = body.len;
	memcpy(cred->body, body.data, body.len);
	return RPC_AUTH_OK;
}

static enum rpc_decode rpc_header_bad_auth(struct rpc_header *header,
					   enum rpc_auth_error error)
{
	header->auth_error = error;
	return RPC_DECODE_BAD_AUTH;
}

/* Credential and verifier; the cursor ends where the arguments start. */
static enum rpc_decode rpc_header_decode_auth(struct rpc_header *header,
					      struct xdr_in *in)
{
	uint32_t flavor = xdr_in_u32(in);
	uint32_t cred_len_bytes = xdr_in_u32(in);
	struct nfs3_bytes cred = { .len = cred_len_bytes };
	enum rpc_auth_error error;

	if (cred_len_bytes > RPC_AUTH_BODY_MAX_BYTES)
		return rpc_header_bad_auth(header, RPC_AUTH_BADCRED);
	cred.data = xdr_in_fixed(in, cred_len_bytes);
	(void)xdr_in_u32(in); /* the flavor of the verifier means nothing to us */
	uint32_t verifier_len_bytes = xdr_in_u32(in);
	if (verifier_len_bytes > RPC_AUTH_BODY_MAX_BYTES)
		return rpc_header_bad_auth(header, RPC_AUTH_BADVERF);
	(void)xdr_in_fixed(in, verifier_len_bytes);
	if (!xdr_in_ok(in))
		return RPC_DECODE_NOT_A_CALL;
	error = rpc_cred_decode(&header->cred, flavor, cred);
	if (error != RPC_AUTH_OK)
		return rpc_header_bad_auth(header, error);
	return RPC_DECODE_OK;
}

enum rpc_decode rpc_header_decode(struct rpc_header *header, const uint8_t *bytes,
				  size_t len_bytes, size_t *args_off)
{
	struct xdr_in in;
	uint32_t msg_type;
	uint32_t rpc_version;
	enum rpc_decode decode;

	*header = (struct rpc_header){ 0 };
	*args_off = 0;
	xdr_in_init(&in, bytes, len_bytes);
	header->xid = xdr_in_u32(&in);
	msg_type = xdr_in_u32(&in);
	rpc_version = xdr_in_u32(&in);
	if (!xdr_in_ok(&in) || msg_type != RPC_MSG_CALL)
		return RPC_DECODE_NOT_A_CALL;
	if (rpc_version != RPC_VERSION)
		return RPC_DECODE_RPC_MISMATCH;
	header->program = xdr_in_u32(&in);
	header->version = xdr_in_u32(&in);
	header->proc = xdr_in_u32(&in);
	decode = rpc_header_decode_auth(header, &in);
	if (decode == RPC_DECODE_OK)
		*args_off = len_bytes - xdr_in_left_bytes(&in);
	return decode;
}

/* Record mark, and what all replies begin with. `len_bytes` is without the mark. */
static void rpc_reply_begin(struct xdr_out *out, size_t len_bytes, uint32_t xid,
			    enum rpc_reply_stat stat)
{
	INVARIANT(len_bytes <= RPC_FRAGMENT_MAX_BYTES);
	xdr_out_u32(out, RPC_RECORD_MARK_LAST | (uint32_t)len_bytes);
	xdr_out_u32(out, xid);
	xdr_out_u32(out, RPC_MSG_REPLY);
	xdr_out_u32(out, stat);
}

static void rpc_reply_accepted(struct xdr_out *out, enum rpc_accept accept)
{
	xdr_out_u32(out, RPC_AUTH_NONE); /* verifier */
	xdr_out_u32(out, 0);
	xdr_out_u32(out, accept);
}

void rpc_reply_prepend(struct buf *reply, uint32_t xid)
{
	const size_t header_bytes = RPC_RECORD_MARK_BYTES + RPC_REPLY_HEADER_BYTES;
	struct xdr_out out;

	INVARIANT(reply->off_bytes >= header_bytes);
	reply->off_bytes -= header_bytes;
	reply->len_bytes += header_bytes;
	xdr_out_init(&out, buf_start(reply), header_bytes);
	rpc_reply_begin(&out, reply->len_bytes - RPC_RECORD_MARK_BYTES, xid,
			RPC_REPLY_ACCEPTED);
	rpc_reply_accepted(&out, RPC_ACCEPT_SUCCESS);
	INVARIANT(xdr_out_ok(&out) && xdr_out_len_bytes(&out) == header_bytes);
}

/* A reply of `len_bytes` after the mark, begun; NULL when memory is short. */
static struct buf *rpc_reply_new(struct xdr_out *out, size_t len_bytes, uint32_t xid,
				 enum rpc_reply_stat stat)
{
	struct buf *reply = buf_new(RPC_RECORD_MARK_BYTES + len_bytes);

	if (reply == NULL)
		return NULL;
	reply->len_bytes = RPC_RECORD_MARK_BYTES + len_bytes;
	xdr_out_init(out, buf_start(reply), reply->len_bytes);
	rpc_reply_begin(out, len_bytes, xid, stat);
	return reply;
}

struct buf *rpc_reply_accept_error(uint32_t xid, enum rpc_accept accept)
{
	struct xdr_out out;
	struct buf *reply =
		rpc_reply_new(&out, RPC_REPLY_HEADER_BYTES, xid, RPC_REPLY_ACCEPTED);

	INVARIANT(accept != RPC_ACCEPT_SUCCESS && accept != RPC_ACCEPT_PROG_MISMATCH);
	if (reply != NULL)
		rpc_reply_accepted(&out, accept);
	return reply;
}

struct buf *rpc_reply_prog_mismatch(uint32_t xid, uint32_t low, uint32_t high)
{
	struct xdr_out out;
	struct buf *reply = rpc_reply_new(&out, RPC_REPLY_HEADER_BYTES + 8, xid,
					  RPC_REPLY_ACCEPTED);

	if (reply == NULL)
		return NULL;
	rpc_reply_accepted(&out, RPC_ACCEPT_PROG_MISMATCH);
	xdr_out_u32(&out, low);
	xdr_out_u32(&out, high);
	return reply;
}

struct buf *rpc_reply_rpc_mismatch(uint32_t xid)
{
	struct xdr_out out;
	struct buf *reply = rpc_reply_new(&out, 24, xid, RPC_REPLY_DENIED);

	if (reply == NULL)
		return NULL;
	xdr_out_u32(&out, RPC_REJECT_RPC_MISMATCH);
	xdr_out_u32(&out, RPC_VERSION);
	xdr_out_u32(&out, RPC_VERSION);
	return reply;
}

struct buf *rpc_reply_auth_error(uint32_t xid, enum rpc_auth_error error)
{
	struct xdr_out out;
	struct buf *reply = rpc_reply_new(&out, 20, xid, RPC_REPLY_DENIED);

	INVARIANT(error != RPC_AUTH_OK);
	if (reply == NULL)
		return NULL;
	xdr_out_u32(&out, RPC_REJECT_AUTH_ERROR);
	xdr_out_u32(&out, error);
	return reply;
}
