/*
 * COMMITs: what they wait for, who shares them, which are answered without the
 * upstream, and what proves a byte stable when nothing goes wrong.
 */
#include "unit/engine_fixture.h"

START_TEST(p1_commit_waits_for_what_was_acked_before_it)
{
	grant_to(alice);
	write_in(0, 0, 10);
	write_in(1, 100, 10);
	commit_in(2);
	write_in(3, 200, 10); /* later: not waited for */
	expect("w0 w1 W0+10 W100+10 w3 ");
	written(100);
	expect(""); /* not before all WRITE replies are in */
	written(0);
	expect("C ");
	committed();
	expect("c2 ");
	ck_assert_uint_eq(stats.gauge[GAUGE_DIRTY_BYTES], 10);
	ck_assert_uint_eq(stats.gauge[GAUGE_RETAINED_BYTES], 0);
	ck_assert_uint_eq(stats.commit_reason[COMMIT_REASON_CLIENT_COMMIT], 1);
}
END_TEST

START_TEST(p1_write_answered_while_a_commit_is_out_is_not_covered_by_it)
{
	write_in(0, 0, 10);
	write_in(1, 100, 10);
	written(0);
	commit_with(2, .client_id = 1); /* waits for 1 too: it is on its way */
	expect("W0+10 W100+10 w0 ");
	written(100);
	expect("C w1 ");
	write_with(3, .offset = 200, .count = 10, .credential = bob);
	written(200);
	committed();
	expect("W200+10 w3 c2 ");
	ck_assert_uint_eq(stats.gauge[GAUGE_RETAINED_BYTES], 10);
	commit_in(4);
	expect("C ");
	committed();
	expect("c4 ");
	ck_assert(engine_is_clean(engine));
}
END_TEST

START_TEST(p1_one_commit_is_out_and_later_ones_share_the_next)
{
	grant_to(alice);
	write_in(0, 0, 10);
	commit_in(1);
	written(0);
	expect("w0 W0+10 C ");
	write_in(2, 100, 10);
	commit_in(3);
	commit_with(4, .client_id = 1);
	written(100);
	expect("w2 W100+10 ");
	committed();
	expect("C c1 "); /* for 3 and 4 */
	committed();
	expect("c3 c4 ");
	ck_assert_uint_eq(stats.value[STAT_COMMITS_SHARED], 1);
	ck_assert_uint_eq(
		stats.histogram[HISTOGRAM_UPSTREAM_WRITES_PER_COMMIT][0] +
			stats.histogram[HISTOGRAM_UPSTREAM_WRITES_PER_COMMIT][1],
		2);
}
END_TEST

START_TEST(p1_commit_that_adds_nothing_shares_the_one_that_is_out)
{
	grant_to(alice);
	write_in(0, 0, 10);
	commit_in(1);
	written(0);
	commit_in(2);
	expect("w0 W0+10 C ");
	committed();
	expect("c1 c2 ");
	ck_assert_uint_eq(stats.value[STAT_COMMITS_SHARED], 1);
	ck_assert_uint_eq(out_count, 0);
}
END_TEST

START_TEST(commits_of_two_files_do_not_wait_for_each_other)
{
	write_in(0, 0, 10);
	write_with(1, .fh = &file_b, .offset = 500, .count = 10);
	written(0);
	written(500);
	commit_in(2);
	commit_with(3, .fh = &file_b);
	expect("W0+10 b:W500+10 w0 w1 C b:C ");
	committed();
	expect("c2 ");
	committed();
	expect("c3 ");
}
END_TEST

START_TEST(i11_commit_is_answered_at_once_when_all_is_proven)
{
	commit_in(0); /* nothing known: relayed */
	expect("C ");
	ck_assert_uint_eq(stats.commit_reason[COMMIT_REASON_UNKNOWN_FILE], 1);
	committed();
	expect("c0 ");
	ck_assert_uint_eq(stats.value[STAT_COMMITS_LOCAL], 0);
	commit_in(1);
	commit_with(2, .client_id = 2);
	expect("c1 c2 ");
	ck_assert(same(seen.commit.verifier, first_v));
	ck_assert_uint_eq(stats.value[STAT_COMMITS_LOCAL], 2);
	/* a FILE_SYNC WRITE proves as well */
	write_with(3, .fh = &file_b, .offset = 0, .count = 5, .stable = NFS3_FILE_SYNC);
	written(0);
	commit_with(4, .fh = &file_b);
	expect("b:W0+5f w3 c4 ");
}
END_TEST

START_TEST(i11_data_sync_alone_does_not_prove)
{
	grant_to(alice);
	write_with(0, .offset = 0, .count = 5, .stable = NFS3_DATA_SYNC);
	written(0);
	expect("W0+5d w0 ");
	ck_assert_uint_eq(stats.gauge[GAUGE_RETAINED_BYTES], 0);
	commit_in(1);
	expect("C ");
	committed();
	commit_in(2);
	expect("c1 c2 ");
}
END_TEST

START_TEST(i11_unstable_write_answered_data_sync_needs_no_copy)
{
	grant_to(alice);
	write_in(0, 0, 10);
	commit_in(1);
	written_as(0, NFS3_DATA_SYNC);
	ck_assert_uint_eq(stats.gauge[GAUGE_RETAINED_BYTES], 0);
	expect("w0 W0+10 C "); /* the times are not stable yet */
	upstream_verifier = u2;
	committed();
	expect("c1 ");
	ck_assert_uint_eq(stats.value[STAT_REPLAYED_BYTES], 0);
}
END_TEST

START_TEST(i11_failed_commit_of_an_unknown_file_is_answered_as_it_came)
{
	commit_in(0);
	commit_failed(NFS3ERR_STALE);
	expect("C c0!70 ");
	ck_assert(seen.commit.wcc.has_after);
	commit_in(1);
	commit_failed(NFS3ERR_JUKEBOX);
	expect("C c1!10008 ");
	commit_in(2);
	commit_refused(9, false);
	expect("C c2?9 ");
	ck_assert_uint_eq(engine_file_count(engine), 0);
	ck_assert_uint_eq(seen.rotations + seen.losses, 0);
}
END_TEST

START_TEST(i11_failed_commit_of_an_unknown_file_is_not_shared)
{
	commit_in(0);
	commit_in(1);
	commit_in(2);
	expect("C ");
	commit_failed(NFS3ERR_IO);
	expect("C c0!5 ");
	commit_failed(NFS3ERR_IO);
	expect("C c1!5 ");
	committed();
	expect("c2 ");
}
END_TEST

START_TEST(i11_one_good_commit_answers_all_that_ask)
{
	commit_in(0);
	commit_in(1);
	commit_in(2);
	committed();
	expect("C c0 c1 c2 ");
	/* and when there was something to prove */
	write_with(3, .fh = &file_b, .offset = 0, .count = 10);
	written(0);
	commit_with(4, .fh = &file_b);
	commit_with(5, .fh = &file_b);
	committed();
	expect("b:W0+10 w3 b:C c4 c5 ");
}
END_TEST

START_TEST(p6_commit_uses_a_credential_that_wrote)
{
	write_with(0, .credential = bob, .offset = 0, .count = 10);
	written(0);
	commit_with(1, .credential = alice);
	ck_assert_ptr_eq(out[0].io->credential, bob);
	committed();
	commit_with(2, .fh = &file_b,
		    .credential = alice); /* nothing written: the asker's */
	ck_assert_ptr_eq(out[0].io->credential, alice);
	committed();
}
END_TEST

START_TEST(p2_stable_write_answered_as_unstable_is_proven_first)
{
	write_with(0, .offset = 0, .count = 10, .stable = NFS3_FILE_SYNC);
	written_as(0, NFS3_UNSTABLE);
	expect("W0+10f C ");
	ck_assert_uint_eq(stats.commit_reason[COMMIT_REASON_STABLE_WRITE], 1);
	committed();
	expect("w0 ");
	ck_assert_int_eq(seen.write.committed, NFS3_FILE_SYNC);
	ck_assert_uint_eq(seen.write.count, 10);
	ck_assert(engine_is_clean(engine));
	commit_in(1);
	expect("c1 ");
}
END_TEST

START_TEST(p2_unstable_write_in_quarantine_goes_file_sync)
{
	write_in(0, 0, 10);
	write_failed(0, NFS3ERR_NOSPC);
	write_in(1, 0, 10);
	expect("W0+10 w0!28 W0+10f ");
	written(0);
	expect("w1 ");
	ck_assert_int_eq(seen.write.committed, NFS3_FILE_SYNC);
}
END_TEST

START_TEST(i7_answers_show_attributes_only_when_nothing_is_buffered)
{
	write_in(0, 0, 10);
	written(0);
	ck_assert(seen.write.wcc.has_after); /* passed through, nothing buffered */
	write_in(1, 100, 10);
	ck_assert(!seen.write.wcc.has_after); /* acked early */
	write_with(2, .credential = bob, .offset = 200, .count = 10);
	written(200);
	ck_assert(!seen.write.wcc.has_after); /* op[1]'s are not there yet */
	commit_in(3);
	written(100);
	committed();
	expect("W0+10 w0 w1 W200+10 w2 W100+10 C c3 ");
	ck_assert(seen.commit.wcc.has_after);
	write_in(4, 300, 10);
	commit_in(5);
	written(300);
	write_in(6, 400, 10); /* acked while the COMMIT is out */
	committed();
	expect("w4 W300+10 C w6 c5 ");
	ck_assert(!seen.commit.wcc.has_after);
}
END_TEST

START_TEST(i7_attributes_of_a_write_sent_before_others_arrived_are_not_shown)
{
	grant_to(alice);
	write_with(0, .credential = bob, .offset = 0, .count = 10);
	write_in(1, 100, 10);
	tick_after(engine_config_default.plug_max_us);
	written(100); /* arrived, after 0 was sent: 0's reply may be older */
	written(0);
	expect("W0+10 w1 W100+10 w0 ");
	ck_assert(!seen.write.wcc.has_after);
}
END_TEST

START_TEST(i7_attributes_of_a_downgraded_write_are_not_old)
{
	grant_to(alice);
	write_with(0, .offset = 0, .count = 10, .stable = NFS3_FILE_SYNC);
	written_as(0, NFS3_UNSTABLE);
	write_in(1, 100, 10); /* acked: the size has grown */
	committed();
	expect("W0+10f C w1 w0 ");
	ck_assert(!seen.write.wcc.has_after);
}
END_TEST

START_TEST(empty_write_is_answered_with_attributes)
{
	write_in(0, 5, 0);
	written(5);
	expect("W5+0 w0 ");
	ck_assert(seen.write.wcc.has_after);
}
END_TEST

START_TEST(old_written_bytes_are_committed_by_the_engine)
{
	uint64_t expire_us = engine_config_default.retained_expire_us;

	write_in(0, 0, 10);
	written(0);
	ck_assert_uint_le(engine_next_deadline_us(engine), now_us + expire_us);
	tick_after(expire_us - 1);
	expect("W0+10 w0 ");
	tick_after(1);
	expect("C ");
	ck_assert_uint_eq(stats.commit_reason[COMMIT_REASON_AGE], 1);
	committed();
	commit_in(1); /* and the client's own is free */
	expect("c1 ");
}
END_TEST

START_TEST(pressure_commits_the_largest_file_only)
{
	struct engine_config config = engine_config_default;
	struct nfs3_fh file_c = { .len = 1, .data = "c" };

	config.retained_bytes = 1000;
	use_config(&config);
	write_in(0, 0, 300);
	write_with(1, .fh = &file_b, .offset = 1000, .count = 400);
	write_with(2, .fh = &file_c, .offset = 2000, .count = 100);
	all_written();
	write_in(3, 3000, 150);
	tick_after(config.plug_max_us);
	all_written();
	ck_assert_uint_eq(stats.gauge[GAUGE_RETAINED_BYTES], 950);
	ck_assert_uint_eq(out_count, 0);
	write_with(4, .fh = &file_c, .offset = 4000, .count = 101);
	tick_after(config.plug_max_us);
	all_written();
	ck_assert_uint_eq(stats.commit_reason[COMMIT_REASON_MEMORY], 1);
	ck_assert_uint_eq(out_count, 1);
	ck_assert_uint_eq(out[0].io->fh->data[0], 'a');
}
END_TEST

START_TEST(relief_writes_back_all_and_commits_the_largest)
{
	grant_to(alice);
	write_with(0, .fh = &file_b, .offset = 500, .count = 100);
	write_with(1, .offset = 0, .count = 50, .credential = bob);
	all_written();
	write_in(2, 100, 10);
	write_with(3, .fh = &file_b, .offset = 600, .count = 10);
	(void)take_log();
	engine_relieve(engine);
	books_check();
	expect("W100+10 b:W600+10 b:C ");
	ck_assert_uint_eq(stats.write_reason[WRITE_REASON_MEMORY], 2);
	ck_assert_uint_eq(stats.commit_reason[COMMIT_REASON_MEMORY], 1);
	engine_relieve(engine); /* goes on with the next */
	books_check();
	expect("C ");
	engine_relieve(engine); /* nothing more to do */
	books_check();
	expect("");
	all_answered();
	engine_relieve(engine);
	all_answered();
	engine_relieve(engine);
	all_answered();
	ck_assert(engine_is_clean(engine));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("engine_commit");
	TCase *tcase = unit_case(suite, "commit");

	tcase_add_checked_fixture(tcase, engine_setup, engine_teardown);
	tcase_add_test(tcase, p1_commit_waits_for_what_was_acked_before_it);
	tcase_add_test(tcase,
		       p1_write_answered_while_a_commit_is_out_is_not_covered_by_it);
	tcase_add_test(tcase, p1_one_commit_is_out_and_later_ones_share_the_next);
	tcase_add_test(tcase, p1_commit_that_adds_nothing_shares_the_one_that_is_out);
	tcase_add_test(tcase, commits_of_two_files_do_not_wait_for_each_other);
	tcase_add_test(tcase, i11_commit_is_answered_at_once_when_all_is_proven);
	tcase_add_test(tcase, i11_data_sync_alone_does_not_prove);
	tcase_add_test(tcase, i11_unstable_write_answered_data_sync_needs_no_copy);
	tcase_add_test(tcase,
		       i11_failed_commit_of_an_unknown_file_is_answered_as_it_came);
	tcase_add_test(tcase, i11_failed_commit_of_an_unknown_file_is_not_shared);
	tcase_add_test(tcase, i11_one_good_commit_answers_all_that_ask);
	tcase_add_test(tcase, p6_commit_uses_a_credential_that_wrote);
	tcase_add_test(tcase, p2_stable_write_answered_as_unstable_is_proven_first);
	tcase_add_test(tcase, p2_unstable_write_in_quarantine_goes_file_sync);
	tcase_add_test(tcase, i7_answers_show_attributes_only_when_nothing_is_buffered);
	tcase_add_test(
		tcase,
		i7_attributes_of_a_write_sent_before_others_arrived_are_not_shown);
	tcase_add_test(tcase, i7_attributes_of_a_downgraded_write_are_not_old);
	tcase_add_test(tcase, empty_write_is_answered_with_attributes);
	tcase_add_test(tcase, old_written_bytes_are_committed_by_the_engine);
	tcase_add_test(tcase, pressure_commits_the_largest_file_only);
	tcase_add_test(tcase, relief_writes_back_all_and_commits_the_largest);
	return unit_run(suite);
}
