/*
 * The frontend as clients see it: records in any shape, RPC errors byte for byte,
 * duplicates, sessions that were replaced, and what is left when it stops. Limits are
 * in check_frontend_limits.c, access rules and MOUNT in check_frontend_rules.c.
 */
#include "unit/unit.h"

#include <string.h>
#include <sys/socket.h>

#include "frontend/reply_cache.h"
#include "frontend/session.h"
#include "unit/frontend_fixture.h"

enum { MIB = 1024 * 1024 };

static struct test_call call;

static void setup(void)
{
	fixture_start("127.0.0.0/8(insecure)", NULL, 0, 64 * MIB);
}

START_TEST(null_of_every_program_is_answered_here)
{
	struct test_client client;

	client_open(&client);
	call_begin(&call, 1, PROGRAM_NFS, 3, NFS3_PROC_NULL, NULL);
	client_send(&client, call.bytes, call_end(&call));
	call_begin(&call, 2, PROGRAM_MOUNT, 3, MOUNT_PROC_NULL, NULL);
	client_send(&client, call.bytes, call_end(&call));
	call_begin(&call, 3, PROGRAM_NFSACL, 3, NFSACL_PROC_NULL, "host");
	client_send(&client, call.bytes, call_end(&call));
	CLIENT_EXPECT(&client, ACCEPTED(1));
	CLIENT_EXPECT(&client, ACCEPTED(2));
	CLIENT_EXPECT(&client, ACCEPTED(3));
	ck_assert_uint_eq(fixture.upstream.count, 0);
	ck_assert_uint_eq(fixture_stat(STAT_CLIENT_CALLS), 3);
	client_shut(&client);
}
END_TEST

static void send_bare(struct test_client *client, uint32_t xid, uint32_t program,
		      uint32_t version, uint32_t proc)
{
	call_begin(&call, xid, program, version, proc, "host");
	client_send(client, call.bytes, call_end(&call));
}

START_TEST(rpc_errors_are_exact_and_keep_the_connection)
{
	struct test_client client;
	uint8_t gids17[4 + 4 + 4 + 4 + 4 + 17 * 4] = { [19] = 17 };

	client_open(&client);
	send_bare(&client, 1, 100021, 4, 0); /* NLM */
	CLIENT_EXPECT(&client, 1, 1, 0, 0, 0, 1);
	send_bare(&client, 2, PROGRAM_NFS, 4, 0);
	CLIENT_EXPECT(&client, 2, 1, 0, 0, 0, 2, 3, 3);
	send_bare(&client, 3, PROGRAM_NFS, 2, 0);
	CLIENT_EXPECT(&client, 3, 1, 0, 0, 0, 2, 3, 3);
	send_bare(&client, 4, PROGRAM_MOUNT, 2, 0);
	CLIENT_EXPECT(&client, 4, 1, 0, 0, 0, 2, 1, 3);
	send_bare(&client, 5, PROGRAM_NFS, 3, 22);
	CLIENT_EXPECT(&client, 5, 1, 0, 0, 0, 3);
	send_bare(&client, 6, PROGRAM_NFS, 3, NFS3_PROC_GETATTR); /* no handle */
	CLIENT_EXPECT(&client, 6, 1, 0, 0, 0, 4);
	call_begin_raw(&call, 7, 3, PROGRAM_NFS, 3, 0, 0, NULL, 0);
	client_send(&client, call.bytes, call_end(&call));
	CLIENT_EXPECT(&client, 7, 1, 1, 0, 2, 2);
	call_begin_raw(&call, 8, 2, PROGRAM_NFS, 3, 0, 6, "gssbody.", 8);
	client_send(&client, call.bytes, call_end(&call));
	CLIENT_EXPECT(&client, 8, 1, 1, 1, 2);
	call_begin_raw(&call, 9, 2, PROGRAM_NFS, 3, 0, 1, gids17, sizeof(gids17));
	client_send(&client, call.bytes, call_end(&call));
	CLIENT_EXPECT(&client, 9, 1, 1, 1, 1);
	ck_assert_uint_eq(fixture_stat(STAT_RPC_ERRORS_SENT), 9);
	client_expect_alive(&client);
	client_shut(&client);
}
END_TEST

START_TEST(pipelined_calls_are_answered_in_any_order)
{
	static uint8_t batch[100 * 256];
	struct test_client client;
	size_t len = 0;
	uint32_t xid;

	client_open(&client);
	for (xid = 1; xid <= 100; xid++) {
		size_t bytes = call_make_fh(&call, xid, NFS3_PROC_GETATTR, "host");

		memcpy(batch + len, call.bytes, bytes);
		len += bytes;
	}
	client_send(&client, batch, len);
	fixture_run_until_submitted(100);
	for (xid = 100; xid >= 1; xid--)
		UPSTREAM_ANSWER(xid - 1, NFS3ERR_STALE);
	for (xid = 100; xid >= 1; xid--)
		CLIENT_EXPECT(&client, ACCEPTED(xid), NFS3ERR_STALE);
	client_expect_alive(&client);
	client_shut(&client);
}
END_TEST

START_TEST(one_byte_segments_and_one_byte_fragments_make_a_record)
{
	struct test_client client;
	size_t len = call_make_remove(&call, 7, "host", "a-name");
	size_t i;

	client_open(&client);
	for (i = 0; i < len; i++)
		client_send(&client, call.bytes + i, 1);
	fixture_run_until_submitted(1);
	UPSTREAM_ANSWER(0, REMOVE_OK);
	CLIENT_EXPECT(&client, ACCEPTED(7), REMOVE_OK);

	len = call_make_remove(&call, 8, "host", "a-name");
	for (i = 4; i < len; i++) {
		uint8_t fragment[5] = { i + 1 == len ? 0x80 : 0, 0, 0, 1,
					call.bytes[i] };

		client_send(&client, fragment, sizeof(fragment));
	}
	fixture_run_until_submitted(2);
	ck_assert_uint_eq(fixture.upstream.request[1]->call->args.dirop.name.len, 6);
	UPSTREAM_ANSWER(1, REMOVE_OK);
	CLIENT_EXPECT(&client, ACCEPTED(8), REMOVE_OK);
	client_shut(&client);
}
END_TEST

START_TEST(large_writes_arrive_whole)
{
	struct test_client client;
	uint32_t xid;

	client_open(&client);
	for (xid = 1; xid <= 8; xid++) {
		size_t len = call_make_write(&call, xid, (xid - 1) * (uint64_t)MIB, MIB,
					     (uint8_t)xid);

		client_send(&client, call.bytes, len);
	}
	fixture_run_until_submitted(8);
	for (xid = 1; xid <= 8; xid++) {
		upstream_expect_payload(xid - 1, MIB, (uint8_t)xid);
		UPSTREAM_ANSWER(xid - 1, WRITE_OK(MIB));
		CLIENT_EXPECT(&client, ACCEPTED(xid), 0, 0, 0, MIB, 0, OUR_VERIFIER);
	}
	ck_assert_uint_eq(fixture_stat(STAT_CLIENT_WRITES), 8);
	ck_assert_uint_eq(fixture_stat(STAT_CLIENT_WRITE_BYTES), 8 * MIB);
	client_shut(&client);
}
END_TEST

START_TEST(a_retransmission_on_a_new_connection_runs_once)
{
	struct test_client first;
	struct test_client second;
	struct test_client third;
	size_t len = call_make_remove(&call, 7, "host", "name");

	client_open(&first);
	client_send(&first, call.bytes, len);
	fixture_run_until_submitted(1);
	/* In progress: it follows its client to the new connection. */
	client_open(&second);
	client_send(&second, call.bytes, len);
	client_expect_closed(&first);
	UPSTREAM_ANSWER(0, REMOVE_OK);
	CLIENT_EXPECT(&second, ACCEPTED(7), REMOVE_OK);
	/* Answered: the same bytes again. */
	client_open(&third);
	client_send(&third, call.bytes, len);
	CLIENT_EXPECT(&third, ACCEPTED(7), REMOVE_OK);
	client_expect_closed(&second);
	client_send(&third, call.bytes, len);
	CLIENT_EXPECT(&third, ACCEPTED(7), REMOVE_OK);
	ck_assert_uint_eq(fixture.upstream.count, 1);
	ck_assert_uint_eq(fixture_stat(STAT_CALLS_ATTACHED), 1);
	ck_assert_uint_eq(fixture_stat(STAT_REPLIES_REPEATED), 2);
	ck_assert_uint_eq(fixture_stat(STAT_SESSIONS_REPLACED), 2);
	client_expect_alive(&third);
	client_shut(&first);
	client_shut(&second);
	client_shut(&third);
}
END_TEST

START_TEST(other_calls_of_a_replaced_session_go_on_and_are_kept)
{
	struct test_client first;
	struct test_client second;
	size_t len;

	client_open(&first);
	len = call_make_remove(&call, 1, "host", "one");
	client_send(&first, call.bytes, len);
	len = call_make_remove(&call, 2, "host", "two");
	client_send(&first, call.bytes, len);
	fixture_run_until_submitted(2);
	client_open(&second);
	client_send(&second, call.bytes, len);
	client_expect_closed(&first);
	/* Nobody is there to read the first answer; asked again, it is the same. */
	UPSTREAM_ANSWER(0, NFS3ERR_ACCES, 0, 0);
	client_expect_nothing(&second);
	len = call_make_remove(&call, 1, "host", "one");
	client_send(&second, call.bytes, len);
	CLIENT_EXPECT(&second, ACCEPTED(1), NFS3ERR_ACCES, 0, 0);
	UPSTREAM_ANSWER(1, REMOVE_OK);
	CLIENT_EXPECT(&second, ACCEPTED(2), REMOVE_OK);
	ck_assert_uint_eq(fixture.upstream.count, 2);
	client_shut(&first);
	client_shut(&second);
}
END_TEST

START_TEST(a_copy_on_the_same_connection_is_ignored)
{
	struct test_client client;
	size_t len = call_make_commit(&call, 7);

	client_open(&client);
	client_send(&client, call.bytes, len);
	client_send(&client, call.bytes, len);
	client_send(&client, call.bytes, len);
	fixture_run_until_stat(STAT_CALLS_ATTACHED, 2);
	ck_assert_uint_eq(fixture.upstream.count, 1);
	UPSTREAM_ANSWER(0, COMMIT_OK);
	CLIENT_EXPECT(&client, ACCEPTED(7), 0, 0, 0, OUR_VERIFIER);
	client_expect_alive(&client);
	client_shut(&client);
}
END_TEST

START_TEST(a_stale_copy_on_an_older_connection_closes_that_one)
{
	struct test_client older;
	struct test_client newer;
	size_t len = call_make_remove(&call, 7, "host", "name");

	client_open(&older);
	client_open(&newer);
	client_send(&newer, call.bytes, len);
	fixture_run_until_submitted(1);
	client_send(&older, call.bytes, len);
	client_expect_closed(&older);
	UPSTREAM_ANSWER(0, REMOVE_OK);
	CLIENT_EXPECT(&newer, ACCEPTED(7), REMOVE_OK);
	client_expect_alive(&newer);
	client_shut(&older);
	client_shut(&newer);
}
END_TEST

START_TEST(other_machine_names_are_other_clients)
{
	struct test_client first;
	struct test_client second;
	size_t len = call_make_remove(&call, 7, "host", "name");

	client_open(&first);
	client_open(&second);
	client_send(&first, call.bytes, len);
	len = call_make_remove(&call, 7, "guest", "name");
	client_send(&second, call.bytes, len);
	fixture_run_until_submitted(2);
	UPSTREAM_ANSWER(0, REMOVE_OK);
	UPSTREAM_ANSWER(1, NFS3ERR_NOENT, 0, 0);
	CLIENT_EXPECT(&first, ACCEPTED(7), REMOVE_OK);
	CLIENT_EXPECT(&second, ACCEPTED(7), NFS3ERR_NOENT, 0, 0);
	client_shut(&first);
	client_shut(&second);
}
END_TEST

START_TEST(a_repeated_write_is_answered_from_the_cache)
{
	struct test_client first;
	struct test_client second;
	size_t len = call_make_write(&call, 7, 4096, 100, 'x');

	client_open(&first);
	client_send(&first, call.bytes, len);
	fixture_run_until_submitted(1);
	UPSTREAM_ANSWER(0, WRITE_OK(100));
	CLIENT_EXPECT(&first, ACCEPTED(7), 0, 0, 0, 100, 0, OUR_VERIFIER);
	client_open(&second);
	client_send(&second, call.bytes, len);
	CLIENT_EXPECT(&second, ACCEPTED(7), 0, 0, 0, 100, 0, OUR_VERIFIER);
	client_expect_closed(&first);
	/* The same xid with other bytes is another call. */
	len = call_make_write(&call, 7, 4096, 100, 'y');
	client_send(&second, call.bytes, len);
	fixture_run_until_submitted(2);
	client_shut(&first);
	client_shut(&second);
}
END_TEST

/* Asks again until the cache has expired it and it runs once more. */
static void run_until_remove_was_forgotten(struct test_client *client)
{
	size_t len = call_make_remove(&call, 6, "host", "name");
	size_t before = fixture.upstream.count;

	for (;;) {
		client_send(client, call.bytes, len);
		fixture_run_until_stat(STAT_CLIENT_CALLS,
				       fixture_stat(STAT_CLIENT_CALLS) + 1);
		if (fixture.upstream.count > before)
			break;
		CLIENT_EXPECT(client, ACCEPTED(6), REMOVE_OK);
	}
	UPSTREAM_ANSWER(before, REMOVE_OK);
	CLIENT_EXPECT(client, ACCEPTED(6), REMOVE_OK);
}

/* Of a file whose bytes are all proven there is nothing to ask the upstream (I11). */
START_TEST(answers_to_commits_are_kept_and_errors_for_long)
{
	struct test_client client;
	size_t len;

	client_open(&client);
	len = call_make_remove(&call, 6, "host", "name");
	client_send(&client, call.bytes, len);
	fixture_run_until_submitted(1);
	UPSTREAM_ANSWER(0, REMOVE_OK);
	CLIENT_EXPECT(&client, ACCEPTED(6), REMOVE_OK);
	len = call_make_commit(&call, 7);
	client_send(&client, call.bytes, len);
	fixture_run_until_submitted(2);
	ck_assert_uint_eq(fixture.upstream.request[1]->call->args.commit.offset, 0);
	ck_assert_uint_eq(fixture.upstream.request[1]->call->args.commit.count, 0);
	UPSTREAM_ANSWER(1, COMMIT_OK);
	CLIENT_EXPECT(&client, ACCEPTED(7), 0, 0, 0, OUR_VERIFIER);
	client_send(&client, call.bytes, len);
	CLIENT_EXPECT(&client, ACCEPTED(7), 0, 0, 0, OUR_VERIFIER);
	ck_assert_uint_eq(fixture_stat(STAT_REPLIES_REPEATED), 1);
	ck_assert_uint_eq(fixture_stat(STAT_COMMITS_LOCAL), 0);
	len = call_make_commit_of(&call, 8, "handle-2");
	client_send(&client, call.bytes, len);
	fixture_run_until_submitted(3);
	UPSTREAM_ANSWER(2, NFS3ERR_IO, 0, 0);
	CLIENT_EXPECT(&client, ACCEPTED(8), NFS3ERR_IO, 0, 0);
	/* Longer than other answers: as long as the error is worth telling. */
	fixture.clock_ahead_us += REPLY_CACHE_KEEP_LONG_US - 60 * (mono_us)1000000;
	run_until_remove_was_forgotten(&client);
	len = call_make_commit_of(&call, 8, "handle-2");
	client_send(&client, call.bytes, len);
	CLIENT_EXPECT(&client, ACCEPTED(8), NFS3ERR_IO, 0, 0);
	client_shut(&client);
}
END_TEST

START_TEST(input_before_a_hang_up_is_not_read_any_more)
{
	struct test_client client;
	size_t len = call_make_remove(&call, 7, "host", "stale");

	client_open(&client);
	client_send(&client, call.bytes, len);
	ck_assert_int_eq(shutdown(client.fd, SHUT_WR), 0);
	client_expect_closed(&client);
	ck_assert_uint_eq(fixture.upstream.count, 0);
	client_shut(&client);
}
END_TEST

START_TEST(reads_are_not_kept_but_show_a_replaced_session)
{
	struct test_client first;
	struct test_client second;
	size_t len = call_make_fh(&call, 7, NFS3_PROC_GETATTR, "host");

	client_open(&first);
	client_send(&first, call.bytes, len);
	fixture_run_until_submitted(1);
	client_open(&second);
	client_send(&second, call.bytes, len);
	client_expect_closed(&first);
	UPSTREAM_ANSWER(0, NFS3ERR_STALE);
	CLIENT_EXPECT(&second, ACCEPTED(7), NFS3ERR_STALE);
	client_send(&second, call.bytes, len);
	fixture_run_until_submitted(2);
	client_shut(&first);
	client_shut(&second);
}
END_TEST

START_TEST(bad_records_close_their_session_only)
{
	static const struct {
		uint8_t bytes[44];
		size_t len;
	} bad[] = {
		{ { 0xff, 0xff, 0xff, 0xff }, 4 },		    /* too long */
		{ { 0x80, 0, 0, 0 }, 4 },			    /* empty */
		{ { 0x80, 0, 0, 8, 0, 0, 0, 1 }, 8 },		    /* too short */
		{ { 0x80, 0, 0, 40, 0, 0, 0, 1, 0, 0, 0, 1 }, 44 }, /* a reply */
	};
	struct test_client good;
	struct test_client client;
	size_t i;

	client_open(&good);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		client_open(&client);
		client_expect_alive(&client);
		client_send(&client, bad[i].bytes, bad[i].len);
		client_expect_closed(&client);
		ck_assert_uint_eq(fixture_stat(STAT_RECORDS_MALFORMED), i + 1);
		client_shut(&client);
		client_expect_alive(&good);
	}
	client_shut(&good);
}
END_TEST

START_TEST(stopping_with_work_in_progress_leaks_nothing)
{
	struct test_client client;
	size_t len;

	client_open(&client);
	len = call_make_fh(&call, 1, NFS3_PROC_GETATTR, "host");
	client_send(&client, call.bytes, len);
	len = call_make_write(&call, 2, 0, 100, 'x');
	client_send(&client, call.bytes, len);
	len = call_make_write(&call, 3, 50, 100, 'x'); /* behind the other */
	client_send(&client, call.bytes, len);
	len = call_make_commit(&call, 4); /* behind both */
	client_send(&client, call.bytes, len);
	len = call_make_commit_of(&call, 5, "handle-2");
	client_send(&client, call.bytes, len);
	len = call_make_write(&call, 6, 0, MIB, 'x'); /* not whole */
	client_send(&client, call.bytes, len - 10);
	fixture_run_until_submitted(3);
	fixture_stop();
	client_expect_closed(&client);
	client_shut(&client);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("frontend");
	TCase *records = unit_case(suite, "records");
	TCase *duplicates = unit_case(suite, "duplicates");
	TCase *shutdown_case = unit_case(suite, "shutdown");

	tcase_add_checked_fixture(records, setup, fixture_stop);
	tcase_add_test(records, null_of_every_program_is_answered_here);
	tcase_add_test(records, rpc_errors_are_exact_and_keep_the_connection);
	tcase_add_test(records, pipelined_calls_are_answered_in_any_order);
	tcase_add_test(records, one_byte_segments_and_one_byte_fragments_make_a_record);
	tcase_add_test(records, large_writes_arrive_whole);
	tcase_add_test(records, bad_records_close_their_session_only);
	tcase_add_checked_fixture(duplicates, setup, fixture_stop);
	tcase_add_test(duplicates, a_retransmission_on_a_new_connection_runs_once);
	tcase_add_test(duplicates,
		       other_calls_of_a_replaced_session_go_on_and_are_kept);
	tcase_add_test(duplicates, a_copy_on_the_same_connection_is_ignored);
	tcase_add_test(duplicates, a_stale_copy_on_an_older_connection_closes_that_one);
	tcase_add_test(duplicates, other_machine_names_are_other_clients);
	tcase_add_test(duplicates, a_repeated_write_is_answered_from_the_cache);
	tcase_add_test(duplicates, answers_to_commits_are_kept_and_errors_for_long);
	tcase_add_test(duplicates, input_before_a_hang_up_is_not_read_any_more);
	tcase_add_test(duplicates, reads_are_not_kept_but_show_a_replaced_session);
	tcase_add_checked_fixture(shutdown_case, setup, NULL);
	tcase_add_test(shutdown_case, stopping_with_work_in_progress_leaks_nothing);
	tcase_set_timeout(records, 60);
	tcase_set_timeout(duplicates, 60);
	tcase_set_timeout(shutdown_case, 60);
	return unit_run(suite);
}
