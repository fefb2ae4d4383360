/*
 * Which WRITEs are acked before the upstream has them, and which must not be (P6 and
 * the admission rules of admit.c and quarantine.c).
 */
#include "unit/engine_fixture.h"

/* Is a WRITE like this acked at once? Leaves nothing behind. */
static bool is_acked(unsigned int i, const struct engine_op *given)
{
	uint64_t acked = stats.value[STAT_WRITES_ACKED_EARLY];

	write_in_as(i, given);
	acked = stats.value[STAT_WRITES_ACKED_EARLY] - acked;
	ck_assert_int_eq(op[i].state == ENGINE_OP_ANSWERED, acked == 1);
	tick_after(engine_config_default.plug_max_us);
	all_answered();
	ck_assert_int_eq(op[i].state, ENGINE_OP_ANSWERED);
	(void)take_log();
	return acked == 1;
}

#define acks(i, ...) is_acked(i, &(struct engine_op){ __VA_ARGS__ })

START_TEST(p6_first_write_of_a_credential_goes_through)
{
	ck_assert(!acks(0, .offset = 0, .count = 10));
	ck_assert(acks(1, .offset = 10, .count = 10));
	ck_assert_int_eq(seen.write.committed, NFS3_UNSTABLE);
	ck_assert_uint_eq(seen.write.count, 10);
	ck_assert(!acks(2, .credential = bob, .offset = 0, .count = 10));
	ck_assert(acks(3, .credential = bob, .offset = 0, .count = 10));
	ck_assert(!acks(4, .fh = &file_b, .offset = 0, .count = 10));
}
END_TEST

START_TEST(p6_no_grant_without_success)
{
	write_in(0, 0, 10);
	write_failed(0, NFS3ERR_ACCES);
	expect("W0+10 w0!13 ");
	ck_assert(!acks(1, .offset = 0, .count = 10));
	ck_assert(acks(2, .offset = 0, .count = 10));
}
END_TEST

START_TEST(p6_grant_ends_with_time_and_is_renewed_by_writes)
{
	uint64_t grant_us = engine_config_default.grant_us;

	grant_to(alice);
	tick_after(grant_us - 1);
	ck_assert(acks(0, .offset = 0, .count = 10)); /* its writeback renews it */
	tick_after(grant_us - 10000);
	ck_assert(acks(1, .offset = 0, .count = 10));
	tick_after(grant_us);
	ck_assert(!acks(2, .offset = 0, .count = 10));
}
END_TEST

START_TEST(p6_grant_is_not_for_others_of_the_same_file)
{
	unsigned int i;

	/* more credentials than there is place for: the oldest gives way */
	for (i = 0; i < 6; i++) {
		struct credential *credential = credential_of(2000 + i);

		tick_after(1);
		ck_assert(!acks(i, .credential = credential, .offset = 0, .count = 1));
		ck_assert(acks(i, .credential = credential, .offset = 0, .count = 1));
		credential_unref(credential);
	}
	for (i = 0; i < 2; i++) {
		struct credential *credential = credential_of(2000 + 5 * i);

		ck_assert_int_eq(acks(10, .credential = credential, .count = 1),
				 i == 1);
		credential_unref(credential);
	}
}
END_TEST

START_TEST(p6_grant_ends_with_a_change_of_attributes)
{
	static const enum engine_barrier change[] = { ENGINE_BARRIER_CHANGE,
						      ENGINE_BARRIER_TRUNCATE };
	unsigned int i;

	for (i = 0; i < 4; i++) {
		grant_to(alice);
		ck_assert(acks(0, .offset = 0, .count = 10));
		barrier_with(1, .barrier = change[i / 2], .offset = 1000);
		barrier_done(1, i % 2 == 0); /* whatever came of it */
		ck_assert(!acks(2, .offset = 0, .count = 10));
	}
	grant_to(alice);
	barrier_in(3, ENGINE_BARRIER_READ);
	barrier_done(3, true);
	barrier_in(4, ENGINE_BARRIER_FLUSH);
	ck_assert(acks(5, .offset = 0, .count = 10)); /* these change nothing */
}
END_TEST

START_TEST(p6_grant_ends_with_a_refusal)
{
	static const uint32_t refusal[] = { NFS3ERR_ACCES, NFS3ERR_PERM };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		grant_to(alice);
		grant_to(bob);
		write_with(0, .offset = 0, .count = 1, .stable = NFS3_FILE_SYNC);
		write_failed(0, refusal[i]);
		ck_assert(!acks(1, .offset = 0, .count = 10));
		ck_assert(!acks(2, .credential = bob, .offset = 0, .count = 10));
	}
}
END_TEST

START_TEST(p6_grant_ends_with_stale)
{
	grant_to(alice);
	grant_to(bob);
	write_with(0, .offset = 0, .count = 1, .stable = NFS3_FILE_SYNC);
	write_failed(0, NFS3ERR_STALE);
	ck_assert(!acks(1, .offset = 0, .count = 10));
	ck_assert(!acks(2, .credential = bob, .offset = 0, .count = 10));
}
END_TEST

START_TEST(p5_second_client_ends_early_acks_by_every_call)
{
	uint64_t shared_us = engine_config_default.shared_us;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		grant_to(alice);
		write_in(0, 0, 10);
		expect("w0 ");
		if (i == 0)
			write_with(1, .client_id = 2, .offset = 100, .count = 10);
		else if (i == 1)
			commit_with(1, .client_id = 2);
		else
			barrier_with(1, .client_id = 2,
				     .barrier = i == 2 ? ENGINE_BARRIER_READ
						       : ENGINE_BARRIER_CHANGE);
		/* what was dirty is on its way, for whatever reason came first */
		ck_assert_uint_gt(out_count, 0);
		ck_assert_uint_eq(stats.write_reason[WRITE_REASON_SHARED], i + 1);
		all_answered();
		if (i >= 2)
			barrier_done(1, true);
		(void)take_log();
		grant_to(alice);
		tick_after(shared_us - 1 - 10000);
		ck_assert(!acks(2, .offset = 0, .count = 10));
		grant_to(alice);
		tick_after(10000);
		ck_assert(acks(3, .offset = 0, .count = 10));
	}
}
END_TEST

START_TEST(flush_by_another_client_is_no_use_of_the_file)
{
	grant_to(alice);
	ck_assert(acks(0, .offset = 0, .count = 10));
	barrier_with(1, .client_id = 2, .barrier = ENGINE_BARRIER_FLUSH);
	ck_assert(acks(2, .offset = 0, .count = 10));
}
END_TEST

START_TEST(no_early_ack_of_what_is_no_plain_file)
{
	attr.mode = 04755;
	grant_to(alice);
	ck_assert(!acks(0, .offset = 0, .count = 10));
	attr.mode = 02755;
	grant_to(alice);
	ck_assert(!acks(1, .offset = 0, .count = 10));
	attr.mode = 01777;
	grant_to(alice);
	ck_assert(acks(2, .offset = 0, .count = 10));
	attr.type = NFS3_BLK;
	grant_to(alice);
	ck_assert(!acks(3, .offset = 0, .count = 10));
}
END_TEST

START_TEST(no_early_ack_without_attributes)
{
	struct engine_io *io;

	write_with(0, .offset = 0, .count = 1, .stable = NFS3_FILE_SYNC);
	io = out[0].io;
	free(out[--out_count].copy);
	engine_on_write_result(engine, io,
			       &(struct engine_write_result){
				       .count = 1, .committed = NFS3_FILE_SYNC },
			       false);
	write_in(1, 0, 10);
	expect("W0+1f w0 W0+10 ");
}
END_TEST

START_TEST(no_early_ack_of_what_does_not_fit)
{
	grant_to(alice);
	engine_set_limits(engine, 100, 1000);
	ck_assert(acks(0, .offset = 0, .count = 100));
	ck_assert(!acks(1, .offset = 0, .count = 101));
	ck_assert(acks(2, .offset = 990, .count = 10));
	ck_assert(!acks(3, .offset = 991, .count = 10));
	ck_assert(!acks(4, .offset = 5000, .count = 1));
	ck_assert(!acks(5, .offset = UINT64_MAX - 1, .count = 1));
	ck_assert(!acks(6, .offset = 0, .count = 0));
	ck_assert(!acks(7, .offset = 0, .count = 1, .stable = NFS3_DATA_SYNC));
	ck_assert(!acks(8, .offset = 0, .count = 1, .stable = NFS3_FILE_SYNC));
}
END_TEST

START_TEST(no_early_ack_before_the_limits_are_known)
{
	struct engine_config config = engine_config_default;

	use_config(&config);
	engine_set_limits(engine, 0, 0); /* forgets the size of files at least */
	grant_to(alice);
	ck_assert(!acks(0, .offset = 0, .count = 1));
	engine_set_limits(engine, 0, UINT64_MAX); /* wtmax as it was */
	ck_assert(acks(1, .offset = 0, .count = 1));
}
END_TEST

START_TEST(dirty_bytes_limits_what_is_acked)
{
	struct engine_config config = engine_config_default;

	config.dirty_bytes = 100;
	use_config(&config);
	grant_to(alice);
	write_in(0, 0, 60);
	write_in(1, 100, 40);
	write_in(2, 200, 1); /* one too many: waits for the upstream */
	expect("w0 w1 W200+1 ");
	ck_assert_uint_eq(stats.gauge[GAUGE_DIRTY_BYTES], 100);
	tick_after(config.plug_max_us);
	expect("W0+60 W100+40 ");
	written(0);
	write_in(3, 300, 60); /* written bytes do not count */
	expect("w3 ");
	all_written();
}
END_TEST

START_TEST(p4_no_early_ack_under_a_barrier)
{
	grant_to(alice);
	barrier_in(0, ENGINE_BARRIER_CHANGE);
	write_in(1, 0, 10);
	expect("p0 "); /* neither acked nor sent */
	barrier_done(0, true);
	expect("W0+10 ");
}
END_TEST

START_TEST(no_early_ack_while_draining)
{
	grant_to(alice);
	engine_drain(engine);
	ck_assert(!acks(0, .offset = 0, .count = 10));
}
END_TEST

START_TEST(alias_ends_early_acks_of_both_handles)
{
	struct nfs3_fh other = { .len = 2, .data = "a2" }; /* the same fileid */

	grant_to(alice);
	write_in(0, 0, 10);
	write_with(1, .fh = &other, .offset = 20, .count = 10);
	expect("w0 W20+10 ");
	written(20);
	expect("W0+10 w1 "); /* what the one handle has must not hide from the other */
	ck_assert_uint_eq(stats.write_reason[WRITE_REASON_SHARED], 1);
	written(0);
	ck_assert(!acks(2, .offset = 0, .count = 10));
	ck_assert(!acks(3, .fh = &other, .offset = 0, .count = 10));
}
END_TEST

START_TEST(handle_nobody_uses_is_no_alias)
{
	struct nfs3_fh other = { .len = 2, .data = "a2" };

	grant_to(alice); /* leaves an idle record */
	ck_assert(!acks(0, .fh = &other, .offset = 0, .count = 10));
	ck_assert(acks(1, .fh = &other, .offset = 0, .count = 10));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("engine_ack");
	TCase *tcase = unit_case(suite, "admission");

	tcase_add_checked_fixture(tcase, engine_setup, engine_teardown);
	tcase_add_test(tcase, p6_first_write_of_a_credential_goes_through);
	tcase_add_test(tcase, p6_no_grant_without_success);
	tcase_add_test(tcase, p6_grant_ends_with_time_and_is_renewed_by_writes);
	tcase_add_test(tcase, p6_grant_is_not_for_others_of_the_same_file);
	tcase_add_test(tcase, p6_grant_ends_with_a_change_of_attributes);
	tcase_add_test(tcase, p6_grant_ends_with_a_refusal);
	tcase_add_test(tcase, p6_grant_ends_with_stale);
	tcase_add_test(tcase, p5_second_client_ends_early_acks_by_every_call);
	tcase_add_test(tcase, flush_by_another_client_is_no_use_of_the_file);
	tcase_add_test(tcase, no_early_ack_of_what_is_no_plain_file);
	tcase_add_test(tcase, no_early_ack_without_attributes);
	tcase_add_test(tcase, no_early_ack_of_what_does_not_fit);
	tcase_add_test(tcase, no_early_ack_before_the_limits_are_known);
	tcase_add_test(tcase, dirty_bytes_limits_what_is_acked);
	tcase_add_test(tcase, p4_no_early_ack_under_a_barrier);
	tcase_add_test(tcase, no_early_ack_while_draining);
	tcase_add_test(tcase, alias_ends_early_acks_of_both_handles);
	tcase_add_test(tcase, handle_nobody_uses_is_no_alias);
	return unit_run(suite);
}
