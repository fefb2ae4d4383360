/*
 * How acked bytes come together, when they are sent and why, and what becomes of bytes
 * that are written twice.
 */
#include "unit/engine_fixture.h"

static uint64_t reason(enum write_reason why)
{
	return stats.write_reason[why];
}

START_TEST(sequential_writes_go_as_whole_writes)
{
	unsigned int i;

	grant_to(alice);
	for (i = 0; i < 16; i++)
		write_in(i, 1024u * i, 1024);
	/* sent as soon as they are together, without any tick */
	ck_assert_uint_eq(out_count, 2);
	ck_assert_uint_eq(reason(WRITE_REASON_FULL), 2);
	ck_assert_uint_eq(out[0].io->offset, 0);
	ck_assert_uint_eq(out[0].io->count, WTMAX_BYTES);
	ck_assert_uint_eq(out[1].io->offset, WTMAX_BYTES);
	ck_assert_ptr_eq(out[1].io->credential, alice);
	ck_assert_int_eq(out[1].io->stable, NFS3_UNSTABLE);
	all_written();
	for (i = 0; i < 16; i++)
		disk_is(1024u * i, letters(i, 200));
	disk_is(16384, ".");
}
END_TEST

START_TEST(backward_writes_and_holes_come_together)
{
	grant_to(alice);
	write_in(0, 300, 100);
	write_in(1, 200, 100);
	write_in(2, 0, 100);
	write_in(3, 500, 10);
	expect("w0 w1 w2 w3 ");
	write_in(4, 100, 100); /* closes the hole between 2 and 1 */
	tick_after(engine_config_default.plug_max_us);
	expect("w4 W0+400 W500+10 ");
	all_written();
	disk_is(0, letters(2, 100));
	disk_is(100, letters(4, 100));
	disk_is(200, letters(1, 100));
	disk_is(300, letters(0, 100));
	disk_is(400, ".");
	disk_is(500, letters(3, 10));
	ck_assert_uint_eq(reason(WRITE_REASON_PLUG_EXPIRED), 2);
}
END_TEST

START_TEST(whole_writes_end_on_a_page)
{
	unsigned int i;

	grant_to(alice);
	for (i = 0; i < 8; i++)
		write_in(i, 100 + 2000u * i, 2000);
	/* 100 + 8192 is 8292: the first ends at 8192, and the next is whole again */
	ck_assert_uint_eq(out_count, 1);
	ck_assert_uint_eq(out[0].io->offset, 100);
	ck_assert_uint_eq(out[0].io->count, 8092);
	tick_after(engine_config_default.plug_max_us);
	ck_assert_uint_eq(out_count, 2);
	ck_assert_uint_eq(out[1].io->offset, 8192);
	ck_assert_uint_eq(out[1].io->count, 16100 - 8192);
	all_written();
	disk_is(8100, letters(4, 10));
	disk_is(16099, "H.");
}
END_TEST

START_TEST(p1_overwrite_while_dirty_is_sent_once)
{
	grant_to(alice);
	write_in(0, 0, 30);
	write_in(1, 10, 10); /* the middle */
	write_in(2, 25, 10); /* over the end */
	write_in(3, 0, 5);   /* the front */
	ck_assert_uint_eq(stats.gauge[GAUGE_DIRTY_BYTES], 35);
	tick_after(engine_config_default.plug_max_us);
	expect("w0 w1 w2 w3 W0+35 ");
	written(0);
	disk_is(0, "DDDDDAAAAABBBBBBBBBBAAAAACCCCCCCCCC");
	write_in(4, 100, 30);
	write_in(5, 90, 50); /* all of it */
	ck_assert_uint_eq(stats.gauge[GAUGE_DIRTY_BYTES], 50);
}
END_TEST

START_TEST(p6_bytes_of_two_credentials_never_meet_in_one_write)
{
	grant_to(alice);
	grant_to(bob);
	write_in(0, 0, 10);
	write_with(1, .credential = bob, .offset = 10, .count = 10);
	write_in(2, 20, 10);
	tick_after(engine_config_default.plug_max_us);
	expect("w0 w1 w2 W0+10 W10+10 W20+10 ");
	ck_assert_ptr_eq(out[0].io->credential, alice);
	ck_assert_ptr_eq(out[1].io->credential, bob);
	ck_assert_ptr_eq(out[2].io->credential, alice);
}
END_TEST

START_TEST(p6_overwrite_by_another_credential_sends_the_older_first)
{
	grant_to(alice);
	grant_to(bob);
	write_in(0, 0, 10);
	expect("w0 ");
	write_with(1, .credential = bob, .offset = 5, .count = 10);
	expect("W0+10 w1 ");
	ck_assert_uint_eq(reason(WRITE_REASON_OVERLAP), 1);
	tick_after(engine_config_default.plug_max_us);
	expect(""); /* waits for the older one's reply */
	written(0);
	expect("W5+10 ");
	ck_assert_ptr_eq(out[0].io->credential, bob);
	written(5);
	disk_is(0, "AAAAABBBBBBBBBB");
}
END_TEST

START_TEST(p4_passed_write_over_dirty_bytes_sends_them_first)
{
	grant_to(alice);
	write_in(0, 0, 10);
	write_with(1, .offset = 5, .count = 10, .stable = NFS3_FILE_SYNC);
	expect("w0 W0+10 ");
	written(0);
	expect("W5+10f ");
	write_in(2, 8, 4); /* over what is on its way */
	tick_after(engine_config_default.plug_max_us);
	expect("w2 ");
	written(5);
	expect("W8+4 w1 ");
	written(8);
	disk_is(0, "AAAAABBBCCCCBBB");
}
END_TEST

START_TEST(i5_frozen_bytes_are_kept_while_newer_lie_on_top)
{
	grant_to(alice);
	write_in(0, 0, 10);
	commit_in(1);
	expect("w0 W0+10 ");
	write_in(2, 5, 10); /* newer, on top, and rewritten itself */
	write_in(3, 5, 5);
	expect("w2 w3 ");
	ck_assert_uint_eq(stats.gauge[GAUGE_DIRTY_BYTES], 20);
	tick_after(engine_config_default.plug_max_us);
	expect(""); /* in line behind the older */
	written(0);
	expect("W5+10 C "); /* the COMMIT does not wait for the newer */
	disk_is(0, letters(0, 10));
	committed();
	expect("c1 ");
	written(5);
	disk_is(0, "AAAAADDDDDCCCCC");
	ck_assert_uint_eq(stats.gauge[GAUGE_RETAINED_BYTES], 10);
}
END_TEST

START_TEST(plug_counts_from_the_last_byte_added)
{
	uint64_t plug_us = engine_config_default.plug_max_us;

	grant_to(alice);
	write_in(0, 0, 10);
	ck_assert_uint_eq(engine_next_deadline_us(engine), now_us + plug_us);
	tick_after(plug_us - 1);
	write_in(1, 10, 10);
	tick_after(plug_us - 1);
	expect("w0 w1 ");
	tick_after(1);
	expect("W0+20 ");
	ck_assert_uint_eq(reason(WRITE_REASON_PLUG_EXPIRED), 1);
}
END_TEST

START_TEST(old_bytes_are_sent_though_new_ones_come)
{
	uint64_t plug_us = engine_config_default.plug_max_us;
	uint64_t until = now_us + engine_config_default.dirty_expire_us;

	grant_to(alice);
	while (now_us < until) {
		write_in(0, 0, 10); /* over and over: nothing ever gets full */
		ck_assert_uint_eq(out_count, 0);
		tick_at(now_us + plug_us / 2 < until ? now_us + plug_us / 2 : until);
	}
	ck_assert_uint_eq(out_count, 1);
	ck_assert_uint_eq(reason(WRITE_REASON_AGE), 1);
}
END_TEST

START_TEST(old_bytes_are_sent_though_another_file_is_behind_with_pauses)
{
	uint64_t plug_us = engine_config_default.plug_max_us;
	uint64_t until = now_us + engine_config_default.dirty_expire_us;

	grant_to(alice);
	write_with(1, .fh = &file_b, .offset = 50000, .count = 1);
	all_written();
	write_in(0, 0, 10); /* the older */
	while (now_us + plug_us < until) {
		tick_after(plug_us / 2);
		write_with(1, .fh = &file_b, .offset = 0, .count = 10);
		tick_after(1); /* so that file_b is the one without a byte for longer */
		write_in(0, 0, 10);
		ck_assert_uint_eq(out_count, 0);
	}
	tick_at(until);
	ck_assert_uint_eq(out_count, 1);
	ck_assert_uint_eq(out[0].io->fh->data[0], 'a');
	ck_assert_uint_eq(reason(WRITE_REASON_AGE), 1);
}
END_TEST

START_TEST(too_many_unsent_bytes_send_the_oldest_file_first)
{
	struct engine_config config = engine_config_default;

	config.dirty_background_bytes = 100;
	use_config(&config);
	grant_to(alice);
	write_with(0, .fh = &file_b, .offset = 50000, .count = 1);
	all_written();
	(void)take_log();
	write_with(1, .fh = &file_b, .offset = 0, .count = 60);
	tick_after(1);
	write_in(2, 0, 40);
	expect("w1 w2 ");
	write_in(3, 40, 1);
	expect("b:W0+60 w3 ");
	ck_assert_uint_eq(reason(WRITE_REASON_DIRTY_BACKGROUND), 1);
}
END_TEST

START_TEST(commit_and_barrier_send_what_they_need)
{
	grant_to(alice);
	write_in(0, 0, 10);
	write_in(1, 100, 10);
	commit_in(2);
	expect("w0 w1 W0+10 W100+10 ");
	ck_assert_uint_eq(reason(WRITE_REASON_CLIENT_COMMIT), 2);
	all_written();
	write_in(3, 200, 10);
	barrier_in(4, ENGINE_BARRIER_READ);
	ck_assert_uint_eq(reason(WRITE_REASON_BARRIER), 1);
}
END_TEST

START_TEST(every_reason_and_size_is_counted)
{
	uint64_t sum = 0;
	unsigned int i;

	grant_to(alice);					      /* STABLE */
	write_with(0, .credential = bob, .offset = 0, .count = 3000); /* PASSED */
	ck_assert_uint_eq(reason(WRITE_REASON_STABLE), 1);
	ck_assert_uint_eq(reason(WRITE_REASON_PASSED), 1);
	write_in(1, 4096, 4096);
	write_in(2, 8192, 4096); /* FULL */
	ck_assert_uint_eq(reason(WRITE_REASON_FULL), 1);
	for (i = 0; i < WRITE_REASON_COUNT; i++)
		sum += stats.write_reason[i];
	ck_assert_uint_eq(sum, 3);
	ck_assert_uint_eq(stats.histogram[HISTOGRAM_UPSTREAM_WRITE_SIZE][12], 1);
	ck_assert_uint_eq(stats.histogram[HISTOGRAM_UPSTREAM_WRITE_SIZE][13], 1);
	ck_assert_uint_eq(stats.histogram[HISTOGRAM_CLIENT_WRITE_SIZE][12], 3);
	ck_assert_uint_eq(stats.value[STAT_WRITES_ACKED_EARLY], 2);
}
END_TEST

START_TEST(bytes_acked_under_a_larger_wtmax_are_sent_in_pieces)
{
	grant_to(alice);
	write_in(0, 0, 8000);
	engine_set_limits(engine, 4096, 1ull << 40);
	tick_after(engine_config_default.plug_max_us);
	expect("w0 W0+4096 W4096+3904 ");
}
END_TEST

START_TEST(payload_may_go_when_the_call_is_answered)
{
	grant_to(alice);
	write_in(0, 0, 100);
	ck_assert_ptr_null(op[0].payload); /* the fixture gave it back */
	memset(&op[0], 0xff, sizeof(op[0]));
	op[0].payload = NULL;
	op[0].file = NULL;
	op[0].state = ENGINE_OP_ANSWERED;
	tick_after(engine_config_default.plug_max_us);
	written(0);
	disk_is(0, letters(0, 100));
	ck_assert_uint_eq(buf_total_bytes(), 100); /* retained until proven */
	commit_in(1);
	committed();
	ck_assert_uint_eq(buf_total_bytes(), 0);
}
END_TEST

START_TEST(without_memory_the_pieces_go_as_they_came)
{
	unsigned int i;

	grant_to(alice);
	no_memory = true;
	write_in(0, 0, 10);
	write_in(1, 10, 10);
	write_in(2, 20, 10);
	commit_in(3);
	expect("w0 w1 w2 W0+10 W10+10 W20+10 ");
	all_answered();
	expect("C c3 ");
	/* full WRITEs as well, and what is left over goes later */
	for (i = 0; i < 4; i++)
		write_in(i, WTMAX_BYTES / 4 * i, WTMAX_BYTES / 4);
	ck_assert_uint_eq(out_count, 1);
	no_memory = false;
	tick_after(engine_config_default.plug_max_us);
	ck_assert_uint_eq(out_count, 2);
	ck_assert_uint_eq(out[1].io->count, 3 * WTMAX_BYTES / 4);
	all_written();
	for (i = 0; i < 4; i++)
		disk_is(WTMAX_BYTES / 4 * i, letters(i, 200));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("engine_gather");
	TCase *tcase = unit_case(suite, "gather");

	tcase_add_checked_fixture(tcase, engine_setup, engine_teardown);
	tcase_add_test(tcase, sequential_writes_go_as_whole_writes);
	tcase_add_test(tcase, backward_writes_and_holes_come_together);
	tcase_add_test(tcase, whole_writes_end_on_a_page);
	tcase_add_test(tcase, p1_overwrite_while_dirty_is_sent_once);
	tcase_add_test(tcase, p6_bytes_of_two_credentials_never_meet_in_one_write);
	tcase_add_test(tcase, p6_overwrite_by_another_credential_sends_the_older_first);
	tcase_add_test(tcase, p4_passed_write_over_dirty_bytes_sends_them_first);
	tcase_add_test(tcase, i5_frozen_bytes_are_kept_while_newer_lie_on_top);
	tcase_add_test(tcase, plug_counts_from_the_last_byte_added);
	tcase_add_test(tcase, old_bytes_are_sent_though_new_ones_come);
	tcase_add_test(tcase,
		       old_bytes_are_sent_though_another_file_is_behind_with_pauses);
	tcase_add_test(tcase, too_many_unsent_bytes_send_the_oldest_file_first);
	tcase_add_test(tcase, commit_and_barrier_send_what_they_need);
	tcase_add_test(tcase, every_reason_and_size_is_counted);
	tcase_add_test(tcase, bytes_acked_under_a_larger_wtmax_are_sent_in_pieces);
	tcase_add_test(tcase, without_memory_the_pieces_go_as_they_came);
	tcase_add_test(tcase, payload_may_go_when_the_call_is_answered);
	return unit_run(suite);
}
