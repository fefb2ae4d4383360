/*
 * What the engine does so that clients need not notice: restarts of the upstream,
 * COMMITs that fail or are cut off, and which bytes it may write again at all.
 */
#include "unit/engine_fixture.h"

START_TEST(i3_restart_is_repaired_without_the_client)
{
	grant_to(alice);
	retain(0, 0, 10);
	upstream_verifier = u2;
	commit_in(1);
	committed();
	expect("C W0+10 "); /* written again, still UNSTABLE */
	written(0);
	expect("C ");
	committed();
	expect("c1 ");
	ck_assert(same(seen.commit.verifier, first_v));
	ck_assert_uint_eq(seen.rotations, 0);
	ck_assert_uint_eq(stats.value[STAT_REPLAYED_BYTES], 10);
	ck_assert_uint_eq(stats.write_reason[WRITE_REASON_REPLAY], 1);
	ck_assert(engine_is_clean(engine));
}
END_TEST

START_TEST(i3_passed_through_writes_are_kept_too)
{
	write_in(0, 0, 10);
	written(0);
	upstream_verifier = u2;
	commit_in(1);
	committed();
	expect("W0+10 w0 C W0+10 ");
	ck_assert_ptr_eq(out[0].io->credential, alice);
	all_answered();
	expect("C c1 ");
}
END_TEST

START_TEST(i3_only_bytes_of_the_old_life_are_written_again)
{
	grant_to(alice);
	retain(0, 0, 10);
	upstream_verifier = u2;
	retain(1, 100, 10);
	commit_in(2);
	committed();
	expect("C W0+10 ");
	ck_assert_uint_eq(stats.gauge[GAUGE_RETAINED_BYTES],
			  0); /* op[1]'s are proven */
	all_answered();
	expect("C c2 ");
}
END_TEST

START_TEST(i3_late_write_reply_of_the_old_life_is_not_forgotten)
{
	grant_to(alice);
	write_in(0, 0, 10);
	write_in(1, 100, 10);
	tick_after(engine_config_default.plug_max_us);
	written(0);
	upstream_verifier = u2;
	commit_in(2);
	upstream_verifier = u1;
	written(100);
	upstream_verifier = u2;
	expect("w0 w1 W0+10 W100+10 C ");
	committed();
	expect("W0+10 W100+10 ");
	all_answered();
	expect("C c2 ");
}
END_TEST

START_TEST(i3_after_two_rounds_bytes_are_written_file_sync)
{
	grant_to(alice);
	retain(0, 0, 10);
	commit_in(1);
	upstream_verifier = u2;
	committed();
	expect("C W0+10 ");
	written(0);
	upstream_verifier = u1;
	committed();
	expect("C W0+10 ");
	written(0);
	upstream_verifier = u2;
	committed();
	expect("C W0+10f ");
	written(0);
	expect("c1 ");
	ck_assert_uint_eq(seen.rotations, 0);
}
END_TEST

START_TEST(p2_stable_write_that_cannot_be_proven_fails)
{
	unsigned int rounds = 0;

	write_with(0, .offset = 0, .count = 10, .stable = NFS3_FILE_SYNC);
	while (op[0].state == ENGINE_OP_WAITING && rounds < 50) {
		upstream_verifier.data[0] = (uint8_t)rounds++;
		if (out[0].is_commit)
			committed();
		else
			written_as(0, NFS3_UNSTABLE);
	}
	ck_assert_uint_eq(seen.write.status, NFS3ERR_IO);
	ck_assert_uint_eq(out_count, 0);
	ck_assert_uint_eq(seen.losses, 0); /* nobody was told OK */
}
END_TEST

START_TEST(i9_replay_never_lies_over_newer_stable_bytes)
{
	grant_to(alice);
	retain(0, 0, 30);
	write_with(1, .offset = 10, .count = 10, .stable = NFS3_FILE_SYNC);
	written(10);
	expect("W10+10f w1 ");
	upstream_verifier = u2;
	commit_in(2);
	committed();
	expect("C W0+10 W20+10 ");
	all_answered();
	expect("C c2 ");
	disk_is(0, "AAAAAAAAAABBBBBBBBBBAAAAAAAAAA");
}
END_TEST

START_TEST(i9_stable_bytes_written_while_a_commit_is_out_are_not_written_over)
{
	grant_to(alice);
	retain(0, 0, 30);
	commit_in(1);
	write_with(2, .offset = 10, .count = 10, .stable = NFS3_FILE_SYNC);
	written(10);
	expect("C W10+10f w2 ");
	upstream_verifier = u2;
	committed();
	expect("W0+10 W20+10 ");
	all_answered();
	expect("C c1 ");
	disk_is(0, "AAAAAAAAAACCCCCCCCCCAAAAAAAAAA");
}
END_TEST

START_TEST(i9_replay_waits_for_newer_bytes_that_are_out_and_gives_way)
{
	grant_to(alice);
	retain(0, 0, 30);
	commit_in(1);
	expect("C ");
	write_with(2, .offset = 10, .count = 10, .stable = NFS3_FILE_SYNC);
	upstream_verifier = u2;
	committed();
	expect("W10+10f "); /* the older ones must not be out with it */
	written(10);
	expect("W0+10 W20+10 w2 ");
	all_answered();
	expect("C c1 ");
	disk_is(0, "AAAAAAAAAACCCCCCCCCCAAAAAAAAAA");
}
END_TEST

START_TEST(i9_replay_goes_before_newer_bytes_that_wait)
{
	grant_to(alice);
	retain(0, 0, 30);
	commit_in(1);
	write_with(2, .offset = 100, .count = 10, .stable = NFS3_FILE_SYNC);
	write_with(3, .offset = 10, .count = 100, .stable = NFS3_FILE_SYNC);
	expect("C W100+10f ");
	upstream_verifier = u2;
	committed();
	expect("W0+30 ");
	written(100);
	expect("w2 ");
	written(0);
	expect("W10+100f C ");
	written(10);
	all_answered();
	disk_is(5, "AAAAADDDDD");
}
END_TEST

START_TEST(i5_newer_bytes_take_over_what_waits_for_older_ones)
{
	grant_to(alice);
	retain(0, 0, 10);
	write_in(1, 100, 10); /* keeps the COMMIT waiting */
	commit_in(2);
	write_in(3, 0, 10);
	tick_after(engine_config_default.plug_max_us);
	expect("w1 W100+10 w3 W0+10 ");
	written(0); /* newer, over what op[2] waits for */
	ck_assert_uint_eq(stats.gauge[GAUGE_RETAINED_BYTES], 10);
	written(100);
	expect("C ");
	upstream_verifier = u2;
	committed();
	expect("W0+10 W100+10 "); /* op[3]'s bytes, and the COMMIT still waits */
	all_answered();
	expect("C c2 ");
	disk_is(0, letters(3, 10));
}
END_TEST

START_TEST(i5_commit_out_may_prove_the_older_of_two_versions)
{
	grant_to(alice);
	retain(0, 0, 10);
	commit_in(1);
	write_in(2, 0, 10);
	tick_after(engine_config_default.plug_max_us);
	written(0);
	expect("C w2 W0+10 ");
	ck_assert_uint_eq(stats.gauge[GAUGE_RETAINED_BYTES], 20);
	committed();
	expect("c1 ");
	ck_assert_uint_eq(stats.gauge[GAUGE_RETAINED_BYTES], 10);
}
END_TEST

START_TEST(i5_newer_version_takes_over_when_the_older_is_not_proven)
{
	grant_to(alice);
	retain(0, 0, 10);
	commit_in(1);
	write_in(2, 0, 10);
	tick_after(engine_config_default.plug_max_us);
	upstream_verifier = u2;
	written(0);
	expect("C w2 W0+10 ");
	committed(); /* neither version is proven */
	expect("C ");
	committed();
	expect("c1 ");
	ck_assert_uint_eq(stats.value[STAT_REPLAYED_BYTES], 0);
}
END_TEST

START_TEST(i5_older_version_not_proven_is_not_written_over_the_newer)
{
	grant_to(alice);
	retain(0, 0, 30);
	commit_in(1);
	write_in(2, 10, 10);
	tick_after(engine_config_default.plug_max_us);
	upstream_verifier = u2;
	written(10);
	expect("C w2 W10+10 ");
	committed();
	ck_assert_int_eq(strncmp(take_log(), "W0+10 W20+10 ", 13),
			 0); /* not 10 to 20 */
	all_answered();
	ck_assert_int_eq(op[1].state, ENGINE_OP_ANSWERED);
	ck_assert_uint_eq(stats.value[STAT_REPLAYED_BYTES], 20);
	disk_is(0, "AAAAAAAAAACCCCCCCCCCAAAAAAAAAA");
}
END_TEST

START_TEST(p1_failed_commit_writes_again_file_sync)
{
	grant_to(alice);
	retain(0, 0, 10);
	commit_in(1);
	write_in(2, 100, 10);
	tick_after(engine_config_default.plug_max_us);
	written(100); /* written while the COMMIT is out: in doubt as well */
	expect("C w2 W100+10 ");
	commit_failed(NFS3ERR_IO);
	expect("W0+10f W100+10f ");
	written(0);
	expect("c1 "); /* it worked: nobody has to know */
	written(100);
	ck_assert_uint_eq(seen.commit.status, NFS3_OK);
	ck_assert_uint_eq(seen.losses + seen.rotations, 0);
	ck_assert(engine_is_clean(engine));
}
END_TEST

START_TEST(p1_write_on_its_way_when_a_commit_fails_is_sent_once_more)
{
	grant_to(alice);
	retain(0, 0, 10);
	commit_in(1);
	write_in(2, 100, 10);
	write_with(3, .credential = bob, .offset = 200, .count = 10);
	write_with(4, .offset = 300, .count = 10, .stable = NFS3_FILE_SYNC);
	tick_after(engine_config_default.plug_max_us);
	expect("C w2 W200+10 W300+10f W100+10 ");
	commit_failed(NFS3ERR_IO);
	expect("W0+10f ");
	written(100);
	written(200);
	expect("W100+10 W200+10 "); /* not answered yet */
	written(300);		    /* stable: nothing to doubt */
	expect("w4 ");
	written(200);
	expect("w3 ");
	written(100);
	written(0);
	expect("c1 ");
	commit_in(5);
	all_answered();
	expect("C c5 ");
}
END_TEST

START_TEST(p1_commit_sent_again_proves_nothing)
{
	grant_to(alice);
	retain(0, 0, 10);
	commit_in(1);
	write_in(2, 100, 10);
	tick_after(engine_config_default.plug_max_us);
	expect("C w2 W100+10 ");
	committed_resent(); /* its first answer may have been an error, told once */
	expect("W0+10 ");
	written(0);
	expect("C ");
	written(100);
	expect("W100+10 ");
	committed();
	expect("c1 ");
	ck_assert_uint_eq(seen.rotations, 0);
	written(100);
}
END_TEST

START_TEST(p1_refused_commit_is_like_a_failed_one)
{
	grant_to(alice);
	retain(0, 0, 10);
	commit_in(1);
	commit_refused(3, false);
	expect("C W0+10f ");
	written(0);
	expect("c1 ");
}
END_TEST

START_TEST(p1_resent_jukebox_of_an_asker_doubts_what_was_written_since)
{
	struct engine_io *io;

	commit_in(0); /* nothing known: asked upstream */
	write_in(1, 0, 10);
	written(0);
	expect("C W0+10 w1 ");
	io = out[0].io;
	out_count = 0;
	engine_on_commit_result(
		engine, io, &(struct engine_commit_result){ .status = NFS3ERR_JUKEBOX },
		true);
	books_check();
	/* the first sending may have told an error of op[1]'s bytes already */
	expect("W0+10 c0!10008 ");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("engine_repair");
	TCase *tcase = unit_case(suite, "repair");

	tcase_add_checked_fixture(tcase, engine_setup, engine_teardown);
	tcase_add_test(tcase, i3_restart_is_repaired_without_the_client);
	tcase_add_test(tcase, i3_passed_through_writes_are_kept_too);
	tcase_add_test(tcase, i3_only_bytes_of_the_old_life_are_written_again);
	tcase_add_test(tcase, i3_late_write_reply_of_the_old_life_is_not_forgotten);
	tcase_add_test(tcase, i3_after_two_rounds_bytes_are_written_file_sync);
	tcase_add_test(tcase, p2_stable_write_that_cannot_be_proven_fails);
	tcase_add_test(tcase, i9_replay_never_lies_over_newer_stable_bytes);
	tcase_add_test(
		tcase,
		i9_stable_bytes_written_while_a_commit_is_out_are_not_written_over);
	tcase_add_test(tcase,
		       i9_replay_waits_for_newer_bytes_that_are_out_and_gives_way);
	tcase_add_test(tcase, i9_replay_goes_before_newer_bytes_that_wait);
	tcase_add_test(tcase, i5_newer_bytes_take_over_what_waits_for_older_ones);
	tcase_add_test(tcase, i5_commit_out_may_prove_the_older_of_two_versions);
	tcase_add_test(tcase, i5_newer_version_takes_over_when_the_older_is_not_proven);
	tcase_add_test(tcase,
		       i5_older_version_not_proven_is_not_written_over_the_newer);
	tcase_add_test(tcase, p1_failed_commit_writes_again_file_sync);
	tcase_add_test(tcase,
		       p1_write_on_its_way_when_a_commit_fails_is_sent_once_more);
	tcase_add_test(tcase, p1_commit_sent_again_proves_nothing);
	tcase_add_test(tcase, p1_refused_commit_is_like_a_failed_one);
	tcase_add_test(tcase,
		       p1_resent_jukebox_of_an_asker_doubts_what_was_written_since);
	return unit_run(suite);
}
