/*
 * Submitting: which connection, how much at once, what is counted, and the end of it
 * all.
 */
#include <stdlib.h>
#include <string.h>

#include "unit/check_upstream_peer.h"
#include "unit/unit.h"

START_TEST(no_more_than_the_window_is_handed_to_the_library)
{
	enum { COUNT = 9, WINDOW = 3 };
	struct bench *bench = bench_new();
	struct sent *sent[COUNT];
	struct bytes results;
	unsigned int i;

	bench->tuning.calls_max = WINDOW;
	bench_start(bench);
	for (i = 0; i < COUNT; i++)
		sent[i] = send_getattr(bench, i);
	put_getattr_ok(&results, 1);
	for (i = 0; i < COUNT; i++) {
		unsigned int expected = i + WINDOW < COUNT ? i + WINDOW : COUNT;

		bench_until_calls(bench, expected);
		event_base_loop(bench->base, EVLOOP_NONBLOCK);
		ck_assert_uint_eq(bench->peer->call_count, expected);
		peer_reply(&bench->peer->call[i], results.data, results.len);
		bench_until_done(bench, i + 1);
	}
	for (i = 0; i < COUNT; i++) {
		ck_assert_uint_eq(sent[i]->done_order, i + 1);
		sent_free(sent[i]);
	}
	bench_free(bench);
}
END_TEST

START_TEST(no_more_bytes_than_the_window_either)
{
	struct bench *bench = bench_new();
	struct sent *sent[4];
	struct bytes results;
	unsigned int i;

	bench->tuning.bytes_max = 2500;
	bench_start(bench);
	for (i = 0; i < 3; i++)
		sent[i] = send_write(bench, 1, i * 1000, 1000, NFS3_UNSTABLE);
	sent[3] = send_write(bench, 1, 3000, 4000, NFS3_UNSTABLE);
	bench_until_calls(bench, 2);
	event_base_loop(bench->base, EVLOOP_NONBLOCK);
	ck_assert_uint_eq(bench->peer->call_count, 2);
	put_write_ok(&results);
	peer_reply(&bench->peer->call[0], results.data, results.len);
	bench_until_calls(bench, 3);
	peer_reply(&bench->peer->call[1], results.data, results.len);
	peer_reply(&bench->peer->call[2], results.data, results.len);
	/* larger than the window: alone */
	bench_until_calls(bench, 4);
	ck_assert_uint_eq(bench->done_count, 3);
	peer_reply(&bench->peer->call[3], results.data, results.len);
	bench_until_done(bench, 4);
	for (i = 0; i < 4; i++)
		sent_free(sent[i]);
	bench_free(bench);
}
END_TEST

START_TEST(the_end_cancels_what_is_held_and_resets_the_connections)
{
	struct bench *bench = bench_new();
	struct sent *sent[4];
	struct bytes results;
	struct bytes path = { .len = 0 };
	unsigned int i;

	bench->tuning.calls_max = 2;
	bench_start(bench);
	for (i = 0; i < 3; i++) /* two out, one queued */
		sent[i] = send_getattr(bench, i);
	put_text(&path, "/exp");
	sent[3] =
		sent_new(bench, PROGRAM_MOUNT, 3, MOUNT_PROC_MNT, path.data, path.len);
	sent_submit(sent[3]);
	bench_until_calls(bench, 3);
	put_getattr_ok(&results, 1);
	upstream_libnfs_free(bench->upstream);
	bench->upstream = NULL;
	ck_assert_uint_eq(bench->done_count, 4);
	for (i = 0; i < 4; i++) {
		ck_assert_int_eq(sent[i]->request.outcome, UPSTREAM_CANCELLED);
		ck_assert_uint_eq(sent[i]->request.sent_count, i == 2 ? 0 : 1);
		sent_free(sent[i]);
	}
	while (bench->peer->conn[0].fd >= 0)
		event_base_loop(bench->base, EVLOOP_ONCE);
	ck_assert(bench->peer->conn[0].was_reset);
	bench_free(bench);
}
END_TEST

/* Submits one more from done(), and its answer is the last. */
static struct sent *again;

static void submit_again(struct upstream_request *request)
{
	struct bench *bench = again->bench;

	ck_assert(!bench->in_submit);
	bench->done_count++;
	buf_unref(request->results);
	request->results = NULL;
	if (bench->done_count <= 3)
		upstream_libnfs_ops.submit(bench->upstream, request);
}

START_TEST(done_may_submit_again)
{
	struct bench *bench = bench_new();
	struct bytes args = { .len = 0 };

	bench->peer->on_call = peer_answer_by_number;
	bench_start(bench);
	put_fh(&args, 1, 32);
	again = sent_new(bench, PROGRAM_NFS, 3, NFS3_PROC_GETATTR, args.data, args.len);
	again->request.done = submit_again;
	sent_submit(again);
	bench_until_done(bench, 4);
	ck_assert_uint_eq(bench->peer->call_count, 4);
	ck_assert_uint_ne(bench->peer->call[0].xid, bench->peer->call[1].xid);
	sent_free(again);
	bench_free(bench);
}
END_TEST

START_TEST(done_may_submit_again_while_closing)
{
	struct bench *bench = bench_new();
	struct bytes args = { .len = 0 };

	bench_start(bench);
	put_fh(&args, 1, 32);
	again = sent_new(bench, PROGRAM_NFS, 3, NFS3_PROC_GETATTR, args.data, args.len);
	again->request.done = submit_again;
	sent_submit(again);
	bench_until_calls(bench, 1);
	upstream_libnfs_free(bench->upstream);
	bench->upstream = NULL;
	ck_assert_uint_eq(bench->done_count, 4);
	ck_assert_int_eq(again->request.outcome, UPSTREAM_CANCELLED);
	sent_free(again);
	bench_free(bench);
}
END_TEST

static struct sent *send_commit(struct bench *bench, uint32_t fh)
{
	struct bytes args = { .len = 0 };
	struct sent *sent;

	put_fh(&args, fh, 32);
	put_u64(&args, 0);
	put_u32(&args, 0);
	sent = sent_new(bench, PROGRAM_NFS, 3, NFS3_PROC_COMMIT, args.data, args.len);
	sent_submit(sent);
	return sent;
}

START_TEST(bulk_keeps_off_the_first_connection_and_together_by_file)
{
	enum { FILES = 16 };
	struct bench *bench = bench_new();
	unsigned int conn_of[FILES];
	bool used[4] = { false };
	struct sent *sent[2 * FILES + 1];
	unsigned int i;

	bench->config.connections = 4;
	bench_start(bench);
	bench_until_conns(bench, 4);
	for (i = 0; i < FILES; i++) {
		sent[i] = send_write(bench, i, 0, 10, NFS3_UNSTABLE);
		bench_until_calls(bench, i + 1);
		conn_of[i] = bench->peer->call[i].conn->number;
		used[conn_of[i]] = true;
	}
	for (i = 0; i < FILES; i++) {
		sent[FILES + i] = send_commit(bench, i);
		bench_until_calls(bench, FILES + i + 1);
		ck_assert_uint_eq(bench->peer->call[FILES + i].conn->number,
				  conn_of[i]);
	}
	sent[2 * FILES] = send_getattr(bench, 1);
	bench_until_calls(bench, 2 * FILES + 1);
	ck_assert(!used[bench->peer->call[2 * FILES].conn->number]);
	ck_assert_int_ge(used[0] + used[1] + used[2] + used[3], 2);
	ck_assert_uint_eq(bench->stats.value[STAT_UPSTREAM_WRITES], FILES);
	ck_assert_uint_eq(bench->stats.value[STAT_UPSTREAM_WRITE_BYTES], FILES * 10);
	ck_assert_uint_eq(bench->stats.value[STAT_UPSTREAM_COMMITS], FILES);
	ck_assert_uint_eq(bench->stats.value[STAT_UPSTREAM_FORCED_WRITES], FILES);
	upstream_libnfs_free(bench->upstream);
	bench->upstream = NULL;
	for (i = 0; i < 2 * FILES + 1; i++)
		sent_free(sent[i]);
	bench_free(bench);
}
END_TEST

START_TEST(stable_writes_and_read_bytes_are_counted)
{
	struct bench *bench = bench_new();
	struct bytes args = { .len = 0 };
	struct bytes results = { .len = 0 };
	struct sent *sent;

	bench_start(bench);
	sent = send_write(bench, 1, 0, 10, NFS3_FILE_SYNC);
	bench_until_calls(bench, 1);
	put_write_ok(&results);
	peer_reply(&bench->peer->call[0], results.data, results.len);
	bench_until_done(bench, 1);
	sent_free(sent);
	put_fh(&args, 1, 32);
	put_u64(&args, 0);
	put_u32(&args, 100);
	sent = sent_new(bench, PROGRAM_NFS, 3, NFS3_PROC_READ, args.data, args.len);
	sent_submit(sent);
	bench_until_calls(bench, 2);
	results.len = 0;
	put_u32(&results, NFS3_OK);
	put_u32(&results, 0);
	put_u32(&results, 7);
	put_u32(&results, 1);
	put_opaque(&results, "7 bytes", 7);
	peer_reply(&bench->peer->call[1], results.data, results.len);
	bench_until_done(bench, 2);
	ck_assert_uint_eq(bench->stats.value[STAT_UPSTREAM_WRITES_STABLE], 1);
	ck_assert_uint_eq(bench->stats.value[STAT_UPSTREAM_FORCED_WRITES], 1);
	ck_assert_uint_eq(bench->stats.value[STAT_UPSTREAM_READ_BYTES], 7);
	sent_free(sent);
	bench_free(bench);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("upstream_submit");
	TCase *tcase = unit_case(suite, "submit");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, no_more_than_the_window_is_handed_to_the_library);
	tcase_add_test(tcase, no_more_bytes_than_the_window_either);
	tcase_add_test(tcase, the_end_cancels_what_is_held_and_resets_the_connections);
	tcase_add_test(tcase, done_may_submit_again);
	tcase_add_test(tcase, done_may_submit_again_while_closing);
	tcase_add_test(tcase, bulk_keeps_off_the_first_connection_and_together_by_file);
	tcase_add_test(tcase, stable_writes_and_read_bytes_are_counted);
	return unit_run(suite);
}
