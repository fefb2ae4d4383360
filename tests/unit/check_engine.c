/*
 * The engine, step by step: the verifier it shows and the order in which it sends. Test
 * names carry the promise they stand for.
 */
#include "unit/engine_fixture.h"

START_TEST(p3_one_verifier_in_every_reply)
{
	write_in(0, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	write_back(0, NFS3_UNSTABLE, u1);
	ck_assert(same(seen.write.verifier, first_v));
	write_in(1, &file_b, 2, 0, 10, NFS3_FILE_SYNC);
	write_back(1, NFS3_FILE_SYNC, u2);
	ck_assert(same(seen.write.verifier, first_v));
	commit_in(2, &file_a, 1);
	commit_back(2, NFS3_OK, u1, false);
	ck_assert(same(seen.commit.verifier, first_v));
	ck_assert_uint_eq(seen.rotations, 0);
	ck_assert_uint_eq(engine_file_count(engine), 0);
}
END_TEST

START_TEST(p3_zero_is_no_verifier)
{
	struct nfs3_verifier zero = { { 0 } };
	struct nfs3_verifier almost;
	struct engine *other = engine_new(&ops, NULL, zero, &stats);

	ck_assert(!same(engine_verifier(other), zero));
	engine_free(other);

	memset(&almost, 0xff, sizeof(almost)); /* the next one would be zero */
	engine_free(engine);
	engine = engine_new(&ops, NULL, almost, &stats);
	commit_in(0, &file_a, 1);
	commit_back(0, NFS3_OK, u1, true);
	ck_assert_uint_eq(seen.rotations, 1);
	ck_assert(!same(seen.commit.verifier, zero));
	ck_assert(!same(seen.commit.verifier, almost));
}
END_TEST

START_TEST(p3_restart_of_the_upstream_shows_in_the_commit)
{
	write_in(0, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	write_back(0, NFS3_UNSTABLE, u1);
	commit_in(1, &file_a, 1);
	commit_back(1, NFS3_OK, u2, false);
	ck_assert_uint_eq(seen.rotations, 1);
	ck_assert_uint_eq(stats.value[STAT_VERIFIER_ROTATIONS], 1);
	ck_assert(!same(seen.commit.verifier, first_v));
	ck_assert(same(seen.commit.verifier, engine_verifier(engine)));
	/* once is enough: the re-sent data is under the new one */
	write_in(2, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	write_back(2, NFS3_UNSTABLE, u2);
	commit_in(3, &file_a, 1);
	commit_back(3, NFS3_OK, u2, false);
	ck_assert_uint_eq(seen.rotations, 1);
}
END_TEST

START_TEST(p3_late_write_reply_of_the_old_life_is_not_forgotten)
{
	/* b's reply was on its way when the upstream restarted and a rotation happened. */
	write_in(0, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	write_back(0, NFS3_UNSTABLE, u1);
	write_in(1, &file_b, 1, 0, 10, NFS3_UNSTABLE);
	commit_in(2, &file_a, 1);
	commit_back(2, NFS3_OK, u2, false);
	ck_assert_uint_eq(seen.rotations, 1);
	write_back(1, NFS3_UNSTABLE, u1);
	ck_assert(same(seen.write.verifier, engine_verifier(engine)));
	commit_in(3, &file_b, 1);
	commit_back(3, NFS3_OK, u2, false);
	ck_assert_uint_eq(seen.rotations, 2);
	ck_assert(!same(seen.commit.verifier, seen.write.verifier));
}
END_TEST

START_TEST(p3_verifier_of_a_stable_reply_is_ignored)
{
	struct nfs3_verifier zero = { { 0 } };

	write_in(0, &file_a, 1, 0, 10, NFS3_FILE_SYNC);
	write_back(0, NFS3_FILE_SYNC, zero);
	commit_in(1, &file_a, 1);
	commit_back(1, NFS3_OK, u1, false);
	ck_assert_uint_eq(seen.rotations, 0);
}
END_TEST

START_TEST(p4_overlapping_writes_go_one_after_the_other)
{
	write_in(0, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	write_in(1, &file_a, 2, 10, 10, NFS3_UNSTABLE); /* neighbour: free */
	write_in(2, &file_a, 2, 9, 1, NFS3_UNSTABLE);	/* the last byte of 0 */
	write_in(3, &file_a, 1, 9, 4, NFS3_FILE_SYNC);	/* behind 2, though 2 waits */
	write_in(4, &file_b, 1, 9, 1, NFS3_UNSTABLE);	/* another file */
	ck_assert_str_eq(seen.log, "w0 w1 w4 ");
	write_back(1, NFS3_UNSTABLE, u1);
	ck_assert_str_eq(seen.log, "w0 w1 w4 W1 ");
	write_back(0, NFS3_UNSTABLE, u1);
	ck_assert_str_eq(seen.log, "w0 w1 w4 W1 w2 W0 ");
	write_back(2, NFS3_UNSTABLE, u1);
	ck_assert_str_eq(seen.log, "w0 w1 w4 W1 w2 W0 w3 W2 ");
	write_back(3, NFS3_FILE_SYNC, u1);
	write_back(4, NFS3_UNSTABLE, u1);
}
END_TEST

START_TEST(p4_truncate_is_ordered_with_writes)
{
	write_in(0, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	op[1] = (struct engine_op){ .fh = &file_a, .client_id = 1, .offset = 5 };
	ck_assert_int_eq(engine_truncate(engine, &op[1]), 0);
	write_in(2, &file_a, 1, 0, 5, NFS3_UNSTABLE); /* in 0's way, not in the cut's */
	write_in(3, &file_a, 1, 100, 5, NFS3_UNSTABLE);
	op[4] = (struct engine_op){ .fh = &file_a,
				    .client_id = 1,
				    .offset = UINT64_MAX };
	ck_assert_int_eq(engine_truncate(engine, &op[4]), 0);
	ck_assert_str_eq(seen.log, "w0 ");
	write_back(0, NFS3_UNSTABLE, u1);
	ck_assert_str_eq(seen.log, "w0 t1 w2 W0 ");
	engine_on_truncate_done(engine, &op[1]);
	ck_assert_str_eq(seen.log, "w0 t1 w2 W0 w3 t4 ");
	engine_on_truncate_done(engine, &op[4]);
	write_back(2, NFS3_UNSTABLE, u1);
	write_back(3, NFS3_UNSTABLE, u1);
}
END_TEST

START_TEST(p4_ranges_at_the_end_of_the_number_space)
{
	write_in(0, &file_a, 1, UINT64_MAX - 5, 100, NFS3_UNSTABLE);
	write_in(1, &file_a, 1, UINT64_MAX - 1, 1, NFS3_UNSTABLE);
	write_in(2, &file_a, 1, 0, 4, NFS3_UNSTABLE);
	write_in(3, &file_a, 1, UINT64_MAX - 3, 0, NFS3_UNSTABLE); /* empty */
	ck_assert_str_eq(seen.log, "w0 w2 w3 ");
	write_back(0, NFS3_UNSTABLE, u1);
	ck_assert_str_eq(seen.log, "w0 w2 w3 w1 W0 ");
	write_back(1, NFS3_UNSTABLE, u1);
	write_back(2, NFS3_UNSTABLE, u1);
	write_back(3, NFS3_UNSTABLE, u1);
}
END_TEST

START_TEST(p4_refused_write_lets_the_next_one_go)
{
	write_in(0, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	write_in(1, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	engine_on_no_result(engine, &op[0], false);
	ck_assert_str_eq(seen.log, "w0 w1 ");
	write_back(1, NFS3_UNSTABLE, u1);
	ck_assert_uint_eq(seen.rotations, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("engine");
	TCase *tcase = unit_case(suite, "relay");

	tcase_add_checked_fixture(tcase, engine_setup, engine_teardown);
	tcase_add_test(tcase, p3_one_verifier_in_every_reply);
	tcase_add_test(tcase, p3_zero_is_no_verifier);
	tcase_add_test(tcase, p3_restart_of_the_upstream_shows_in_the_commit);
	tcase_add_test(tcase, p3_late_write_reply_of_the_old_life_is_not_forgotten);
	tcase_add_test(tcase, p3_verifier_of_a_stable_reply_is_ignored);
	tcase_add_test(tcase, p4_overlapping_writes_go_one_after_the_other);
	tcase_add_test(tcase, p4_truncate_is_ordered_with_writes);
	tcase_add_test(tcase, p4_ranges_at_the_end_of_the_number_space);
	tcase_add_test(tcase, p4_refused_write_lets_the_next_one_go);
	return unit_run(suite);
}
