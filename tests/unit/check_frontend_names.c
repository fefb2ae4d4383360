/*
 * Calls that name a file with acked bytes by directory and name: looked up first, relayed
 * when its bytes are out of the way. And the end of a frontend that has such bytes.
 */
#include "unit/frontend_buffer.h"

static size_t make_rename(uint32_t xid)
{
	call_begin(&call, xid, PROGRAM_NFS, 3, NFS3_PROC_RENAME, "host");
	xdr_out_bytes(&call.out, "handle-d", 8);
	xdr_out_bytes(&call.out, "from", 4);
	xdr_out_bytes(&call.out, "handle-e", 8);
	xdr_out_bytes(&call.out, "to", 2);
	return call_end(&call);
}

/* UNCHECKED; without a size nothing is cut. */
static size_t make_create(uint32_t xid, bool sets_size)
{
	call_begin(&call, xid, PROGRAM_NFS, 3, NFS3_PROC_CREATE, "host");
	xdr_out_bytes(&call.out, "handle-d", 8);
	xdr_out_bytes(&call.out, "name", 4);
	xdr_out_u32(&call.out, NFS3_UNCHECKED);
	xdr_out_u32(&call.out, 0);
	xdr_out_u32(&call.out, 0);
	xdr_out_u32(&call.out, 0);
	xdr_out_u32(&call.out, sets_size);
	if (sets_size)
		xdr_out_u64(&call.out, 0);
	xdr_out_u32(&call.out, 0);
	xdr_out_u32(&call.out, 0);
	return call_end(&call);
}

START_TEST(names_are_not_looked_up_while_nothing_is_buffered)
{
	send_call(make_named(1, NFS3_PROC_REMOVE, "name"));
	UPSTREAM_ANSWER(next_request(NFS3_PROC_REMOVE), REMOVE_OK);
	CLIENT_EXPECT(&client, ACCEPTED(1), REMOVE_OK);
	send_call(make_rename(2));
	UPSTREAM_ANSWER(next_request(NFS3_PROC_RENAME), 0, 0, 0, 0, 0);
	CLIENT_EXPECT(&client, ACCEPTED(2), 0, 0, 0, 0, 0);
	send_call(make_create(3, true));
	UPSTREAM_ANSWER(next_request(NFS3_PROC_CREATE), 0, 0, 0, 0, 0);
	CLIENT_EXPECT(&client, ACCEPTED(3), 0, 0, 0, 0, 0);
}
END_TEST

START_TEST(remove_waits_for_the_bytes_of_what_it_removes)
{
	open_file();
	write_acked(2, 100, 100, 'b');
	send_call(make_named(3, NFS3_PROC_REMOVE, "name"));
	fixture_run_until_submitted(2);
	upstream_expect_proc(1, NFS3_PROC_LOOKUP);
	ck_assert_mem_eq(fixture.upstream.request[1]->call->args.dirop.name.data,
			 "name", 4);
	answered = 1;
	UPSTREAM_ANSWER(1, LOOKUP_RESULTS(HANDLE_1, 100));
	answered = 2;
	flush(100, 200);
	UPSTREAM_ANSWER(next_request(NFS3_PROC_REMOVE), REMOVE_OK);
	CLIENT_EXPECT(&client, ACCEPTED(3), REMOVE_OK);
	/* It had no other name: that its bytes are gone with it is no loss. */
	send_call(call_make_commit(&call, 4));
	UPSTREAM_ANSWER(next_request(NFS3_PROC_COMMIT), NFS3ERR_STALE, 0, 0);
	for (; answered < fixture.upstream.count; answered++) {
		upstream_expect_proc(answered, NFS3_PROC_WRITE);
		UPSTREAM_ANSWER(answered, NFS3ERR_STALE, 0, 0);
	}
	fixture_run_until(client_has_reply, &client);
	ck_assert_uint_eq(fixture_stat(STAT_LOST_BYTES), 0);
}
END_TEST

/* A file that is renamed to itself is not gone. */
START_TEST(rename_to_itself_removes_nothing)
{
	open_file();
	send_call(make_rename(2));
	UPSTREAM_ANSWER(next_request(NFS3_PROC_LOOKUP), LOOKUP_RESULTS(HANDLE_1, 100));
	UPSTREAM_ANSWER(next_request(NFS3_PROC_LOOKUP), LOOKUP_RESULTS(HANDLE_1, 100));
	UPSTREAM_ANSWER(next_request(NFS3_PROC_RENAME), 0, 0, 0, 0, 0);
	CLIENT_EXPECT(&client, ACCEPTED(2), 0, 0, 0, 0, 0);
	send_call(call_make_commit(&call, 3));
	UPSTREAM_ANSWER(next_request(NFS3_PROC_COMMIT), NFS3ERR_STALE, 0, 0);
	UPSTREAM_ANSWER(next_request(NFS3_PROC_WRITE), NFS3ERR_STALE, 0, 0);
	CLIENT_EXPECT(&client, ACCEPTED(3), NFS3ERR_STALE, 0, 0);
	ck_assert_uint_eq(fixture_stat(STAT_LOST_BYTES), 100);
}
END_TEST

START_TEST(a_name_that_is_not_there_holds_nothing_up)
{
	open_file();
	send_call(make_named(3, NFS3_PROC_REMOVE, "name"));
	UPSTREAM_ANSWER(next_request(NFS3_PROC_LOOKUP), NFS3ERR_NOENT, 0);
	UPSTREAM_ANSWER(next_request(NFS3_PROC_REMOVE), NFS3ERR_NOENT, 0, 0);
	CLIENT_EXPECT(&client, ACCEPTED(3), NFS3ERR_NOENT, 0, 0);
	/* Not known whether it is there: nothing may run yet. */
	send_call(make_named(4, NFS3_PROC_REMOVE, "name"));
	UPSTREAM_ANSWER(next_request(NFS3_PROC_LOOKUP), NFS3ERR_JUKEBOX, 0);
	CLIENT_EXPECT(&client, ACCEPTED(4), NFS3ERR_JUKEBOX, 0, 0);
	send_call(make_named(5, NFS3_PROC_REMOVE, "name"));
	upstream_refuse(next_request(NFS3_PROC_LOOKUP), UPSTREAM_SYSTEM_ERR);
	CLIENT_EXPECT(&client, 5, 1, 0, 0, 0, 5);
	send_call(make_named(6, NFS3_PROC_REMOVE, "name"));
	UPSTREAM_ANSWER(next_request(NFS3_PROC_LOOKUP), 0, 99);
	CLIENT_EXPECT(&client, 6, 1, 0, 0, 0, 5);
}
END_TEST

START_TEST(rename_waits_for_both_files)
{
	open_file();
	write_acked(2, 100, 100, 'b');
	send_call(make_rename(3));
	UPSTREAM_ANSWER(next_request(NFS3_PROC_LOOKUP), LOOKUP_RESULTS(HANDLE_2, 100));
	fixture_run_until_submitted(3);
	upstream_expect_proc(2, NFS3_PROC_LOOKUP);
	ck_assert_mem_eq(fixture.upstream.request[2]->call->args.dirop.name.data, "to",
			 2);
	UPSTREAM_ANSWER(2, LOOKUP_RESULTS(HANDLE_1, 100));
	answered = 3;
	flush(100, 200);
	UPSTREAM_ANSWER(next_request(NFS3_PROC_RENAME), 0, 0, 0, 0, 0);
	CLIENT_EXPECT(&client, ACCEPTED(3), 0, 0, 0, 0, 0);
}
END_TEST

START_TEST(a_create_that_cuts_has_the_file_for_itself)
{
	open_file();
	write_acked(2, 100, 100, 'b');
	send_call(make_create(3, true));
	UPSTREAM_ANSWER(next_request(NFS3_PROC_LOOKUP), LOOKUP_RESULTS(HANDLE_1, 100));
	flush(100, 200);
	next_request(NFS3_PROC_CREATE);
	send_call(call_make_write(&call, 4, 0, 10, 'c'));
	client_expect_nothing(&client);
	ck_assert_uint_eq(fixture.upstream.count, answered);
	UPSTREAM_ANSWER(3, 0, 1, HANDLE_1, 1, FATTR(0), 0, 0);
	CLIENT_EXPECT(&client, ACCEPTED(3), 0, 1, HANDLE_1, 1, FATTR(0), 0, 0);
	flush(10, 10);
	fixture_run_until(client_has_reply, &client);
	/* Nothing is left of what was cut. */
	ck_assert_uint_le(fixture.stats.gauge[GAUGE_RETAINED_BYTES], 10);
}
END_TEST

/* No size was given; or somebody replaced the name after it had been found. */
START_TEST(a_create_that_made_another_file_cuts_nothing)
{
	open_file();
	send_call(make_create(2, false));
	UPSTREAM_ANSWER(next_request(NFS3_PROC_CREATE), 0, 0, 0, 0, 0);
	CLIENT_EXPECT(&client, ACCEPTED(2), 0, 0, 0, 0, 0);
	send_call(make_create(3, true));
	UPSTREAM_ANSWER(next_request(NFS3_PROC_LOOKUP), LOOKUP_RESULTS(HANDLE_1, 100));
	UPSTREAM_ANSWER(next_request(NFS3_PROC_CREATE), 0, 1, HANDLE_2, 0, 0, 0);
	CLIENT_EXPECT(&client, ACCEPTED(3), 0, 1, HANDLE_2, 0, 0, 0);
	ck_assert_uint_eq(fixture.stats.gauge[GAUGE_RETAINED_BYTES], 100);
}
END_TEST

/* --- the end --- */

/* Answers WRITEs and COMMITs in whatever order they come, until all bytes are proven. */
static bool answer_ios(const void *arg)
{
	const uint64_t *gauge = fixture.stats.gauge;

	(void)arg;
	for (; answered < fixture.upstream.count; answered++) {
		if (fixture.upstream.request[answered]->call->proc == NFS3_PROC_WRITE)
			UPSTREAM_ANSWER(answered, WRITE_RESULTS(100, 200));
		else
			UPSTREAM_ANSWER(answered, COMMIT_OK);
	}
	return gauge[GAUGE_DIRTY_BYTES] + gauge[GAUGE_RETAINED_BYTES] == 0;
}

START_TEST(draining_writes_back_commits_and_answers)
{
	open_file();
	write_acked(2, 100, 100, 'b');
	send_call(call_make_fh(&call, 3, NFS3_PROC_FSSTAT, "host"));
	next_request(NFS3_PROC_FSSTAT);
	frontend_drain(fixture.frontend);
	ck_assert(!frontend_is_drained(fixture.frontend));
	fixture_run_until(answer_ios, NULL);
	ck_assert(!frontend_is_drained(fixture.frontend));
	UPSTREAM_ANSWER(1, NFS3ERR_STALE, 0);
	ck_assert(!frontend_is_drained(fixture.frontend)); /* it is not sent yet */
	CLIENT_EXPECT(&client, ACCEPTED(3), NFS3ERR_STALE, 0);
	ck_assert(frontend_is_drained(fixture.frontend));
	/* Nothing more is read. */
	send_call(call_make_fh(&call, 4, NFS3_PROC_GETATTR, "host"));
	client_expect_nothing(&client);
	ck_assert_uint_eq(fixture.upstream.count, answered);
	ck_assert(frontend_is_drained(fixture.frontend));
}
END_TEST

START_TEST(stopping_with_buffered_bytes_leaks_nothing)
{
	open_file();
	write_acked(2, 100, 100, 'b');
	send_call(make_named(3, NFS3_PROC_REMOVE, "name"));
	next_request(NFS3_PROC_LOOKUP);
	send_call(make_setattr(4, true));
	flush(100, 200);
	next_request(NFS3_PROC_SETATTR);
	send_call(call_make_write(&call, 5, 0, 50, 'c')); /* held back */
	send_call(call_make_commit(&call, 6));
	send_call(call_make_commit_of(&call, 7, "handle-2"));
	fixture_settle();
	ck_assert_uint_ge(fixture.upstream.count, 5);
	fixture_stop();
	client_expect_closed(&client);
	client_shut(&client);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("frontend_names");
	TCase *names = unit_case(suite, "names");
	TCase *ends = unit_case(suite, "ends");

	tcase_add_checked_fixture(names, buffer_setup, buffer_teardown);
	tcase_add_test(names, names_are_not_looked_up_while_nothing_is_buffered);
	tcase_add_test(names, remove_waits_for_the_bytes_of_what_it_removes);
	tcase_add_test(names, a_name_that_is_not_there_holds_nothing_up);
	tcase_add_test(names, rename_waits_for_both_files);
	tcase_add_test(names, rename_to_itself_removes_nothing);
	tcase_add_test(names, a_create_that_cuts_has_the_file_for_itself);
	tcase_add_test(names, a_create_that_made_another_file_cuts_nothing);
	tcase_add_checked_fixture(ends, buffer_setup, NULL);
	tcase_add_test(ends, draining_writes_back_commits_and_answers);
	tcase_add_test(ends, stopping_with_buffered_bytes_leaks_nothing);
	tcase_set_timeout(names, 60);
	tcase_set_timeout(ends, 60);
	return unit_run(suite);
}
