/*
 * Other calls that touch a file with buffered bytes: what they wait for, what waits
 * for them, and whether what the upstream answered may be shown (P4, P5).
 */
#include "unit/engine_fixture.h"

static bool settled(uint64_t since)
{
	return engine_is_settled(engine, &file_a, since);
}

START_TEST(p5_barrier_waits_for_acked_bytes)
{
	static const enum engine_barrier every[] = { ENGINE_BARRIER_FLUSH,
						     ENGINE_BARRIER_READ,
						     ENGINE_BARRIER_CHANGE,
						     ENGINE_BARRIER_TRUNCATE };
	unsigned int i;

	for (i = 0; i < 4; i++) {
		grant_to(alice);
		write_in(0, 0, 10);
		barrier_with(1, .barrier = every[i], .offset = 1000);
		expect("w0 W0+10 ");
		written(0);
		expect("p1 ");
		if (every[i] != ENGINE_BARRIER_FLUSH)
			barrier_done(1, true);
		ck_assert_int_eq(op[1].state, ENGINE_OP_ANSWERED);
	}
	ck_assert_uint_eq(stats.write_reason[WRITE_REASON_BARRIER], 4);
}
END_TEST

START_TEST(p5_nothing_buffered_lets_reads_pass_at_once)
{
	barrier_in(0, ENGINE_BARRIER_READ); /* nothing known */
	barrier_in(1, ENGINE_BARRIER_FLUSH);
	expect("p0 p1 ");
	ck_assert_uint_eq(engine_file_count(engine), 0);
	barrier_done(0, true);
	grant_to(alice);
	retain(2, 0, 10); /* written is enough */
	barrier_in(3, ENGINE_BARRIER_READ);
	expect("p3 ");
	write_in(4, 0, 10); /* and it holds nothing back */
	expect("w4 ");
	barrier_done(3, true);
}
END_TEST

START_TEST(p4_barrier_holds_later_writes)
{
	static const enum engine_barrier holding[] = { ENGINE_BARRIER_READ,
						       ENGINE_BARRIER_CHANGE,
						       ENGINE_BARRIER_TRUNCATE };
	unsigned int i;

	for (i = 0; i < 3; i++) {
		grant_to(alice);
		write_in(0, 0, 10);
		barrier_with(1, .barrier = holding[i], .offset = 1000);
		write_in(2, 500, 10);
		expect("w0 W0+10 ");
		written(0);
		write_with(3, .offset = 600, .count = 10, .stable = NFS3_FILE_SYNC);
		expect("p1 "); /* neither acked nor sent while it is upstream */
		barrier_done(1, true);
		expect("W500+10 W600+10f ");
		written(500);
		written(600);
		expect("w2 w3 ");
	}
}
END_TEST

START_TEST(p4_flush_holds_nothing)
{
	grant_to(alice);
	write_in(0, 0, 10);
	barrier_in(1, ENGINE_BARRIER_FLUSH);
	write_in(2, 500, 10); /* acked, but sent after it has passed */
	tick_after(engine_config_default.plug_max_us);
	expect("w0 W0+10 w2 ");
	written(0);
	expect("W500+10 p1 ");
}
END_TEST

START_TEST(p4_reads_go_together_and_changes_alone)
{
	grant_to(alice);
	write_in(0, 0, 10);
	barrier_in(1, ENGINE_BARRIER_READ);
	barrier_in(2, ENGINE_BARRIER_READ);
	barrier_in(3, ENGINE_BARRIER_CHANGE);
	barrier_in(4, ENGINE_BARRIER_READ); /* behind the change */
	written(0);
	expect("w0 W0+10 p1 p2 ");
	barrier_done(2, true);
	expect("");
	barrier_done(1, true);
	expect("p3 ");
	barrier_done(3, true);
	expect("p4 ");
	barrier_done(4, true);
}
END_TEST

START_TEST(p4_change_of_an_unknown_file_holds_writes)
{
	barrier_in(0, ENGINE_BARRIER_CHANGE);
	write_in(1, 0, 10);
	expect("p0 ");
	barrier_done(0, false);
	expect("W0+10 ");
}
END_TEST

START_TEST(p5_insisting_read_holds_writes_of_an_unknown_file)
{
	barrier_with(0, .barrier = ENGINE_BARRIER_READ, .insists = true);
	write_in(1, 0, 10);
	expect("p0 ");
	barrier_done(0, true);
	expect("W0+10 ");
}
END_TEST

START_TEST(p5_insisting_read_is_settled_for_certain)
{
	uint64_t since;

	grant_to(alice);
	retain(0, 0, 10);
	barrier_with(1, .barrier = ENGINE_BARRIER_READ, .insists = true);
	since = engine_sequence(engine);
	write_in(2, 0, 10);
	expect("p1 ");
	ck_assert(settled(since));
	barrier_done(1, true);
	expect("W0+10 ");
}
END_TEST

START_TEST(p5_settled_only_without_acked_bytes_on_their_way)
{
	uint64_t before;
	uint64_t after;

	before = engine_sequence(engine);
	ck_assert(settled(before)); /* nothing known */
	grant_to(alice);
	ck_assert(settled(engine_sequence(engine)));
	write_in(0, 0, 10);
	ck_assert(!settled(engine_sequence(engine)));
	tick_after(engine_config_default.plug_max_us);
	before = engine_sequence(engine);
	ck_assert(!settled(before));
	written(0);
	after = engine_sequence(engine);
	ck_assert(settled(after));
	ck_assert(!settled(before)); /* its answer may be older than the bytes */
}
END_TEST

START_TEST(p5_what_was_unsettled_is_not_forgotten_with_the_record)
{
	struct nfs3_fh other = { .len = 2, .data = "a2" }; /* the same fileid */
	uint64_t since;

	grant_to(alice);
	since = engine_sequence(engine);
	write_in(0, 0, 10);
	commit_in(1);
	written(0);
	committed();
	ck_assert(!settled(since));
	write_with(2, .fh = &other, .offset = 0, .count = 1, .stable = NFS3_FILE_SYNC);
	written(0); /* file_a's idle record gives way */
	ck_assert_uint_eq(engine_file_count(engine), 1);
	ck_assert(!settled(since));
	ck_assert(settled(engine_sequence(engine)));
}
END_TEST

START_TEST(p5_broken_connection_unsettles_what_is_not_proven)
{
	uint64_t since;

	grant_to(alice);
	retain(0, 0, 10);
	since = engine_sequence(engine);
	ck_assert(settled(since));
	disconnect();
	expect("C "); /* the engine asks by itself */
	ck_assert_uint_eq(stats.commit_reason[COMMIT_REASON_DISCONNECT], 1);
	ck_assert(!settled(engine_sequence(engine)));
	committed();
	ck_assert(settled(engine_sequence(engine)));
	ck_assert(!settled(since));
	/* nothing unproven: nothing to doubt */
	since = engine_sequence(engine);
	disconnect();
	ck_assert(settled(since));
	expect("");
}
END_TEST

START_TEST(p5_restart_seen_in_one_file_unsettles_the_others)
{
	grant_to(alice);
	retain(0, 0, 10);
	write_with(1, .fh = &file_b, .offset = 0, .count = 10);
	written(0);
	upstream_verifier = u2;
	commit_with(2, .fh = &file_b);
	(void)take_log();
	committed();
	ck_assert(!settled(engine_sequence(engine)));
	expect("b:W0+10 C ");
	all_answered();
	ck_assert(settled(engine_sequence(engine)));
	ck_assert_uint_eq(stats.value[STAT_REPLAYED_BYTES], 20);
}
END_TEST

START_TEST(p5_bytes_that_gave_way_unsettle_what_was_asked_before)
{
	uint64_t since;

	grant_to(alice);
	retain(0, 0, 10);
	commit_in(1);
	write_with(2, .offset = 0, .count = 10, .stable = NFS3_FILE_SYNC);
	upstream_verifier = u2;
	committed(); /* its bytes are gone, and have to wait for the newer ones */
	expect("C W0+10f ");
	since = engine_sequence(engine);
	ck_assert(!settled(since));
	written(0);
	expect("w2 c1 ");
	ck_assert(!settled(since));
	ck_assert(settled(engine_sequence(engine)));
}
END_TEST

START_TEST(p5_written_bytes_do_not_unsettle_what_lies_over_them)
{
	grant_to(alice);
	retain(0, 0, 10);
	write_with(1, .client_id = 2, .offset = 0, .count = 10);
	written(0);
	expect("W0+10 w1 ");
	ck_assert(seen.write.wcc.has_after);
}
END_TEST

/* The break of another connection is noticed (_i = 0) before or after the first half. */
START_TEST(p5_write_half_done_before_a_restart_is_suspect)
{
	grant_to(alice);
	write_in(0, 0, 10);
	tick_after(engine_config_default.plug_max_us);
	if (_i == 0)
		disconnect();
	written_short(0, 4, NFS3_UNSTABLE);
	expect("w0 W0+10 W4+6 ");
	if (_i == 1)
		disconnect();
	upstream_verifier = u2;
	written_as(4, NFS3_FILE_SYNC);
	expect("C ");
	ck_assert(!settled(engine_sequence(engine)));
	all_answered();
	ck_assert(settled(engine_sequence(engine)));
	disk_is(0, "AAAAAAAAAA");
	ck_assert_uint_eq(stats.value[STAT_REPLAYED_BYTES], 10);
}
END_TEST

START_TEST(p5_suspect_barrier_waits_for_proof)
{
	static const enum engine_barrier every[] = { ENGINE_BARRIER_FLUSH,
						     ENGINE_BARRIER_READ,
						     ENGINE_BARRIER_CHANGE,
						     ENGINE_BARRIER_TRUNCATE };
	unsigned int i;

	for (i = 0; i < 4; i++) {
		upstream_verifier = u1;
		grant_to(alice);
		retain(0, 0, 10);
		disconnect();
		barrier_with(1, .barrier = every[i], .offset = 1000);
		expect("C ");
		upstream_verifier = u2;
		committed();
		expect("W0+10 "); /* it was gone indeed */
		written(0);
		expect("p1 ");
		if (every[i] != ENGINE_BARRIER_FLUSH)
			barrier_done(1, true);
		commit_in(2);
		all_answered();
		(void)take_log();
	}
}
END_TEST

START_TEST(p4_barrier_that_waits_for_proof_holds_later_writes)
{
	grant_to(alice);
	retain(0, 0, 10);
	disconnect();
	barrier_with(1, .barrier = ENGINE_BARRIER_TRUNCATE, .offset = 0);
	write_in(2, 100, 10); /* arrived after the truncation: must outlive it */
	expect("C ");
	committed();
	expect("p1 ");
	barrier_done(1, true);
	expect("W100+10 ");
	written(100);
	expect("w2 ");
	ck_assert_uint_eq(stats.gauge[GAUGE_RETAINED_BYTES], 10);
}
END_TEST

START_TEST(p5_barrier_in_the_line_waits_for_proof_after_a_disconnect)
{
	grant_to(alice);
	retain(0, 0, 10);
	write_in(1, 100, 10);
	barrier_in(2, ENGINE_BARRIER_FLUSH);
	expect("w1 W100+10 ");
	disconnect();
	expect("C ");
	upstream_verifier = u2;
	written(100); /* sent again by the upstream layer, to the new life */
	expect("");   /* op[0]'s bytes may be gone */
	committed();
	ck_assert_ptr_nonnull(strstr(take_log(), "W0+10 "));
	ck_assert_int_ne(op[2].state, ENGINE_OP_ANSWERED);
	all_answered();
	ck_assert_int_eq(op[2].state, ENGINE_OP_ANSWERED);
	disk_is(0, letters(0, 10));
}
END_TEST

START_TEST(p5_jukebox_does_not_end_suspicion)
{
	grant_to(alice);
	retain(0, 0, 10);
	disconnect();
	barrier_in(1, ENGINE_BARRIER_READ);
	commit_failed(NFS3ERR_JUKEBOX);
	expect("C ");
	ck_assert(!settled(engine_sequence(engine)));
	tick_at(engine_next_deadline_us(engine));
	expect("C ");
	committed();
	expect("p1 ");
	barrier_done(1, true);
}
END_TEST

START_TEST(p5_lost_bytes_let_the_barrier_pass)
{
	grant_to(alice);
	write_in(0, 0, 10);
	barrier_in(1, ENGINE_BARRIER_READ);
	write_failed(0, NFS3ERR_NOSPC);
	expect("w0 W0+10 p1 ");
	barrier_done(1, true);
	commit_in(2);
	expect("c2!28 ");
}
END_TEST

START_TEST(p4_truncate_drops_what_lies_beyond)
{
	grant_to(alice);
	retain(0, 0, 100);
	retain(1, 200, 10);
	barrier_with(2, .barrier = ENGINE_BARRIER_TRUNCATE, .offset = 50);
	expect("p2 ");
	barrier_done(2, true);
	ck_assert_uint_eq(stats.gauge[GAUGE_RETAINED_BYTES], 50);
	upstream_verifier = u2;
	commit_in(3);
	committed();
	expect("C W0+50 "); /* the tail must not come back */
	all_answered();
	expect("C c3 ");
}
END_TEST

START_TEST(p4_truncate_drops_what_a_commit_out_covers)
{
	grant_to(alice);
	retain(0, 0, 100);
	commit_in(1);
	barrier_with(2, .barrier = ENGINE_BARRIER_TRUNCATE, .offset = 50);
	expect("C p2 ");
	barrier_done(2, true);
	upstream_verifier = u2;
	committed();
	expect("W0+50 ");
	all_answered();
	expect("C c1 ");
}
END_TEST

START_TEST(p4_truncate_drops_rewrites_that_wait_for_it)
{
	grant_to(alice);
	retain(0, 0, 100);
	commit_in(1);
	barrier_with(2, .barrier = ENGINE_BARRIER_TRUNCATE, .offset = 50);
	expect("C p2 ");
	write_in(3, 60, 10); /* after the truncation: stays */
	upstream_verifier = u2;
	committed(); /* the rewrite waits: the truncation is at the upstream */
	expect("");
	barrier_done(2, true);
	expect("W0+50 W60+10 ");
	all_answered();
	expect("C w3 c1 ");
	disk_is(60, letters(3, 10));
}
END_TEST

START_TEST(p4_truncate_that_failed_drops_nothing)
{
	grant_to(alice);
	retain(0, 0, 100);
	barrier_with(1, .barrier = ENGINE_BARRIER_TRUNCATE, .offset = 50);
	barrier_done(1, false);
	ck_assert_uint_eq(stats.gauge[GAUGE_RETAINED_BYTES], 100);
}
END_TEST

START_TEST(p1_commit_of_truncated_bytes_is_answered)
{
	grant_to(alice);
	retain(0, 0, 100);
	commit_in(1);
	commit_failed(NFS3ERR_JUKEBOX);
	barrier_with(2, .barrier = ENGINE_BARRIER_TRUNCATE, .offset = 0);
	tick_at(engine_next_deadline_us(engine));
	expect("C C p2 ");
	barrier_done(2, true);
	committed();
	expect("c1 ");
	ck_assert(engine_is_clean(engine));
}
END_TEST

START_TEST(p4_truncate_is_ordered_with_writes)
{
	write_in(0, 0, 10);
	barrier_with(1, .barrier = ENGINE_BARRIER_TRUNCATE, .offset = 5);
	write_in(2, 0, 5);
	barrier_with(3, .barrier = ENGINE_BARRIER_TRUNCATE, .offset = UINT64_MAX);
	expect("W0+10 ");
	written(0);
	expect("w0 p1 ");
	barrier_done(1, true);
	expect("W0+5 ");
	written(0);
	expect("w2 p3 ");
	barrier_done(3, true);
	ck_assert_uint_eq(stats.gauge[GAUGE_RETAINED_BYTES], 5);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("engine_barrier");
	TCase *tcase = unit_case(suite, "barrier");

	tcase_add_checked_fixture(tcase, engine_setup, engine_teardown);
	tcase_add_test(tcase, p5_barrier_waits_for_acked_bytes);
	tcase_add_test(tcase, p5_nothing_buffered_lets_reads_pass_at_once);
	tcase_add_test(tcase, p4_barrier_holds_later_writes);
	tcase_add_test(tcase, p4_flush_holds_nothing);
	tcase_add_test(tcase, p4_reads_go_together_and_changes_alone);
	tcase_add_test(tcase, p4_change_of_an_unknown_file_holds_writes);
	tcase_add_test(tcase, p5_insisting_read_holds_writes_of_an_unknown_file);
	tcase_add_test(tcase, p5_insisting_read_is_settled_for_certain);
	tcase_add_test(tcase, p5_settled_only_without_acked_bytes_on_their_way);
	tcase_add_test(tcase, p5_what_was_unsettled_is_not_forgotten_with_the_record);
	tcase_add_test(tcase, p5_broken_connection_unsettles_what_is_not_proven);
	tcase_add_test(tcase, p5_restart_seen_in_one_file_unsettles_the_others);
	tcase_add_test(tcase, p5_bytes_that_gave_way_unsettle_what_was_asked_before);
	tcase_add_test(tcase, p5_written_bytes_do_not_unsettle_what_lies_over_them);
	tcase_add_loop_test(tcase, p5_write_half_done_before_a_restart_is_suspect, 0,
			    2);
	tcase_add_test(tcase, p5_suspect_barrier_waits_for_proof);
	tcase_add_test(tcase, p4_barrier_that_waits_for_proof_holds_later_writes);
	tcase_add_test(tcase,
		       p5_barrier_in_the_line_waits_for_proof_after_a_disconnect);
	tcase_add_test(tcase, p5_jukebox_does_not_end_suspicion);
	tcase_add_test(tcase, p5_lost_bytes_let_the_barrier_pass);
	tcase_add_test(tcase, p4_truncate_drops_what_lies_beyond);
	tcase_add_test(tcase, p4_truncate_drops_what_a_commit_out_covers);
	tcase_add_test(tcase, p4_truncate_drops_rewrites_that_wait_for_it);
	tcase_add_test(tcase, p4_truncate_that_failed_drops_nothing);
	tcase_add_test(tcase, p1_commit_of_truncated_bytes_is_answered);
	tcase_add_test(tcase, p4_truncate_is_ordered_with_writes);
	return unit_run(suite);
}
