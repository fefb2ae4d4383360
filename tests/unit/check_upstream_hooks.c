/*
 * What an upstream tells beside answers: the limits it has learned, and that a connection
 * broke or was made again, in the right place among the answers.
 */
#include "unit/unit.h"

#include "unit/check_upstream_peer.h"

/* A WRITE of this size goes out at once if its connection is up. */
enum { LARGE_BYTES = 64 * 1024 };

/* What on_disconnect() saw. */
struct breaks {
	struct bench *bench;
	unsigned int count;
	unsigned int done_count; /* answers delivered before the last one */
	bool submits;		 /* at the second, this: */
	struct sent *submitted;
};

static void on_disconnect(void *arg)
{
	struct breaks *breaks = arg;

	ck_assert(!breaks->bench->in_submit);
	breaks->count++;
	breaks->done_count = breaks->bench->done_count;
	if (breaks->count == 2 && breaks->submits)
		breaks->submitted =
			send_write(breaks->bench, 1, 0, LARGE_BYTES, NFS3_UNSTABLE);
}

static bool has_broken(struct bench *bench, void *arg)
{
	const struct breaks *breaks = arg;

	(void)bench;
	return breaks->count > 0;
}

static void watch(struct bench *bench, struct breaks *breaks)
{
	*breaks = (struct breaks){ .bench = bench };
	upstream_libnfs_ops.set_on_disconnect(bench->upstream, on_disconnect, breaks);
}

START_TEST(the_largest_file_is_the_smallest_limit_seen)
{
	static const uint64_t limits[] = { 1000, 2000, 500, 0 };
	static const uint64_t learned[] = { 1000, 1000, 500, 500 };
	struct bench *bench = bench_new();
	unsigned int turn;

	bench_start(bench);
	ck_assert_uint_eq(upstream_libnfs_ops.maxfilesize_bytes(bench->upstream), 0);
	for (turn = 0; turn < 4; turn++) {
		struct bytes args = { .len = 0 };
		struct bytes results = { .len = 0 };
		struct sent *sent;
		uint32_t i;

		put_fh(&args, 7, 64);
		put_u32(&results, NFS3_OK);
		put_u32(&results, 0);
		for (i = 0; i < 7; i++)
			put_u32(&results, 65536);
		put_u64(&results, limits[turn]);
		put_u64(&results, 0);
		put_u32(&results, 0x1b);
		sent = sent_new(bench, PROGRAM_NFS, 3, NFS3_PROC_FSINFO, args.data,
				args.len);
		sent_submit(sent);
		bench_until_calls(bench, turn + 1);
		peer_reply(&bench->peer->call[turn], results.data, results.len);
		bench_until_done(bench, turn + 1);
		ck_assert_uint_eq(
			upstream_libnfs_ops.maxfilesize_bytes(bench->upstream),
			learned[turn]);
		sent_free(sent);
	}
	bench_free(bench);
}
END_TEST

/* Also those that are still to be handed on: read together with the end. */
START_TEST(a_break_comes_after_the_answers_before_it)
{
	enum { OLD = 20, NEW = 10 };
	struct bench *bench = bench_new();
	struct sent *sent[OLD + NEW];
	struct bytes results;
	struct breaks breaks;
	unsigned int i;

	bench_start(bench);
	watch(bench, &breaks);
	put_getattr_ok(&results, 1);
	for (i = 0; i < OLD + NEW; i++)
		sent[i] = send_getattr(bench, i);
	bench_until_calls(bench, OLD + NEW);
	for (i = 0; i < OLD; i++)
		peer_reply(&bench->peer->call[i], results.data, results.len);
	peer_hang_up(&bench->peer->conn[0]);
	bench_until(bench, has_broken, &breaks);
	ck_assert_uint_eq(breaks.count, 1);
	ck_assert_uint_eq(breaks.done_count, OLD);
	bench_until_calls(bench, OLD + NEW + NEW);
	ck_assert_uint_eq(bench->done_count, OLD);
	bench_free(bench);
	for (i = 0; i < OLD + NEW; i++)
		sent_free(sent[i]);
}
END_TEST

START_TEST(a_break_comes_before_the_answers_after_it)
{
	struct bench *bench = bench_new();
	struct bytes results;
	struct breaks breaks;
	struct sent *sent;

	bench_start(bench);
	watch(bench, &breaks);
	put_getattr_ok(&results, 1);
	sent = send_getattr(bench, 1);
	bench_until_calls(bench, 1);
	peer_hang_up(&bench->peer->conn[0]);
	bench_until_calls(bench, 2);
	peer_reply(&bench->peer->call[1], results.data, results.len);
	bench_until_done(bench, 1);
	ck_assert_uint_ge(breaks.count, 1);
	ck_assert_uint_eq(breaks.done_count, 0);
	sent_free(sent);
	bench_free(bench);
}
END_TEST

/*
 * One of two connections breaks, and the server restarts only then: while the end of the
 * other is not noticed, coming back is all that tells of the restart.
 */
START_TEST(a_connection_made_again_is_told_before_the_answers_over_it)
{
	struct bench *bench = bench_new();
	struct bytes results;
	struct breaks breaks;
	struct sent *write;
	struct sent *other;

	bench->config.connections = 2;
	bench_start(bench);
	watch(bench, &breaks);
	bench_until_conns(bench, 2);
	write = send_write(bench, 1, 0, 10, NFS3_UNSTABLE);
	bench_until_calls(bench, 1);
	peer_stop_listening(bench->peer);
	peer_hang_up(bench->peer->call[0].conn);
	bench_until(bench, has_broken, &breaks);
	other = send_getattr(bench, 1);
	bench_until_calls(bench, 2);
	peer_answer_getattr(&bench->peer->call[1]);
	bench_until_done(bench, 1);
	ck_assert_uint_eq(breaks.count, 1);
	ck_assert_uint_eq(breaks.done_count, 0);
	peer_listen(bench->peer);
	bench_until_calls(bench, 3);
	put_write_ok(&results);
	peer_reply(&bench->peer->call[2], results.data, results.len);
	bench_until_done(bench, 2);
	ck_assert_ptr_eq(bench->last_done, write);
	ck_assert_uint_eq(breaks.count, 2);
	ck_assert_uint_eq(breaks.done_count, 1);
	sent_free(write);
	sent_free(other);
	bench_free(bench);
}
END_TEST

START_TEST(what_is_submitted_on_hearing_of_it_comes_after_what_is_sent_again)
{
	struct bench *bench = bench_new();
	struct bytes results;
	struct breaks breaks;
	struct sent *sent[2];
	unsigned int i;

	bench_start(bench);
	watch(bench, &breaks);
	breaks.submits = true;
	for (i = 0; i < 2; i++)
		sent[i] = send_getattr(bench, i);
	bench_until_calls(bench, 2);
	peer_hang_up(&bench->peer->conn[0]);
	bench_until_calls(bench, 5);
	for (i = 0; i < 2; i++) {
		ck_assert_uint_eq(bench->peer->call[2 + i].xid, sent[i]->request.xid);
		peer_answer_getattr(&bench->peer->call[2 + i]);
	}
	ck_assert_uint_eq(bench->peer->call[4].proc, NFS3_PROC_WRITE);
	put_write_ok(&results);
	peer_reply(&bench->peer->call[4], results.data, results.len);
	bench_until_done(bench, 3);
	ck_assert_uint_eq(bench->peer->call_count, 5);
	for (i = 0; i < 2; i++)
		sent_free(sent[i]);
	sent_free(breaks.submitted);
	bench_free(bench);
}
END_TEST

/* No call was out: the server may have restarted all the same. */
START_TEST(an_idle_connection_that_breaks_is_told)
{
	struct bench *bench = bench_new();
	struct bytes results;
	struct breaks breaks;
	struct sent *sent;

	bench_start(bench);
	watch(bench, &breaks);
	put_getattr_ok(&results, 1);
	sent = send_getattr(bench, 1);
	bench_until_calls(bench, 1);
	peer_reply(&bench->peer->call[0], results.data, results.len);
	bench_until_done(bench, 1);
	peer_hang_up(&bench->peer->conn[0]);
	bench_until(bench, has_broken, &breaks);
	ck_assert_uint_eq(breaks.done_count, 1);
	sent_free(sent);
	bench_free(bench);
}
END_TEST

START_TEST(attempts_that_fail_and_our_own_end_are_not_told)
{
	struct bench *bench = bench_new();
	struct breaks breaks;
	struct sent *sent;

	peer_stop_listening(bench->peer);
	bench_start(bench);
	watch(bench, &breaks);
	sent = send_getattr(bench, 1);
	bench_run_ticks(bench);
	peer_listen(bench->peer);
	bench_until_calls(bench, 1);
	ck_assert_uint_eq(breaks.count, 0);
	bench_free(bench);
	ck_assert_uint_eq(breaks.count, 0);
	ck_assert_int_eq(sent->request.outcome, UPSTREAM_CANCELLED);
	sent_free(sent);
}
END_TEST

START_TEST(a_mount_connection_carries_no_files)
{
	struct bench *bench = bench_new();
	struct bytes args = { .len = 0 };
	struct breaks breaks;
	struct sent *sent;

	put_text(&args, "/exp");
	bench_start(bench);
	watch(bench, &breaks);
	sent = sent_new(bench, PROGRAM_MOUNT, 3, MOUNT_PROC_UMNT, args.data, args.len);
	sent_submit(sent);
	bench_until_calls(bench, 1);
	peer_hang_up(bench->peer->call[0].conn);
	bench_until_calls(bench, 2);
	peer_reply(&bench->peer->call[1], "", 0);
	bench_until_done(bench, 1);
	ck_assert_uint_eq(breaks.count, 0);
	sent_free(sent);
	bench_free(bench);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("upstream_hooks");
	TCase *tcase = unit_case(suite, "hooks");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, the_largest_file_is_the_smallest_limit_seen);
	tcase_add_test(tcase, a_break_comes_after_the_answers_before_it);
	tcase_add_test(tcase, a_break_comes_before_the_answers_after_it);
	tcase_add_test(tcase,
		       a_connection_made_again_is_told_before_the_answers_over_it);
	tcase_add_test(
		tcase,
		what_is_submitted_on_hearing_of_it_comes_after_what_is_sent_again);
	tcase_add_test(tcase, an_idle_connection_that_breaks_is_told);
	tcase_add_test(tcase, attempts_that_fail_and_our_own_end_are_not_told);
	tcase_add_test(tcase, a_mount_connection_carries_no_files);
	return unit_run(suite);
}
