/*
 * Every procedure through libnfs and back, byte for byte: the arguments that the peer
 * sees are those the call was decoded from, the results are those the peer sent.
 */
#include <stdlib.h>
#include <string.h>

#include "unit/check_upstream_peer.h"
#include "unit/check_upstream_rows.h"
#include "unit/unit.h"
#include "wire/nfs3_result.h"
#include "wire/rpc_msg.h"

START_TEST(every_procedure_goes_and_comes_back_byte_for_byte)
{
	const struct upstream_row *row = &upstream_rows[_i];
	struct bench *bench = bench_new();
	struct bytes args = { .len = 0 };
	struct bytes results = { .len = 0 };
	const struct peer_call *call;
	struct sent *sent;

	row->put_args(&args);
	row->put_results(&results);
	bench_start(bench);
	sent = sent_new(bench, row->program, row->version, row->proc, args.data,
			args.len);
	sent_submit(sent);
	bench_until_calls(bench, 1);

	call = &bench->peer->call[0];
	ck_assert_uint_eq(call->program, row->program);
	ck_assert_uint_eq(call->version, row->version);
	ck_assert_uint_eq(call->proc, row->proc);
	ck_assert_msg(call->args_len == args.len &&
			      memcmp(call->args, args.data, args.len) == 0,
		      "%s: arguments differ", row->title);

	peer_reply(call, results.data, results.len);
	bench_until_done(bench, 1);
	ck_assert_int_eq(sent->request.outcome, UPSTREAM_ANSWERED);
	ck_assert_uint_eq(sent->request.sent_count, 1);
	ck_assert_msg(sent->request.results->len_bytes == results.len &&
			      memcmp(buf_start(sent->request.results), results.data,
				     results.len) == 0,
		      "%s: results differ", row->title);
	sent_free(sent);
	bench_free(bench);
}
END_TEST

/* Larger than the first guess of how much room results need. */
START_TEST(long_lists_find_room)
{
	struct bench *bench = bench_new();
	size_t entries = 20000;
	size_t len = 0;
	uint8_t *results = malloc(entries * 16 + 4);
	struct bytes entry = { .len = 0 };
	struct sent *sent;
	size_t i;

	put_u32(&entry, 1);
	put_text(&entry, "/exp");
	put_u32(&entry, 0);
	for (i = 0; i < entries; i++) {
		memcpy(results + len, entry.data, entry.len);
		len += entry.len;
	}
	memset(results + len, 0, 4);
	len += 4;
	bench_start(bench);
	sent = sent_new(bench, PROGRAM_MOUNT, 3, MOUNT_PROC_EXPORT, "", 0);
	sent_submit(sent);
	bench_until_calls(bench, 1);
	peer_reply(&bench->peer->call[0], results, len);
	bench_until_done(bench, 1);
	ck_assert_uint_eq(sent->request.results->len_bytes, len);
	ck_assert_int_eq(memcmp(buf_start(sent->request.results), results, len), 0);
	free(results);
	sent_free(sent);
	bench_free(bench);
}
END_TEST

static uint32_t sent_count_on_wire(struct bench *bench, uint32_t proc,
				   struct bytes *args, size_t count_at)
{
	struct sent *sent =
		sent_new(bench, PROGRAM_NFS, 3, proc, args->data, args->len);
	struct xdr_in in;

	sent_submit(sent);
	bench_until_calls(bench, bench->peer->call_count + 1);
	xdr_in_init(&in, bench->peer->call[bench->peer->call_count - 1].args + count_at,
		    4);
	peer_reply(&bench->peer->call[bench->peer->call_count - 1],
		   "\0\0\0\x46\0\0\0\0", 8);
	bench_until_done(bench, bench->done_count + 1);
	sent_free(sent);
	return xdr_in_u32(&in);
}

/* A reply longer than libnfs takes would cost the connection. */
START_TEST(counts_are_lowered_to_what_fits_a_record)
{
	struct bench *bench = bench_new();
	struct bytes read = { .len = 0 };
	struct bytes readdir = { .len = 0 };
	struct bytes plus = { .len = 0 };

	put_fh(&read, 1, 32);
	put_u64(&read, 0);
	put_u32(&read, 4 << 20);
	put_fh(&readdir, 1, 32);
	put_u64(&readdir, 0);
	put_u64(&readdir, 0);
	put_u32(&readdir, 0xffffffffu);
	plus = readdir;
	put_u32(&plus, 1 << 20);
	bench_start(bench);
	ck_assert_uint_eq(sent_count_on_wire(bench, NFS3_PROC_READ, &read, 44),
			  1 << 20);
	ck_assert_uint_eq(sent_count_on_wire(bench, NFS3_PROC_READDIR, &readdir, 52),
			  256 << 10);
	ck_assert_uint_eq(sent_count_on_wire(bench, NFS3_PROC_READDIRPLUS, &plus, 56),
			  256 << 10);
	bench_free(bench);
}
END_TEST

/* libnfs has 4096 bytes for a call and does not check all that it writes there. */
START_TEST(names_too_long_for_the_library_are_refused_at_every_length)
{
	struct bench *bench = bench_new();
	size_t len;

	bench_start(bench);
	bench_until_conns(bench, 1);
	for (len = 3000; len < 3100; len++) {
		struct bytes args = { .len = 0 };
		uint8_t text[4096];
		unsigned int calls = bench->peer->call_count;
		struct sent *sent;

		memset(text, 'n', len);
		put_fh(&args, 8, 64);
		put_opaque(&args, text, len);
		put_u32(&args, NFS3_EXCLUSIVE);
		put_u64(&args, 1);
		sent = sent_new(bench, PROGRAM_NFS, 3, NFS3_PROC_CREATE, args.data,
				args.len);
		/* the longest credential there is */
		sent->cred.machine_name_len = 255;
		memset(sent->cred.machine_name, 'm', 255);
		sent->cred.gid_count = 16;
		rpc_cred_encode(&sent->cred);
		sent_submit(sent);
		if (len + 6 <= 3072) {
			bench_until_calls(bench, calls + 1);
			ck_assert_uint_eq(bench->peer->call[calls].args_len, args.len);
			peer_reply(&bench->peer->call[calls],
				   "\0\0\0\x0d\0\0\0\0\0\0\0\0", 12);
		}
		bench_until_done(bench, bench->done_count + 1);
		ck_assert_int_eq(sent->request.outcome, UPSTREAM_ANSWERED);
		ck_assert_uint_eq(nfs3_result_status(sent->request.results),
				  len + 6 <= 3072 ? NFS3ERR_ACCES
						  : NFS3ERR_NAMETOOLONG);
		ck_assert_uint_eq(sent->request.results->len_bytes, 12);
		sent_free(sent);
	}
	bench_free(bench);
}
END_TEST

START_TEST(a_name_with_a_nul_byte_is_garbage)
{
	struct bench *bench = bench_new();
	struct bytes args = { .len = 0 };
	struct sent *sent;

	put_fh(&args, 8, 36);
	put_text(&args, "a name");
	bench_start(bench);
	sent = sent_new(bench, PROGRAM_NFS, 3, NFS3_PROC_REMOVE, args.data, args.len);
	/* the decoder refuses this; libnfs would remove "a" */
	sent->call.args.dirop.name.data = (const uint8_t *)"a\0b";
	sent->call.args.dirop.name.len = 3;
	sent_submit(sent);
	bench_until_done(bench, 1);
	ck_assert_int_eq(sent->request.outcome, UPSTREAM_GARBAGE_ARGS);
	ck_assert_uint_eq(bench->peer->call_count, 0);
	sent_free(sent);
	bench_free(bench);
}
END_TEST

START_TEST(an_acl_too_long_for_the_library_is_refused)
{
	struct bench *bench = bench_new();
	struct bytes args = { .len = 0 };
	struct sent *sent;

	put_fh(&args, 14, 64);
	put_u32(&args, 0xf);
	put_aces(&args, 200, 200);
	put_aces(&args, 57, 57);
	bench_start(bench);
	sent = sent_new(bench, PROGRAM_NFSACL, 3, NFSACL_PROC_SETACL, args.data,
			args.len);
	sent_submit(sent);
	bench_until_done(bench, 1);
	ck_assert_int_eq(sent->request.outcome, UPSTREAM_ANSWERED);
	ck_assert_uint_eq(nfs3_result_status(sent->request.results), NFS3ERR_NOSPC);
	sent_free(sent);
	bench_free(bench);
}
END_TEST

START_TEST(the_write_limit_is_learned_from_fsinfo)
{
	struct bench *bench = bench_new();
	struct bytes args = { .len = 0 };
	struct bytes results = { .len = 0 };
	struct sent *sent;
	uint32_t i;

	put_fh(&args, 7, 64);
	put_u32(&results, NFS3_OK);
	put_u32(&results, 0);
	for (i = 1; i <= 7; i++) /* wtmax is the fourth */
		put_u32(&results, i * 65536);
	put_u64(&results, 0x7fffffffffffffffu);
	put_u64(&results, 0);
	put_u32(&results, 0x1b);
	bench_start(bench);
	ck_assert_uint_eq(upstream_libnfs_ops.wtmax_bytes(bench->upstream), 0);
	ck_assert_str_eq(upstream_libnfs_ops.name(bench->upstream), "bench");
	sent = sent_new(bench, PROGRAM_NFS, 3, NFS3_PROC_FSINFO, args.data, args.len);
	sent_submit(sent);
	bench_until_calls(bench, 1);
	peer_reply(&bench->peer->call[0], results.data, results.len);
	bench_until_done(bench, 1);
	ck_assert_uint_eq(upstream_libnfs_ops.wtmax_bytes(bench->upstream), 4 * 65536);
	sent_free(sent);
	bench_free(bench);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("upstream_calls");
	TCase *tcase = unit_case(suite, "calls");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, every_procedure_goes_and_comes_back_byte_for_byte, 0,
			    (int)upstream_row_count);
	tcase_add_test(tcase, long_lists_find_room);
	tcase_add_test(tcase, counts_are_lowered_to_what_fits_a_record);
	tcase_add_test(tcase,
		       names_too_long_for_the_library_are_refused_at_every_length);
	tcase_add_test(tcase, a_name_with_a_nul_byte_is_garbage);
	tcase_add_test(tcase, an_acl_too_long_for_the_library_is_refused);
	tcase_add_test(tcase, the_write_limit_is_learned_from_fsinfo);
	return unit_run(suite);
}
