/*
 * RPC headers and credentials against libtirpc, an implementation that shares nothing
 * with ours: it makes the calls we read and reads the replies we make.
 *
 * Not reached: a reply that memory is too short for.
 */
#include <errno.h>
#include <rpc/rpc.h>
#include <rpc/rpc_msg.h>

#include "unit.h"
#include "wire/rpc_msg.h"
#include "wire_bytes.h"

enum { ARGS_MARK = 0x5a5a5a5a };

static struct wire_bytes bytes;
static char name_255[256];

static void fill_name(void)
{
	memset(name_255, 'n', 255);
}

/* A call with this credential and verifier, as libtirpc writes it; then ARGS_MARK. */
static void make_call(struct opaque_auth cred, struct opaque_auth verifier)
{
	struct rpc_msg msg = {
		.rm_xid = 0x12345678,
		.rm_direction = CALL,
		.rm_call = { .cb_rpcvers = RPC_MSG_VERSION,
			     .cb_prog = 100003,
			     .cb_vers = 3,
			     .cb_proc = 7,
			     .cb_cred = cred,
			     .cb_verf = verifier },
	};
	XDR xdrs;

	xdrmem_create(&xdrs, (char *)bytes.data, sizeof(bytes.data), XDR_ENCODE);
	ck_assert(xdr_callmsg(&xdrs, &msg));
	bytes.len = xdr_getpos(&xdrs);
	wire_put_u32(&bytes, ARGS_MARK);
}

/* An AUTH_SYS body as libtirpc writes it. */
static struct opaque_auth make_sys(char *body, char *name, u_int gid_count)
{
	gid_t gids[NGRPS];
	struct authunix_parms parms = {
		.aup_time = 0xfedcba98,
		.aup_machname = name,
		.aup_uid = 1000,
		.aup_gid = 0xfffffffe,
		.aup_len = gid_count,
		.aup_gids = gids,
	};
	XDR xdrs;

	for (u_int i = 0; i < NGRPS; i++)
		gids[i] = 5000 + i;
	xdrmem_create(&xdrs, body, MAX_AUTH_BYTES, XDR_ENCODE);
	ck_assert(xdr_authunix_parms(&xdrs, &parms));
	return (struct opaque_auth){ .oa_flavor = AUTH_SYS,
				     .oa_base = body,
				     .oa_length = xdr_getpos(&xdrs) };
}

static enum rpc_decode decode(struct rpc_header *header, size_t *args_off)
{
	uint8_t *exact = wire_exact(&bytes, bytes.len);
	enum rpc_decode result = rpc_header_decode(header, exact, bytes.len, args_off);

	free(exact);
	return result;
}

static void expect_auth_error(enum rpc_auth_error error)
{
	struct rpc_header header;
	size_t args_off;

	ck_assert_int_eq(decode(&header, &args_off), RPC_DECODE_BAD_AUTH);
	ck_assert_int_eq(header.auth_error, error);
	ck_assert_uint_eq(header.xid, 0x12345678);
	ck_assert_uint_eq(args_off, 0);
}

/* Groups 0..16 (_i) with machine names of every length mod 4 and at both ends. */
START_TEST(reads_auth_sys)
{
	static const size_t name_lens[] = { 0, 1, 2, 3, 4, 254, 255 };

	fill_name();
	for (size_t n = 0; n < sizeof(name_lens) / sizeof(name_lens[0]); n++) {
		char body[MAX_AUTH_BYTES];
		char *name = name_255 + 255 - name_lens[n];
		struct opaque_auth auth = make_sys(body, name, (u_int)_i);
		struct rpc_header header;
		struct rpc_cred again;
		size_t args_off;

		make_call(auth, _null_auth);
		ck_assert_int_eq(decode(&header, &args_off), RPC_DECODE_OK);
		ck_assert_uint_eq(args_off, bytes.len - 4);
		ck_assert_uint_eq(header.xid, 0x12345678);
		ck_assert_uint_eq(header.program, 100003);
		ck_assert_uint_eq(header.version, 3);
		ck_assert_uint_eq(header.proc, 7);
		ck_assert_int_eq(header.cred.flavor, RPC_AUTH_SYS);
		ck_assert_uint_eq(header.cred.stamp, 0xfedcba98);
		ck_assert_uint_eq(header.cred.machine_name_len, name_lens[n]);
		ck_assert_str_eq(header.cred.machine_name, name);
		ck_assert_uint_eq(header.cred.uid, 1000);
		ck_assert_uint_eq(header.cred.gid, 0xfffffffe);
		ck_assert_uint_eq(header.cred.gid_count, (u_int)_i);
		for (u_int i = 0; i < (u_int)_i; i++)
			ck_assert_uint_eq(header.cred.gids[i], 5000 + i);
		ck_assert_uint_eq(header.cred.body_len, auth.oa_length);
		ck_assert_mem_eq(header.cred.body, body, auth.oa_length);

		/* Made anew from its fields, the body is the same. */
		again = header.cred;
		memset(again.body, 0xaa, sizeof(again.body));
		again.body_len = 0;
		rpc_cred_encode(&again);
		ck_assert_uint_eq(again.body_len, auth.oa_length);
		ck_assert_mem_eq(again.body, body, auth.oa_length);
	}
}
END_TEST

START_TEST(changed_ids_are_encoded)
{
	char body[MAX_AUTH_BYTES];
	char name[] = "client";
	struct opaque_auth auth = make_sys(body, name, 2);
	struct rpc_cred cred;
	struct rpc_cred again;

	ck_assert_int_eq(rpc_cred_decode_sys(&cred, (uint8_t *)body, auth.oa_length),
			 0);
	cred.uid = 65534;
	cred.gid_count = 0;
	rpc_cred_encode(&cred);
	ck_assert_int_eq(rpc_cred_decode_sys(&again, cred.body, cred.body_len), 0);
	ck_assert_uint_eq(again.uid, 65534);
	ck_assert_uint_eq(again.gid, 0xfffffffe);
	ck_assert_uint_eq(again.gid_count, 0);
	ck_assert_str_eq(again.machine_name, name);
	ck_assert_uint_eq(cred.body_len, auth.oa_length - 8);
}
END_TEST

START_TEST(auth_sys_body_is_exact)
{
	char body[MAX_AUTH_BYTES] = { 0 };
	char name[] = "host";
	struct opaque_auth auth = make_sys(body, name, 3);
	struct rpc_cred cred;

	for (u_int len = 0; len < auth.oa_length; len++) {
		uint8_t *exact = malloc(len + 1);

		memcpy(exact, body, len);
		ck_assert_int_eq(rpc_cred_decode_sys(&cred, exact, len), -EBADMSG);
		ck_assert_uint_eq(cred.uid, 0);
		ck_assert_uint_eq(cred.gid_count, 0);
		ck_assert_uint_eq(cred.body_len, 0);
		free(exact);
	}
	for (u_int more = 1; more <= 4; more++)
		ck_assert_int_eq(rpc_cred_decode_sys(&cred, (uint8_t *)body,
						     auth.oa_length + more),
				 -EBADMSG);
	ck_assert_int_eq(rpc_cred_decode_sys(&cred, NULL, 0), -EBADMSG);

	auth.oa_length += 4;
	make_call(auth, _null_auth);
	expect_auth_error(RPC_AUTH_BADCRED);
}
END_TEST

/* A body made by hand: libtirpc refuses to write these. */
static void put_sys_body(struct wire_bytes *body, uint32_t name_len, uint32_t gid_count)
{
	body->len = 0;
	wire_put_u32(body, 1);
	wire_put_opaque(body, 'h', name_len);
	wire_put_u32(body, 2);
	wire_put_u32(body, 3);
	wire_put_u32(body, gid_count);
	for (uint32_t i = 0; i < gid_count && i < 17; i++)
		wire_put_u32(body, i);
}

START_TEST(auth_sys_limits)
{
	static struct wire_bytes body;
	static const uint32_t bad_counts[] = { 17, 18, 0x40000000, 0xffffffff };
	struct rpc_cred cred;

	put_sys_body(&body, 255, 16);
	ck_assert_int_eq(rpc_cred_decode_sys(&cred, body.data, (uint32_t)body.len), 0);
	put_sys_body(&body, 256, 0);
	ck_assert_int_eq(rpc_cred_decode_sys(&cred, body.data, (uint32_t)body.len),
			 -EBADMSG);
	for (size_t i = 0; i < sizeof(bad_counts) / sizeof(bad_counts[0]); i++) {
		put_sys_body(&body, 4, bad_counts[i]);
		ck_assert_int_eq(rpc_cred_decode_sys(&cred, body.data,
						     (uint32_t)body.len),
				 -EBADMSG);
		ck_assert_uint_eq(cred.gid_count, 0);
		make_call((struct opaque_auth){ .oa_flavor = AUTH_SYS,
						.oa_base = (char *)body.data,
						.oa_length = (u_int)body.len },
			  _null_auth);
		expect_auth_error(RPC_AUTH_BADCRED);
	}
	ck_assert_int_eq(rpc_cred_decode_sys(&cred, body.data, 401), -EBADMSG);
}
END_TEST

START_TEST(reads_auth_none)
{
	char body[MAX_AUTH_BYTES];
	struct opaque_auth auth = { .oa_flavor = AUTH_NONE,
				    .oa_base = body,
				    .oa_length = (u_int)_i };
	struct rpc_header header;
	size_t args_off;

	memset(body, 0xb0, sizeof(body));
	make_call(auth, _null_auth);
	ck_assert_int_eq(decode(&header, &args_off), RPC_DECODE_OK);
	ck_assert_int_eq(header.cred.flavor, RPC_AUTH_NONE);
	ck_assert_uint_eq(header.cred.body_len, (u_int)_i);
	ck_assert_mem_eq(header.cred.body, body, (u_int)_i);
	ck_assert_uint_eq(header.cred.uid, 0);
	ck_assert_uint_eq(header.cred.machine_name_len, 0);
	rpc_cred_encode(&header.cred);
	ck_assert_uint_eq(header.cred.body_len, 0);
}
END_TEST

START_TEST(other_flavors_are_rejected)
{
	static const enum_t flavors[] = { AUTH_SHORT, AUTH_DES, RPCSEC_GSS, 300000,
					  -1 };
	char body[16] = { 0 };

	make_call((struct opaque_auth){ .oa_flavor = flavors[_i],
					.oa_base = body,
					.oa_length = sizeof(body) },
		  _null_auth);
	expect_auth_error(RPC_AUTH_REJECTEDCRED);
}
END_TEST

/* Any flavor of verifier, 0 to 400 bytes of it. */
START_TEST(verifiers_are_skipped)
{
	char body[MAX_AUTH_BYTES] = { 0 };

	for (u_int len = 0; len <= MAX_AUTH_BYTES; len++) {
		struct opaque_auth verifier = { .oa_flavor = 77,
						.oa_base = body,
						.oa_length = len };
		struct rpc_header header;
		size_t args_off;

		make_call(_null_auth, verifier);
		ck_assert_int_eq(decode(&header, &args_off), RPC_DECODE_OK);
		ck_assert_uint_eq(args_off, bytes.len - 4);
	}
}
END_TEST

/* Credential of `cred_len`, verifier of `verifier_len` bytes, both zeros, AUTH_NONE. */
static void put_call_by_hand(uint32_t cred_len, uint32_t verifier_len)
{
	bytes.len = 0;
	wire_put_u32(&bytes, 0x12345678);
	wire_put_u32(&bytes, 0);
	wire_put_u32(&bytes, 2);
	wire_put_u32(&bytes, 100003);
	wire_put_u32(&bytes, 3);
	wire_put_u32(&bytes, 0);
	wire_put_u32(&bytes, 0);
	wire_put_u32(&bytes, cred_len);
	wire_put_fill(&bytes, 0, cred_len < 500 ? cred_len : 0, 0);
	wire_put_u32(&bytes, 0);
	wire_put_u32(&bytes, verifier_len);
	wire_put_fill(&bytes, 0, verifier_len < 500 ? verifier_len : 0, 0);
}

START_TEST(long_bodies_are_bad)
{
	static const uint32_t lens[] = { 401,	     404,	 0x7fffffff,
					 0x80000000, 0xfffffffd, 0xffffffff };

	put_call_by_hand(lens[_i], 0);
	expect_auth_error(RPC_AUTH_BADCRED);
	put_call_by_hand(0, lens[_i]);
	expect_auth_error(RPC_AUTH_BADVERF);
	put_call_by_hand(400, lens[_i]);
	expect_auth_error(RPC_AUTH_BADVERF);
}
END_TEST

START_TEST(cut_off_header_is_no_call)
{
	char body[MAX_AUTH_BYTES];
	char name[] = "client-7";
	char verifier_body[5] = { 0 };
	struct opaque_auth verifier = { .oa_flavor = 6,
					.oa_base = verifier_body,
					.oa_length = 5 };
	struct rpc_header header;
	size_t args_off;

	make_call(make_sys(body, name, 3), verifier);
	for (size_t len = 0; len < bytes.len - 4; len++) {
		uint8_t *exact = wire_exact(&bytes, len);

		ck_assert_int_eq(rpc_header_decode(&header, exact, len, &args_off),
				 RPC_DECODE_NOT_A_CALL);
		ck_assert_uint_eq(args_off, 0);
		free(exact);
	}
}
END_TEST

START_TEST(reply_is_no_call)
{
	struct rpc_header header;
	size_t args_off;

	put_call_by_hand(0, 0);
	bytes.data[7] = (uint8_t)(_i == 0 ? 1 : 2);
	ck_assert_int_eq(decode(&header, &args_off), RPC_DECODE_NOT_A_CALL);
}
END_TEST

START_TEST(other_rpc_version_is_a_mismatch)
{
	struct rpc_header header;
	size_t args_off;

	put_call_by_hand(0xffffffff, 0); /* what follows the version is not looked at */
	bytes.data[11] = (uint8_t)(_i == 0 ? 1 : 3);
	ck_assert_int_eq(decode(&header, &args_off), RPC_DECODE_RPC_MISMATCH);
	ck_assert_uint_eq(header.xid, 0x12345678);
}
END_TEST

static uint32_t word_at(const struct buf *buf, size_t off)
{
	const uint8_t *p = buf->data + buf->off_bytes + off;

	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool_t no_results(XDR *xdrs, ...)
{
	(void)xdrs;
	return TRUE;
}

/* The reply is, mark and all, what libtirpc writes for `msg`. */
static void expect_reply(struct buf *reply, struct rpc_msg *msg)
{
	char theirs[256];
	struct rpc_msg read = { .rm_reply.rp_acpt.ar_results = { .proc = no_results } };
	XDR xdrs;

	ck_assert_ptr_nonnull(reply);
	ck_assert_uint_eq(word_at(reply, 0), 0x80000000 | (reply->len_bytes - 4));
	msg->rm_xid = 0xcafe0001;
	msg->rm_direction = REPLY;
	xdrmem_create(&xdrs, theirs, sizeof(theirs), XDR_ENCODE);
	ck_assert(xdr_replymsg(&xdrs, msg));
	ck_assert_uint_eq(reply->len_bytes, 4 + xdr_getpos(&xdrs));
	ck_assert_mem_eq(buf_start(reply) + 4, theirs, xdr_getpos(&xdrs));

	xdrmem_create(&xdrs, (char *)buf_start(reply) + 4, (u_int)reply->len_bytes - 4,
		      XDR_DECODE);
	ck_assert(xdr_replymsg(&xdrs, &read));
	ck_assert_uint_eq(read.rm_xid, 0xcafe0001);
	ck_assert_int_eq(read.rm_reply.rp_stat, msg->rm_reply.rp_stat);
	buf_unref(reply);
	ck_assert_uint_eq(buf_total_bytes(), 0);
}

START_TEST(accept_errors)
{
	static const enum rpc_accept accepts[] = { RPC_ACCEPT_PROG_UNAVAIL,
						   RPC_ACCEPT_PROC_UNAVAIL,
						   RPC_ACCEPT_GARBAGE_ARGS,
						   RPC_ACCEPT_SYSTEM_ERR };
	static const enum accept_stat theirs[] = { PROG_UNAVAIL, PROC_UNAVAIL,
						   GARBAGE_ARGS, SYSTEM_ERR };
	struct rpc_msg msg = { .rm_reply.rp_stat = MSG_ACCEPTED };

	msg.rm_reply.rp_acpt.ar_verf = _null_auth;
	msg.rm_reply.rp_acpt.ar_stat = theirs[_i];
	expect_reply(rpc_reply_accept_error(0xcafe0001, accepts[_i]), &msg);
}
END_TEST

START_TEST(program_mismatch)
{
	struct rpc_msg msg = { .rm_reply.rp_stat = MSG_ACCEPTED };

	msg.rm_reply.rp_acpt.ar_verf = _null_auth;
	msg.rm_reply.rp_acpt.ar_stat = PROG_MISMATCH;
	msg.rm_reply.rp_acpt.ar_vers.low = 1;
	msg.rm_reply.rp_acpt.ar_vers.high = 3;
	expect_reply(rpc_reply_prog_mismatch(0xcafe0001, 1, 3), &msg);
}
END_TEST

START_TEST(rpc_mismatch)
{
	struct rpc_msg msg = { .rm_reply.rp_stat = MSG_DENIED };

	msg.rm_reply.rp_rjct.rj_stat = RPC_MISMATCH;
	msg.rm_reply.rp_rjct.rj_vers.low = 2;
	msg.rm_reply.rp_rjct.rj_vers.high = 2;
	expect_reply(rpc_reply_rpc_mismatch(0xcafe0001), &msg);
}
END_TEST

START_TEST(auth_errors)
{
	struct rpc_msg msg = { .rm_reply.rp_stat = MSG_DENIED };

	msg.rm_reply.rp_rjct.rj_stat = AUTH_ERROR;
	msg.rm_reply.rp_rjct.rj_why = (enum auth_stat)_i;
	expect_reply(rpc_reply_auth_error(0xcafe0001, (enum rpc_auth_error)_i), &msg);
}
END_TEST

START_TEST(results_get_their_header)
{
	struct buf *reply = buf_new(32 + 8);
	char results[] = "8 bytes.";
	struct rpc_msg msg = { .rm_reply.rp_stat = MSG_ACCEPTED };
	XDR xdrs;
	char theirs[64];

	reply->off_bytes = 32;
	reply->len_bytes = 8;
	memcpy(buf_start(reply), results, 8);
	rpc_reply_prepend(reply, 0xcafe0001);
	ck_assert_uint_eq(reply->off_bytes, 4);
	ck_assert_uint_eq(reply->len_bytes, 36);

	msg.rm_xid = 0xcafe0001;
	msg.rm_direction = REPLY;
	msg.rm_reply.rp_acpt.ar_verf = _null_auth;
	msg.rm_reply.rp_acpt.ar_stat = SUCCESS;
	msg.rm_reply.rp_acpt.ar_results.proc = no_results;
	xdrmem_create(&xdrs, theirs, sizeof(theirs), XDR_ENCODE);
	ck_assert(xdr_replymsg(&xdrs, &msg));
	ck_assert_uint_eq(xdr_getpos(&xdrs), RPC_REPLY_HEADER_BYTES);
	ck_assert_uint_eq(word_at(reply, 0), 0x80000000 | 32);
	ck_assert_mem_eq(buf_start(reply) + 4, theirs, RPC_REPLY_HEADER_BYTES);
	ck_assert_mem_eq(buf_start(reply) + 28, results, 8);
	buf_unref(reply);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rpc_msg");
	TCase *creds = unit_case(suite, "credentials");
	TCase *headers = unit_case(suite, "call headers");
	TCase *replies = unit_case(suite, "replies");

	tcase_add_loop_test(creds, reads_auth_sys, 0, RPC_AUTH_SYS_GIDS_MAX + 1);
	tcase_add_test(creds, changed_ids_are_encoded);
	tcase_add_test(creds, auth_sys_body_is_exact);
	tcase_add_test(creds, auth_sys_limits);
	tcase_add_loop_test(creds, reads_auth_none, 0, 6);
	tcase_add_loop_test(creds, reads_auth_none, 397, 401);
	tcase_add_loop_test(creds, other_flavors_are_rejected, 0, 5);
	tcase_add_test(headers, verifiers_are_skipped);
	tcase_add_loop_test(headers, long_bodies_are_bad, 0, 6);
	tcase_add_test(headers, cut_off_header_is_no_call);
	tcase_add_loop_test(headers, reply_is_no_call, 0, 2);
	tcase_add_loop_test(headers, other_rpc_version_is_a_mismatch, 0, 2);
	tcase_add_loop_test(replies, accept_errors, 0, 4);
	tcase_add_test(replies, program_mismatch);
	tcase_add_test(replies, rpc_mismatch);
	tcase_add_loop_test(replies, auth_errors, RPC_AUTH_BADCRED,
			    RPC_AUTH_TOOWEAK + 1);
	tcase_add_test(replies, results_get_their_header);
	return unit_run(suite);
}
