/*
 * JUKEBOX and short WRITEs: what the engine tries again, how long it waits, and what
 * it leaves to the client.
 */
#include "unit/engine_fixture.h"

START_TEST(jukebox_of_acked_bytes_is_tried_again)
{
	uint64_t first = engine_config_default.retry_first_us;

	grant_to(alice);
	write_in(0, 0, 10);
	commit_in(1);
	write_failed(0, NFS3ERR_JUKEBOX);
	expect("w0 W0+10 ");
	ck_assert_uint_eq(engine_next_deadline_us(engine), now_us + first);
	write_with(2, .credential = bob, .offset = 100, .count = 10);
	expect(""); /* nothing of the file goes out */
	tick_after(first - 1);
	expect("");
	tick_after(1);
	expect("W0+10 W100+10 ");
	write_failed(0, NFS3ERR_JUKEBOX);
	ck_assert_uint_eq(engine_next_deadline_us(engine), now_us + 2 * first);
	tick_after(2 * first);
	expect("W0+10 ");
	written(0);
	expect("C ");
	written(100);
	committed();
	expect("w2 c1 ");
	ck_assert_uint_eq(seen.losses, 0);
	/* and the next one begins with the short wait again */
	write_in(3, 200, 10);
	tick_after(engine_config_default.plug_max_us);
	write_failed(200, NFS3ERR_JUKEBOX);
	ck_assert_uint_eq(engine_next_deadline_us(engine), now_us + first);
}
END_TEST

START_TEST(jukebox_backs_off_once_for_many_replies)
{
	unsigned int i;

	grant_to(alice);
	for (i = 0; i < 8; i++)
		write_in(i, 1000u * i, 10);
	commit_in(8);
	for (i = 0; i < 8; i++)
		write_failed(1000u * i, NFS3ERR_JUKEBOX);
	ck_assert_uint_eq(engine_next_deadline_us(engine),
			  now_us + engine_config_default.retry_first_us);
	tick_at(engine_next_deadline_us(engine));
	all_answered();
	ck_assert(engine_is_clean(engine));
}
END_TEST

START_TEST(jukebox_waits_no_longer_than_retry_max)
{
	unsigned int i;

	grant_to(alice);
	write_in(0, 0, 10);
	commit_in(1);
	for (i = 0; i < 12; i++) {
		uint64_t wait;

		write_failed(0, NFS3ERR_JUKEBOX);
		wait = engine_next_deadline_us(engine) - now_us;
		ck_assert_uint_le(wait, engine_config_default.retry_max_us);
		tick_after(wait);
	}
	written(0);
	committed();
	ck_assert_ptr_nonnull(strstr(take_log(), "c1 "));
}
END_TEST

START_TEST(jukebox_of_a_commit_holds_it)
{
	grant_to(alice);
	retain(0, 0, 10);
	commit_in(1);
	commit_failed(NFS3ERR_JUKEBOX);
	expect("C ");
	ck_assert_uint_eq(stats.gauge[GAUGE_RETAINED_BYTES], 10);
	tick_at(engine_next_deadline_us(engine));
	expect("C ");
	committed();
	expect("c1 ");
	ck_assert_uint_eq(stats.value[STAT_REPLAYED_BYTES], 0);
}
END_TEST

START_TEST(jukebox_of_unacked_writes_is_passed_on)
{
	write_in(0, 0, 10);
	write_failed(0, NFS3ERR_JUKEBOX);
	expect("W0+10 w0!10008 ");
	ck_assert_uint_eq(stats.value[STAT_QUARANTINES], 0);
	write_in(1, 0, 10);
	expect("W0+10 "); /* at once */
	written(0);
	write_in(2, 0, 10);
	expect("w1 w2 ");
}
END_TEST

START_TEST(short_write_goes_on_where_it_stopped)
{
	grant_to(alice);
	write_in(0, 0, 100);
	commit_in(1);
	written_short(0, 30, NFS3_UNSTABLE);
	expect("w0 W0+100 W30+70 ");
	written_short(30, 50, NFS3_UNSTABLE);
	expect("W80+20 ");
	ck_assert_uint_eq(stats.write_reason[WRITE_REASON_RETRY], 2);
	written(80);
	expect("C ");
	committed();
	expect("c1 ");
	disk_is(0, letters(0, 100));
}
END_TEST

START_TEST(short_write_of_a_stable_call_is_as_stable_as_its_least_part)
{
	write_with(0, .offset = 0, .count = 100, .stable = NFS3_FILE_SYNC);
	written_short(0, 30, NFS3_UNSTABLE);
	expect("W0+100f W30+70f ");
	written_as(30, NFS3_FILE_SYNC);
	expect("C ");
	committed();
	expect("w0 ");
	ck_assert_uint_eq(seen.write.count, 100);
	ck_assert_int_eq(seen.write.committed, NFS3_FILE_SYNC);
}
END_TEST

START_TEST(p1_first_part_of_a_short_write_is_repaired_after_a_restart)
{
	grant_to(alice);
	write_in(0, 0, 100);
	commit_in(1);
	written_short(0, 30, NFS3_UNSTABLE);
	upstream_verifier = u2; /* restarted between the parts */
	written(30);
	while (op[1].state == ENGINE_OP_WAITING) {
		memset(seen.log, 0, sizeof(seen.log));
		ck_assert_uint_gt(out_count, 0);
		if (out[0].is_commit)
			committed();
		else
			written(out[0].io->offset);
	}
	/* all of it went out again under the new verifier */
	ck_assert_uint_ge(stats.value[STAT_REPLAYED_BYTES], 30);
	ck_assert_uint_eq(seen.rotations, 0);
}
END_TEST

START_TEST(p1_doubt_counts_for_the_first_part_of_a_short_write)
{
	grant_to(alice);
	retain(0, 500, 10);
	write_in(1, 0, 100);
	tick_after(engine_config_default.plug_max_us);
	written_short(0, 30, NFS3_UNSTABLE);
	commit_in(2); /* arrives in time for the COMMIT to be sent by age */
	(void)take_log();
	tick_after(engine_config_default.retained_expire_us);
	expect("C ");
	commit_failed(NFS3ERR_IO);
	expect("W500+10f ");
	written_as(30, NFS3_FILE_SYNC);
	expect("W0+100 "); /* the first 30 may have been thrown away */
	all_answered();
	expect("C c2 ");
}
END_TEST

START_TEST(short_write_of_nothing_is_an_error)
{
	write_with(0, .offset = 0, .count = 100, .stable = NFS3_FILE_SYNC);
	written_short(0, 0, NFS3_FILE_SYNC);
	expect("W0+100f w0!5 ");
	grant_to(alice);
	(void)take_log();
}
END_TEST

START_TEST(p1_doubt_outlives_jukebox_of_the_rest)
{
	grant_to(alice);
	retain(0, 500, 10);
	write_in(1, 0, 100);
	tick_after(engine_config_default.plug_max_us);
	written_short(0, 30, NFS3_UNSTABLE);
	tick_after(engine_config_default.retained_expire_us);
	expect("w1 W0+100 W30+70 C ");
	commit_failed(NFS3ERR_IO); /* the first 30 may have been thrown away */
	write_failed(30, NFS3ERR_JUKEBOX);
	tick_at(engine_next_deadline_us(engine));
	all_answered();
	ck_assert_ptr_nonnull(strstr(take_log(), "W0+100 "));
	commit_in(2);
	all_answered();
	ck_assert(engine_is_clean(engine));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("engine_retry");
	TCase *tcase = unit_case(suite, "retry");

	tcase_add_checked_fixture(tcase, engine_setup, engine_teardown);
	tcase_add_test(tcase, jukebox_of_acked_bytes_is_tried_again);
	tcase_add_test(tcase, jukebox_backs_off_once_for_many_replies);
	tcase_add_test(tcase, jukebox_waits_no_longer_than_retry_max);
	tcase_add_test(tcase, jukebox_of_a_commit_holds_it);
	tcase_add_test(tcase, jukebox_of_unacked_writes_is_passed_on);
	tcase_add_test(tcase, short_write_goes_on_where_it_stopped);
	tcase_add_test(tcase,
		       short_write_of_a_stable_call_is_as_stable_as_its_least_part);
	tcase_add_test(tcase,
		       p1_first_part_of_a_short_write_is_repaired_after_a_restart);
	tcase_add_test(tcase, p1_doubt_counts_for_the_first_part_of_a_short_write);
	tcase_add_test(tcase, short_write_of_nothing_is_an_error);
	tcase_add_test(tcase, p1_doubt_outlives_jukebox_of_the_rest);
	return unit_run(suite);
}
