/*
 * Rules for calls that come twice and sessions that were given up: every row of the table
 * in duplicate.h.
 */
#include "frontend/duplicate.h"
#include "unit/unit.h"

enum { OLDER = 3, NEWER = 8, GONE = 0 };

static void check_rule(enum duplicate_original original, uint64_t original_seq,
		       uint64_t copy_seq, enum duplicate_action action,
		       enum duplicate_loser loser)
{
	struct duplicate_ruling ruling =
		duplicate_rule(original, original_seq, copy_seq);

	ck_assert_int_eq(ruling.action, action);
	ck_assert_int_eq(ruling.loser, loser);
}

START_TEST(unknown_call_runs)
{
	check_rule(DUPLICATE_UNKNOWN, GONE, NEWER, DUPLICATE_RUN, DUPLICATE_NOBODY);
}
END_TEST

START_TEST(call_that_never_started_is_replaced)
{
	check_rule(DUPLICATE_PARKED, OLDER, NEWER, DUPLICATE_RUN, DUPLICATE_ORIGINAL);
	check_rule(DUPLICATE_PARKED, NEWER, OLDER, DUPLICATE_IGNORE, DUPLICATE_COPY);
}
END_TEST

START_TEST(call_in_progress_follows_the_newer_session)
{
	check_rule(DUPLICATE_IN_PROGRESS, NEWER, NEWER, DUPLICATE_IGNORE,
		   DUPLICATE_NOBODY);
	check_rule(DUPLICATE_IN_PROGRESS, GONE, NEWER, DUPLICATE_FOLLOW,
		   DUPLICATE_NOBODY);
	check_rule(DUPLICATE_IN_PROGRESS, OLDER, NEWER, DUPLICATE_FOLLOW,
		   DUPLICATE_ORIGINAL);
	check_rule(DUPLICATE_IN_PROGRESS, NEWER, OLDER, DUPLICATE_IGNORE,
		   DUPLICATE_COPY);
}
END_TEST

START_TEST(answer_is_repeated_on_the_newer_session)
{
	check_rule(DUPLICATE_ANSWERED, NEWER, NEWER, DUPLICATE_REPEAT,
		   DUPLICATE_NOBODY);
	check_rule(DUPLICATE_ANSWERED, GONE, NEWER, DUPLICATE_REPEAT, DUPLICATE_NOBODY);
	check_rule(DUPLICATE_ANSWERED, OLDER, NEWER, DUPLICATE_REPEAT,
		   DUPLICATE_ORIGINAL);
	check_rule(DUPLICATE_ANSWERED, NEWER, OLDER, DUPLICATE_IGNORE, DUPLICATE_COPY);
}
END_TEST

START_TEST(session_is_outrun_by_those_accepted_while_it_stood_still)
{
	ck_assert(duplicate_is_outrun(NEWER, NEWER));
	ck_assert(duplicate_is_outrun(NEWER + 1, NEWER));
	ck_assert(!duplicate_is_outrun(OLDER, NEWER));
	ck_assert(!duplicate_is_outrun(0, NEWER));
}
END_TEST

START_TEST(session_goes_on_only_if_nobody_outran_it)
{
	ck_assert(duplicate_may_resume(true, false, 0));
	ck_assert(duplicate_may_resume(true, false, NEWER));
	ck_assert(duplicate_may_resume(false, false, 0));
	ck_assert(!duplicate_may_resume(false, false, NEWER));
	ck_assert(!duplicate_may_resume(true, true, NEWER));
}
END_TEST

static const struct nfs_proc *proc_of(enum nfs3_proc number)
{
	const struct nfs_proc *proc;
	uint32_t low;
	uint32_t high;

	ck_assert_int_eq(nfs_proc_find(PROGRAM_NFS, 3, number, &proc, &low, &high),
			 NFS_LOOKUP_OK);
	return proc;
}

START_TEST(what_must_not_run_twice_is_kept)
{
	ck_assert_int_eq(duplicate_keep(proc_of(NFS3_PROC_WRITE), true),
			 REPLY_KEEP_WRITE);
	ck_assert_int_eq(duplicate_keep(proc_of(NFS3_PROC_WRITE), false),
			 REPLY_KEEP_WRITE);
	ck_assert_int_eq(duplicate_keep(proc_of(NFS3_PROC_COMMIT), true), REPLY_KEEP);
	ck_assert_int_eq(duplicate_keep(proc_of(NFS3_PROC_REMOVE), true), REPLY_KEEP);
	ck_assert_int_eq(duplicate_keep(proc_of(NFS3_PROC_RENAME), false), REPLY_KEEP);
	ck_assert_int_eq(duplicate_keep(proc_of(NFS3_PROC_READ), true), REPLY_KEEP_NOT);
	ck_assert_int_eq(duplicate_keep(proc_of(NFS3_PROC_GETATTR), false),
			 REPLY_KEEP_NOT);
}
END_TEST

START_TEST(failed_commit_is_kept_longest)
{
	ck_assert_int_eq(duplicate_keep(proc_of(NFS3_PROC_COMMIT), false),
			 REPLY_KEEP_LONG);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("duplicate");
	TCase *calls = unit_case(suite, "calls");
	TCase *sessions = unit_case(suite, "sessions");
	TCase *answers = unit_case(suite, "answers");

	tcase_add_test(calls, unknown_call_runs);
	tcase_add_test(calls, call_that_never_started_is_replaced);
	tcase_add_test(calls, call_in_progress_follows_the_newer_session);
	tcase_add_test(calls, answer_is_repeated_on_the_newer_session);
	tcase_add_test(sessions,
		       session_is_outrun_by_those_accepted_while_it_stood_still);
	tcase_add_test(sessions, session_goes_on_only_if_nobody_outran_it);
	tcase_add_test(answers, what_must_not_run_twice_is_kept);
	tcase_add_test(answers, failed_commit_is_kept_longest);
	return unit_run(suite);
}
