/*
 * Acked bytes that are lost: the verifier changes, and every client with acked bytes
 * in the file is told by an error, once (I2, P1).
 */
#include "unit/engine_fixture.h"

static void retain_for(unsigned int i, uint64_t client, uint64_t offset, uint32_t count)
{
	write_with(i, .client_id = client, .offset = offset, .count = count);
	tick_after(engine_config_default.plug_max_us);
	if (op[i].state == ENGINE_OP_WAITING || out_count > 0)
		written(offset);
	ck_assert_int_eq(op[i].state, ENGINE_OP_ANSWERED);
	(void)take_log();
}

START_TEST(p1_commit_that_waits_is_told_of_lost_bytes)
{
	grant_to(alice);
	write_in(0, 0, 10);
	commit_in(1);
	write_failed(0, NFS3ERR_NOSPC);
	expect("w0 W0+10 c1!28 ");
	ck_assert_uint_eq(seen.losses, 1);
	ck_assert_uint_eq(seen.lost_bytes, 10);
	ck_assert_uint_eq(seen.lost_status, NFS3ERR_NOSPC);
	ck_assert_uint_eq(stats.value[STAT_LOST_BYTES], 10);
	ck_assert_uint_eq(seen.rotations, 1);
	ck_assert(!same(seen.commit.verifier, first_v)); /* I4 */
	ck_assert(same(seen.commit.verifier, engine_verifier(engine)));
	ck_assert(engine_is_clean(engine));
	commit_in(2);
	expect("c2 "); /* told once */
}
END_TEST

START_TEST(p1_error_waits_for_the_next_commit)
{
	grant_to(alice);
	write_in(0, 0, 10);
	tick_after(engine_config_default.plug_max_us);
	write_failed(0, NFS3ERR_DQUOT);
	expect("w0 W0+10 ");
	ck_assert_uint_eq(stats.value[STAT_STICKY_ERRORS], 1);
	commit_with(1, .client_id = 2); /* not this one's bytes */
	expect("c1 ");
	commit_in(2);
	expect("c2!69 ");
	commit_in(3);
	expect("c3 ");
	ck_assert_uint_eq(seen.rotations, 1);
	ck_assert_uint_eq(stats.value[STAT_VERIFIER_ROTATIONS], 1);
}
END_TEST

START_TEST(p1_failed_commit_and_failed_repair_lose_the_bytes)
{
	grant_to(alice);
	retain_for(0, 1, 0, 10);
	retain_for(1, 1, 100, 10);
	commit_in(2);
	commit_failed(NFS3ERR_IO);
	expect("C W0+10f W100+10f ");
	write_failed(0, NFS3ERR_IO);
	expect("c2!5 ");
	written(100);
	ck_assert_uint_eq(seen.lost_bytes, 10);
	ck_assert_uint_eq(seen.rotations, 1);
	commit_in(3);
	expect("c3 ");
}
END_TEST

START_TEST(p1_repair_answered_unstable_and_failing_again_is_lost)
{
	grant_to(alice);
	retain_for(0, 1, 0, 10);
	commit_in(1);
	commit_failed(NFS3ERR_IO);
	written_as(0, NFS3_UNSTABLE); /* though FILE_SYNC was asked */
	expect("C W0+10f C ");
	commit_failed(NFS3ERR_IO);
	expect("c1!5 ");
	ck_assert_uint_eq(seen.losses, 1);
	ck_assert(engine_is_clean(engine));
}
END_TEST

START_TEST(p1_every_owner_is_told)
{
	grant_to(alice);
	retain_for(0, 1, 0, 10);
	retain_for(1, 2, 100, 10);
	commit_with(2, .client_id = 1);
	commit_failed(NFS3ERR_NOSPC);
	write_failed(0, NFS3ERR_NOSPC);
	expect("C W0+10f W100+10f c2!28 ");
	write_failed(100, NFS3ERR_NOSPC);
	commit_with(3, .client_id = 2);
	expect("c3!28 ");
	commit_with(4, .client_id = 1);
	commit_with(5, .client_id = 2);
	expect("c4 c5 ");
}
END_TEST

START_TEST(i2_client_whose_bytes_are_proven_is_not_told)
{
	grant_to(alice);
	retain_for(0, 1, 0, 10);
	commit_with(1, .client_id = 1);
	committed();
	retain_for(2, 2, 100, 10);
	commit_with(3, .client_id = 3);
	commit_failed(NFS3ERR_IO);
	write_failed(100, NFS3ERR_IO);
	expect("C W100+10f c3!5 ");
	commit_with(4, .client_id = 1);
	expect("c4 ");
	commit_with(5, .client_id = 2);
	expect("c5!5 ");
}
END_TEST

START_TEST(p1_commit_sent_before_the_ack_does_not_count_as_told)
{
	grant_to(alice);
	retain_for(0, 1, 0, 10);
	commit_in(1); /* arrives before op[2] is acked */
	write_in(2, 100, 10);
	tick_after(engine_config_default.plug_max_us);
	expect("C w2 W100+10 ");
	write_failed(100, NFS3ERR_NOSPC);
	expect("c1!28 ");
	/* its client connects the error with op[0] only: once more */
	commit_in(3);
	expect("c3!28 ");
	all_answered();
}
END_TEST

START_TEST(i2_client_told_once_of_one_event)
{
	grant_to(alice);
	write_in(0, 0, 10);
	write_in(1, 100, 10);
	write_in(2, 200, 10);
	commit_in(3);
	write_failed(0, NFS3ERR_NOSPC);
	expect("w0 w1 w2 W0+10 W100+10 W200+10 c3!28 ");
	write_failed(100, NFS3ERR_NOSPC);
	write_failed(200, NFS3ERR_NOSPC);
	commit_in(4);
	expect("c4 "); /* nothing was acked since op[3] was told */
	ck_assert_uint_eq(stats.value[STAT_STICKY_ERRORS], 0);
}
END_TEST

START_TEST(i2_one_event_changes_the_verifier_once)
{
	grant_to(alice);
	write_in(0, 0, 10);
	write_in(1, 100, 10);
	tick_after(engine_config_default.plug_max_us);
	write_failed(0, NFS3ERR_NOSPC);
	ck_assert_uint_eq(seen.rotations, 1);
	write_failed(100, NFS3ERR_NOSPC); /* acked under the old one as well */
	ck_assert_uint_eq(seen.rotations, 1);
	ck_assert_uint_eq(seen.losses, 2);
	/* what is acked from now on is another event */
	write_with(2, .client_id = 1, .offset = 0, .count = 10);
	write_with(3, .client_id = 1, .offset = 100, .count = 10,
		   .stable = NFS3_DATA_SYNC);
	written_as(0, NFS3_UNSTABLE);
	written(100);
	(void)take_log();
	commit_with(4, .client_id = 2);
	commit_failed(NFS3ERR_NOSPC);
	write_failed(0, NFS3ERR_NOSPC);
	ck_assert_uint_eq(seen.losses, 3);
	ck_assert_uint_eq(seen.rotations, 2);
}
END_TEST

START_TEST(i2_client_told_by_its_next_commit_is_told_once_too)
{
	grant_to(alice);
	write_in(0, 0, 10);
	write_in(1, 100, 10);
	tick_after(engine_config_default.plug_max_us);
	write_failed(0, NFS3ERR_NOSPC);
	commit_in(2);
	expect("w0 w1 W0+10 W100+10 c2!28 ");
	write_failed(100, NFS3ERR_NOSPC);
	commit_in(3);
	expect("c3 ");
}
END_TEST

START_TEST(i2_more_clients_than_can_be_remembered_have_the_verifier)
{
	unsigned int i;

	grant_to(alice);
	for (i = 0; i < 10; i++)
		retain_for(i, 1 + i, 10 * i, 10);
	commit_with(10, .client_id = 1);
	commit_failed(NFS3ERR_IO);
	(void)take_log();
	while (out_count > 0)
		write_failed(out[0].io->offset, NFS3ERR_IO);
	expect("c10!5 ");
	ck_assert_uint_ge(seen.rotations, 1);
	ck_assert(!same(seen.commit.verifier, first_v));
	ck_assert_uint_eq(seen.lost_bytes, 100);
	ck_assert(engine_is_clean(engine));
	for (i = 1; i < 10; i++) {
		commit_with(20, .client_id = 1 + i);
		ck_assert_int_eq(op[20].state, ENGINE_OP_ANSWERED);
		ck_assert_uint_eq(seen.commit.status, i < 8 ? NFS3ERR_IO : NFS3_OK);
		ck_assert(same(seen.commit.verifier, engine_verifier(engine)));
	}
}
END_TEST

START_TEST(i4_commit_that_tells_a_loss_carries_the_new_verifier)
{
	unsigned int i;

	grant_to(alice);
	for (i = 0; i < 9; i++)
		retain_for(i, 1 + i, 10 * i, 10);
	write_with(10, .client_id = 1, .offset = 500, .count = 10);
	expect("W500+10 ");
	commit_with(11, .client_id = 9);
	written(500); /* op[10] was acked with the old one */
	ck_assert(same(seen.write.verifier, first_v));
	commit_failed(NFS3ERR_IO);
	(void)take_log();
	write_failed(0, NFS3ERR_IO);
	expect("c11!5 ");
	ck_assert(!same(seen.commit.verifier, first_v));
	all_answered();
}
END_TEST

START_TEST(error_nobody_asks_for_is_given_up_in_the_end)
{
	uint64_t sticky_us = engine_config_default.sticky_us;

	grant_to(alice);
	write_in(0, 0, 10);
	tick_after(engine_config_default.plug_max_us);
	write_failed(0, NFS3ERR_NOSPC);
	ck_assert_uint_eq(engine_next_deadline_us(engine), now_us + sticky_us);
	tick_after(sticky_us - 1);
	ck_assert_uint_eq(engine_next_deadline_us(engine), now_us + 1);
	tick_after(1);
	ck_assert_uint_eq(engine_next_deadline_us(engine), UINT64_MAX);
	commit_in(1);
	expect("w0 W0+10 c1 ");
	ck_assert(!same(seen.commit.verifier, first_v));
}
END_TEST

START_TEST(sticky_deadline_is_never_late)
{
	uint64_t sticky_us = engine_config_default.sticky_us;
	uint64_t second = 0;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		write_with(i, .client_id = 1 + i, .offset = 0, .count = 10);
		written_as(0, NFS3_UNSTABLE);
		commit_with(10, .client_id = 99);
		commit_failed(NFS3ERR_IO);
		write_failed(0, NFS3ERR_IO);
		(void)take_log();
		if (i == 1)
			second = now_us;
		tick_after(1000);
	}
	commit_with(20,
		    .client_id = 1); /* takes the first; the last moves to its place */
	expect("c20!5 ");
	ck_assert_uint_eq(engine_next_deadline_us(engine), second + sticky_us);
}
END_TEST

START_TEST(i2_unacked_bytes_that_fail_are_no_loss)
{
	write_in(0, 0, 10);
	write_failed(0, NFS3ERR_NOSPC);
	write_with(1, .offset = 0, .count = 10, .stable = NFS3_FILE_SYNC);
	written_as(0, NFS3_UNSTABLE);
	commit_failed(NFS3ERR_NOSPC);
	write_failed(0, NFS3ERR_NOSPC);
	expect("W0+10 w0!28 W0+10f C W0+10f w1!28 ");
	ck_assert_uint_eq(seen.losses + seen.rotations, 0);
	ck_assert_uint_eq(stats.value[STAT_STICKY_ERRORS], 0);
}
END_TEST

START_TEST(p2_lost_bytes_of_a_stable_write_are_its_error_in_any_generation)
{
	grant_to(alice);
	write_with(0, .offset = 0, .count = 10, .stable = NFS3_FILE_SYNC);
	commit_in(1); /* freezes: what comes now is another generation */
	write_in(2, 500, 10);
	expect("W0+10f w2 ");
	written_as(0, NFS3_UNSTABLE);
	expect("W500+10 C ");
	written(500);
	commit_failed(NFS3ERR_NOSPC);
	expect("W0+10f W500+10f ");
	write_failed(0, NFS3ERR_NOSPC);
	ck_assert_ptr_nonnull(strstr(take_log(), "w0!28 "));
	all_answered();
	(void)take_log();
}
END_TEST

START_TEST(p1_bytes_replaced_by_a_write_that_is_lost_are_told)
{
	grant_to(alice);
	retain_for(0, 1, 0, 10);
	/* replaces them, is not acked, and is lost */
	write_with(1, .client_id = 2, .offset = 0, .count = 10,
		   .stable = NFS3_FILE_SYNC);
	written_as(0, NFS3_UNSTABLE);
	commit_failed(NFS3ERR_NOSPC);
	write_failed(0, NFS3ERR_NOSPC);
	expect("W0+10f C W0+10f w1!28 ");
	ck_assert_uint_eq(seen.losses, 1);
	commit_with(2, .client_id = 1);
	expect("c2!28 ");
}
END_TEST

START_TEST(p1_first_part_of_a_short_write_is_acked_too)
{
	write_in(0, 0, 100);
	written_short(0, 30, NFS3_UNSTABLE);
	written(30);
	expect("W0+100 W30+70 w0 ");
	commit_with(1, .client_id = 2);
	commit_failed(NFS3ERR_NOSPC);
	(void)take_log();
	write_failed(0, NFS3ERR_NOSPC);
	ck_assert_uint_ge(seen.lost_bytes, 30);
	while (out_count > 0)
		write_failed(out[0].io->offset, NFS3ERR_NOSPC);
	(void)take_log();
	commit_with(2, .client_id = 1);
	expect("c2!28 ");
}
END_TEST

START_TEST(p1_refused_write_of_acked_bytes_is_lost_as_io)
{
	grant_to(alice);
	write_in(0, 0, 10);
	commit_in(1);
	write_refused(0, 4);
	expect("w0 W0+10 c1!5 ");
}
END_TEST

START_TEST(p1_stale_is_told_though_a_later_commit_would_succeed)
{
	grant_to(alice);
	write_in(0, 0, 10);
	tick_after(engine_config_default.plug_max_us);
	write_failed(0, NFS3ERR_STALE);
	commit_in(1);
	expect("w0 W0+10 c1!70 ");
}
END_TEST

START_TEST(stale_of_a_removed_file_is_no_loss)
{
	grant_to(alice);
	retain_for(0, 1, 500, 10);
	write_in(1, 0, 10);
	commit_in(2);
	engine_on_removed(engine, &file_a);
	engine_on_removed(engine, &file_b); /* nothing known: nothing to do */
	write_failed(0, NFS3ERR_STALE);
	expect("w1 W0+10 c2!70 "); /* who asks is told */
	ck_assert_uint_eq(seen.losses + seen.rotations, 0);
	ck_assert_uint_eq(stats.value[STAT_STICKY_ERRORS], 0);
	write_in(3, 0, 10);
	expect("W0+10 "); /* not acked into nowhere */
	write_failed(0, NFS3ERR_STALE);
	expect("w3!70 ");
	/* other errors are errors */
	commit_with(4, .client_id = 2);
	commit_failed(NFS3ERR_IO);
	write_failed(500, NFS3ERR_IO);
	ck_assert_uint_eq(seen.losses, 1);
	ck_assert_uint_eq(seen.rotations, 1);
}
END_TEST

START_TEST(p1_removed_file_that_answers_is_not_removed)
{
	grant_to(alice);
	engine_on_removed(engine, &file_a);
	write_in(0, 0, 10); /* another link is left */
	tick_after(engine_config_default.plug_max_us);
	written(0);
	write_in(1, 100, 10);
	tick_after(engine_config_default.plug_max_us);
	write_failed(100, NFS3ERR_STALE);
	ck_assert_uint_eq(seen.losses, 1);
	ck_assert_uint_eq(seen.rotations, 1);
}
END_TEST

START_TEST(early_acks_end_where_bytes_were_lost)
{
	grant_to(alice);
	write_in(0, 0, 10);
	commit_in(1);
	write_failed(0, NFS3ERR_NOSPC);
	write_in(2, 0, 10);
	expect("w0 W0+10 c1!28 W0+10f ");
	ck_assert_uint_eq(stats.value[STAT_QUARANTINES], 1);
	written(0);
	expect("w2 ");
}
END_TEST

START_TEST(commit_out_for_nothing_is_not_ended_by_a_loss)
{
	grant_to(alice);
	write_with(0, .offset = 0, .count = 1, .stable = NFS3_DATA_SYNC);
	written(0); /* so that COMMITs are asked upstream */
	commit_in(1);
	expect("W0+1d w0 C ");
	write_in(2, 100, 10);
	tick_after(engine_config_default.plug_max_us);
	write_failed(100, NFS3ERR_NOSPC);
	expect("w2 W100+10 ");
	committed();
	ck_assert_int_eq(op[1].state, ENGINE_OP_ANSWERED);
	(void)take_log();
	commit_in(3);
	expect("c3!28 ");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("engine_loss");
	TCase *tcase = unit_case(suite, "loss");

	tcase_add_checked_fixture(tcase, engine_setup, engine_teardown);
	tcase_add_test(tcase, p1_commit_that_waits_is_told_of_lost_bytes);
	tcase_add_test(tcase, p1_error_waits_for_the_next_commit);
	tcase_add_test(tcase, p1_failed_commit_and_failed_repair_lose_the_bytes);
	tcase_add_test(tcase, p1_repair_answered_unstable_and_failing_again_is_lost);
	tcase_add_test(tcase, p1_every_owner_is_told);
	tcase_add_test(tcase, i2_client_whose_bytes_are_proven_is_not_told);
	tcase_add_test(tcase, p1_commit_sent_before_the_ack_does_not_count_as_told);
	tcase_add_test(tcase, i2_client_told_once_of_one_event);
	tcase_add_test(tcase, i2_one_event_changes_the_verifier_once);
	tcase_add_test(tcase, i2_client_told_by_its_next_commit_is_told_once_too);
	tcase_add_test(tcase, i2_more_clients_than_can_be_remembered_have_the_verifier);
	tcase_add_test(tcase, i4_commit_that_tells_a_loss_carries_the_new_verifier);
	tcase_add_test(tcase, error_nobody_asks_for_is_given_up_in_the_end);
	tcase_add_test(tcase, sticky_deadline_is_never_late);
	tcase_add_test(tcase, i2_unacked_bytes_that_fail_are_no_loss);
	tcase_add_test(tcase,
		       p2_lost_bytes_of_a_stable_write_are_its_error_in_any_generation);
	tcase_add_test(tcase, p1_bytes_replaced_by_a_write_that_is_lost_are_told);
	tcase_add_test(tcase, p1_first_part_of_a_short_write_is_acked_too);
	tcase_add_test(tcase, p1_refused_write_of_acked_bytes_is_lost_as_io);
	tcase_add_test(tcase, p1_stale_is_told_though_a_later_commit_would_succeed);
	tcase_add_test(tcase, stale_of_a_removed_file_is_no_loss);
	tcase_add_test(tcase, p1_removed_file_that_answers_is_not_removed);
	tcase_add_test(tcase, early_acks_end_where_bytes_were_lost);
	tcase_add_test(tcase, commit_out_for_nothing_is_not_ended_by_a_loss);
	return unit_run(suite);
}
