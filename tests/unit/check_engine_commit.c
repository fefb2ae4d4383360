/*
 * COMMITs in the engine: what they prove, who shares them, and what a failed one does.
 */
#include "unit/engine_fixture.h"

START_TEST(p1_write_answered_while_a_commit_is_out_is_not_covered_by_it)
{
	write_in(0, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	commit_in(1, &file_a, 1);
	write_back(0, NFS3_UNSTABLE, u1);
	commit_back(1, NFS3_OK, u1, false);
	ck_assert_uint_eq(seen.rotations, 0);
	ck_assert_uint_eq(engine_file_count(engine), 1);
	commit_in(2, &file_a, 1);
	commit_back(2, NFS3_OK, u2, false);
	ck_assert_uint_eq(seen.rotations, 1);
}
END_TEST

START_TEST(p1_entry_that_spans_a_commit_is_cut_not_dropped)
{
	write_in(0, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	write_back(0, NFS3_UNSTABLE, u1);
	write_in(1, &file_a, 1, 10, 10, NFS3_UNSTABLE);
	commit_in(2, &file_a, 1);
	write_back(1, NFS3_UNSTABLE, u1);
	commit_back(2, NFS3_OK, u1, false);
	commit_in(3, &file_a, 1);
	commit_back(3, NFS3_OK, u2, false);
	ck_assert_uint_eq(seen.rotations, 1);
}
END_TEST

START_TEST(p1_commit_cut_off_before_its_reply_rotates)
{
	write_in(0, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	write_back(0, NFS3_UNSTABLE, u1);
	commit_in(1, &file_a, 1);
	commit_back(1, NFS3_OK, u1, true);
	ck_assert_uint_eq(seen.rotations, 1);
	ck_assert(!same(seen.commit.verifier, first_v));
}
END_TEST

START_TEST(p1_failed_commit_tells_the_others_by_rotation)
{
	write_in(0, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	write_back(0, NFS3_UNSTABLE, u1);
	commit_in(1, &file_a, 1);
	commit_back(1, NFS3ERR_IO, u1, false);
	ck_assert_uint_eq(seen.commit.status, NFS3ERR_IO);
	ck_assert_uint_eq(seen.rotations, 0); /* the only owner was told */

	write_in(2, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	write_back(2, NFS3_UNSTABLE, u1);
	write_in(3, &file_a, 2, 0, 10, NFS3_UNSTABLE);
	write_back(3, NFS3_UNSTABLE, u1);
	commit_in(4, &file_a, 1);
	commit_back(4, NFS3ERR_IO, u1, false);
	ck_assert_uint_eq(seen.rotations, 1);
}
END_TEST

START_TEST(p1_commit_error_that_kept_the_data_forgets_nothing)
{
	static const uint32_t kept[] = { NFS3ERR_JUKEBOX, NFS3ERR_ACCES, NFS3ERR_PERM,
					 NFS3ERR_BADHANDLE };

	write_in(0, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	write_back(0, NFS3_UNSTABLE, u1);
	for (unsigned int i = 0; i < 4; i++) {
		commit_in(1, &file_a, 2);
		commit_back(1, kept[i], u1, false);
	}
	ck_assert_uint_eq(seen.rotations, 0);
	commit_in(2, &file_a, 1);
	commit_back(2, NFS3_OK, u2, false);
	ck_assert_uint_eq(seen.rotations, 1);
}
END_TEST

START_TEST(p1_many_clients_of_one_file_are_all_remembered)
{
	for (unsigned int i = 0; i < 9; i++) {
		write_in(i, &file_a, i, 0, 10, NFS3_UNSTABLE);
		write_back(i, NFS3_UNSTABLE, u1);
	}
	commit_in(9, &file_a, 3);
	commit_back(9, NFS3ERR_NOSPC, u1, false);
	ck_assert_uint_eq(seen.rotations, 1);
}
END_TEST

START_TEST(p1_more_upstream_verifiers_than_the_ledger_holds)
{
	struct nfs3_verifier u = { { 0 } };

	for (unsigned int i = 0; i < 6; i++) {
		u.data[0] = (uint8_t)(i + 1);
		write_in(i, &file_a, 1, 0, 10, NFS3_UNSTABLE);
		write_back(i, NFS3_UNSTABLE, u);
	}
	/* the first two entries were given up; any COMMIT elsewhere must notice */
	commit_in(6, &file_b, 1);
	commit_back(6, NFS3_OK, u, false);
	ck_assert_uint_eq(seen.rotations, 1);
}
END_TEST

START_TEST(p1_files_without_commit_are_bounded_and_still_noticed)
{
	struct nfs3_fh fh = { .len = 8 };

	for (uint32_t i = 0; i < 20000; i++) {
		memcpy(fh.data, &i, sizeof(i));
		write_in(0, &fh, 1, 0, 10, NFS3_UNSTABLE);
		write_back(0, NFS3_UNSTABLE, u1);
		seen.log[0] = '\0';
	}
	ck_assert_uint_le(engine_file_count(engine), 16384);
	ck_assert_uint_eq(seen.rotations, 0);
	memset(fh.data, 0, sizeof(fh.data)); /* the first of them: its record is gone */
	commit_in(1, &fh, 1);
	commit_back(1, NFS3_OK, u1, false);
	ck_assert_uint_eq(seen.rotations, 0);
	commit_in(2, &fh, 1);
	commit_back(2, NFS3_OK, u2, false);
	ck_assert_uint_eq(seen.rotations, 1);
	ck_assert_uint_eq(engine_file_count(engine), 0);
}
END_TEST

START_TEST(p1_one_commit_of_a_file_is_out_and_the_others_share_the_next)
{
	commit_in(0, &file_a, 1);
	commit_in(1, &file_a, 1);
	commit_in(2, &file_a, 1);
	commit_in(3, &file_b, 1);
	ck_assert_str_eq(seen.log, "c0 c3 ");
	commit_back(0, NFS3_OK, u1, false);
	ck_assert_str_eq(seen.log, "c0 c3 c1 C0 ");
	commit_in(4, &file_a, 1); /* after 1 went out: not covered by it */
	commit_back(1, NFS3_OK, u1, false);
	ck_assert_str_eq(seen.log, "c0 c3 c1 C0 c4 C1 C2 ");
	commit_back(4, NFS3_OK, u1, false);
	commit_back(3, NFS3_OK, u1, false);
	ck_assert_uint_eq(engine_file_count(engine), 0);
}
END_TEST

START_TEST(p1_failed_commit_is_not_shared)
{
	commit_in(0, &file_a, 1);
	commit_in(1, &file_a, 1);
	commit_in(2, &file_a, 1);
	commit_back(0, NFS3_OK, u1, false);
	commit_back(1, NFS3ERR_IO, u1, false);
	ck_assert_str_eq(seen.log, "c0 c1 C0 c2 C1 ");
	ck_assert_uint_eq(seen.commit.status, NFS3ERR_IO);
	commit_back(2, NFS3_OK, u1, false);
	ck_assert_uint_eq(seen.commit.status, NFS3_OK);
}
END_TEST

START_TEST(p6_commits_of_two_credentials_are_not_shared)
{
	commit_in(0, &file_a, 1);
	commit_in(1, &file_a, 1);
	op[2] = (struct engine_op){ .fh = &file_a, .client_id = 1, .credential_id = 9 };
	ck_assert_int_eq(engine_commit(engine, &op[2]), 0);
	commit_back(0, NFS3_OK, u1, false);
	commit_back(1, NFS3_OK, u1, false);
	ck_assert_str_eq(seen.log, "c0 c1 C0 c2 C1 ");
	commit_back(2, NFS3_OK, u1, false);
}
END_TEST

START_TEST(p1_write_on_its_way_when_a_commit_fails_is_sent_once_more)
{
	write_in(0, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	write_in(1, &file_a, 1, 10, 10, NFS3_FILE_SYNC);
	commit_in(2, &file_a, 2);
	commit_back(2, NFS3ERR_IO, u1, false);
	write_back(0, NFS3_UNSTABLE, u1);
	write_back(1, NFS3_FILE_SYNC, u1); /* stable: nothing to doubt */
	ck_assert_str_eq(seen.log, "w0 w1 c2 C2 w0 W1 ");
	write_back(0, NFS3_UNSTABLE, u1);
	ck_assert_ptr_nonnull(strstr(seen.log, "W0"));
	ck_assert_uint_eq(seen.rotations, 0);
}
END_TEST

START_TEST(p2_write_waiting_for_proof_when_a_commit_fails_is_sent_once_more)
{
	commit_in(0, &file_a, 2);
	write_in(1, &file_a, 1, 0, 10, NFS3_FILE_SYNC);
	write_back(1, NFS3_UNSTABLE, u1);
	ck_assert_str_eq(seen.log, "c0 w1 ");
	commit_back(0, NFS3ERR_IO, u1, false);
	ck_assert_str_eq(seen.log, "c0 w1 w1 C0 ");
	write_back(1, NFS3_FILE_SYNC, u1);
	ck_assert_int_eq(seen.write.committed, NFS3_FILE_SYNC);
}
END_TEST

START_TEST(p1_error_tells_only_of_writes_answered_before_the_commit_arrived)
{
	commit_in(0, &file_a, 1);
	commit_in(1, &file_a, 1);
	write_in(2, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	write_back(2, NFS3_UNSTABLE, u1);
	commit_back(0, NFS3_OK, u1, false);
	commit_back(1, NFS3ERR_IO, u1,
		    false); /* sent after the answer, asked before it */
	ck_assert_uint_eq(seen.rotations, 1);
}
END_TEST

START_TEST(p1_failed_proof_tells_the_same_clients_other_writes_by_rotation)
{
	write_in(0, &file_a, 1, 100, 10, NFS3_UNSTABLE);
	write_back(0, NFS3_UNSTABLE, u1);
	write_in(1, &file_a, 1, 0, 10, NFS3_FILE_SYNC);
	write_back(1, NFS3_UNSTABLE, u1);
	commit_back(1, NFS3ERR_IO, u1, false);
	ck_assert_uint_eq(seen.write.status, NFS3ERR_IO);
	ck_assert_uint_eq(seen.rotations, 1);
}
END_TEST

START_TEST(p2_stable_write_answered_as_unstable_is_proven_first)
{
	write_in(0, &file_a, 1, 0, 10, NFS3_FILE_SYNC);
	write_back(0, NFS3_UNSTABLE, u1);
	ck_assert_str_eq(seen.log, "w0 p0 ");
	commit_back(0, NFS3_OK, u1, false);
	ck_assert_str_eq(seen.log, "w0 p0 W0 ");
	ck_assert_int_eq(seen.write.committed, NFS3_FILE_SYNC);
	ck_assert_uint_eq(seen.write.count, 10);
	ck_assert_uint_eq(engine_file_count(engine), 0);
}
END_TEST

START_TEST(p2_stable_write_is_sent_again_when_the_proof_does_not_match)
{
	write_in(0, &file_a, 1, 0, 10, NFS3_FILE_SYNC);
	write_back(0, NFS3_UNSTABLE, u1);
	commit_back(0, NFS3_OK, u2, false); /* lost in between */
	ck_assert_str_eq(seen.log, "w0 p0 w0 ");
	write_back(0, NFS3_UNSTABLE, u2);
	commit_back(0, NFS3_OK, u2, true); /* an error may have been swallowed */
	ck_assert_str_eq(seen.log, "w0 p0 w0 p0 w0 ");
	write_back(0, NFS3_FILE_SYNC, u2);
	ck_assert_str_eq(seen.log, "w0 p0 w0 p0 w0 W0 ");
	ck_assert_int_eq(seen.write.committed, NFS3_FILE_SYNC);
}
END_TEST

START_TEST(p2_stable_write_that_cannot_be_proven_fails)
{
	write_in(0, &file_a, 1, 0, 10, NFS3_DATA_SYNC);
	for (unsigned int i = 0; i < 4; i++) {
		write_back(0, NFS3_UNSTABLE, u1);
		commit_back(0, NFS3_OK, u2, false);
	}
	ck_assert_uint_eq(seen.write.status, NFS3ERR_IO);
	ck_assert_ptr_nonnull(strstr(seen.log, "W0"));
}
END_TEST

START_TEST(p2_failed_proof_is_the_answer)
{
	write_in(0, &file_a, 1, 0, 10, NFS3_FILE_SYNC);
	write_back(0, NFS3_UNSTABLE, u1);
	commit_back(0, NFS3ERR_NOSPC, u1, false);
	ck_assert_uint_eq(seen.write.status, NFS3ERR_NOSPC);
}
END_TEST

START_TEST(p2_data_sync_data_needs_no_matching_verifier)
{
	write_in(0, &file_a, 1, 0, 10, NFS3_FILE_SYNC);
	write_back(0, NFS3_DATA_SYNC, (struct nfs3_verifier){ { 0 } });
	commit_back(0, NFS3_OK, u1, false);
	ck_assert_int_eq(seen.write.committed, NFS3_FILE_SYNC);
	ck_assert_uint_eq(seen.rotations, 0);
}
END_TEST

START_TEST(p1_refused_commit_of_unknown_fate_rotates)
{
	write_in(0, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	write_back(0, NFS3_UNSTABLE, u1);
	commit_in(1, &file_a, 1);
	engine_on_no_result(engine, &op[1], true);
	ck_assert_uint_eq(seen.rotations, 1);
}
END_TEST

START_TEST(p1_commit_of_an_unknown_file_goes_upstream)
{
	commit_in(0, &file_a, 1);
	ck_assert_str_eq(seen.log, "c0 ");
	commit_back(0, NFS3ERR_STALE, u1, false);
	ck_assert_str_eq(seen.log, "c0 C0 ");
	ck_assert_uint_eq(seen.commit.status, NFS3ERR_STALE);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("engine_commit");
	TCase *tcase = unit_case(suite, "relay");

	tcase_add_checked_fixture(tcase, engine_setup, engine_teardown);
	tcase_add_test(tcase,
		       p1_write_answered_while_a_commit_is_out_is_not_covered_by_it);
	tcase_add_test(tcase, p1_entry_that_spans_a_commit_is_cut_not_dropped);
	tcase_add_test(tcase, p1_commit_cut_off_before_its_reply_rotates);
	tcase_add_test(tcase, p1_failed_commit_tells_the_others_by_rotation);
	tcase_add_test(tcase, p1_commit_error_that_kept_the_data_forgets_nothing);
	tcase_add_test(tcase, p1_many_clients_of_one_file_are_all_remembered);
	tcase_add_test(tcase, p1_more_upstream_verifiers_than_the_ledger_holds);
	tcase_add_test(tcase, p1_files_without_commit_are_bounded_and_still_noticed);
	tcase_add_test(tcase,
		       p1_one_commit_of_a_file_is_out_and_the_others_share_the_next);
	tcase_add_test(tcase, p1_failed_commit_is_not_shared);
	tcase_add_test(tcase, p6_commits_of_two_credentials_are_not_shared);
	tcase_add_test(tcase,
		       p1_write_on_its_way_when_a_commit_fails_is_sent_once_more);
	tcase_add_test(
		tcase,
		p2_write_waiting_for_proof_when_a_commit_fails_is_sent_once_more);
	tcase_add_test(
		tcase,
		p1_error_tells_only_of_writes_answered_before_the_commit_arrived);
	tcase_add_test(tcase,
		       p1_failed_proof_tells_the_same_clients_other_writes_by_rotation);
	tcase_add_test(tcase, p2_stable_write_answered_as_unstable_is_proven_first);
	tcase_add_test(tcase,
		       p2_stable_write_is_sent_again_when_the_proof_does_not_match);
	tcase_add_test(tcase, p2_stable_write_that_cannot_be_proven_fails);
	tcase_add_test(tcase, p2_failed_proof_is_the_answer);
	tcase_add_test(tcase, p2_data_sync_data_needs_no_matching_verifier);
	tcase_add_test(tcase, p1_refused_commit_of_unknown_fate_rotates);
	tcase_add_test(tcase, p1_commit_of_an_unknown_file_goes_upstream);
	return unit_run(suite);
}
