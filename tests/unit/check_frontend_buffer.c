/*
 * The frontend around acked bytes: WRITEs answered before the upstream has them, and what
 * READ, GETATTR and other calls on their file see meanwhile. The engine is the real one,
 * the upstream is a fake that answers when the test says so.
 */
#include "frontend/admission.h"
#include "unit/frontend_buffer.h"

/* --- acks and memory --- */

START_TEST(writes_are_gathered_and_keep_their_records_until_proven)
{
	const size_t record_bytes = 256 * 1024;
	size_t before;

	open_file();
	before = buf_total_bytes();
	write_acked(2, 0, record_bytes, 'b');
	write_acked(3, record_bytes, record_bytes, 'c');
	ck_assert_uint_ge(buf_total_bytes(), before + 2 * record_bytes);
	ck_assert_uint_eq(fixture_stat(STAT_WRITES_ACKED_EARLY), 2);
	send_call(call_make_commit(&call, 4));
	flush(2 * record_bytes, 2 * record_bytes);
	UPSTREAM_ANSWER(next_request(NFS3_PROC_COMMIT), COMMIT_OK);
	CLIENT_EXPECT(&client, ACCEPTED(4), 0, 0, 0, OUR_VERIFIER);
	ck_assert_uint_lt(buf_total_bytes(), before + record_bytes);
}
END_TEST

START_TEST(acked_bytes_go_out_when_nothing_is_added_to_them)
{
	open_file();
	write_acked(2, 100, 100, 'b');
	fixture_run_until_submitted(2);
	upstream_expect_payload(1, 100, 'b');
}
END_TEST

static void setup_with_a_plug(void)
{
	fixture_engine_config.plug_max_us = 2000;
	buffer_setup();
}

/* What is acked is charged until it is proven: at the limit nothing more is read. */
START_TEST(acked_bytes_count_against_memory)
{
	uint32_t xid;

	open_file();
	for (xid = 2; fixture_stat(STAT_WRITES_ACKED_EARLY) == xid - 2; xid++) {
		size_t len =
			call_make_write(&call, xid, (uint64_t)xid * 2 * MIB, MIB, 'x');

		ck_assert_uint_lt(xid, 80);
		client_send(&client, call.bytes, len);
		fixture_settle();
	}
	ck_assert_uint_gt(xid, 12);
	ck_assert_uint_le(buf_total_bytes(), MEMORY_BYTES);
}
END_TEST

static bool has_write_out(const void *arg)
{
	(void)arg;
	return fixture.stats.gauge[GAUGE_WRITES_OUT] > 0;
}

/* Small WRITEs fill memory long before the engine thinks that they are many bytes. */
START_TEST(who_waits_for_memory_gets_it_from_acked_bytes)
{
	enum { READERS = 8, READS = 10 };
	struct test_client reader[READERS];
	uint32_t xid;
	size_t i;

	open_file();
	for (xid = 2; xid < 12; xid++)
		write_acked(xid, (uint64_t)xid * 2 * MIB, MIB, 'x');
	fixture_settle();
	ck_assert_uint_eq(fixture.upstream.count, 1);
	/* READs reserve what they may bring: more than there is. */
	for (i = 0; i < READERS; i++) {
		client_open(&reader[i]);
		for (xid = 0; xid < READS; xid++) {
			call_begin(&call, 100 * (uint32_t)(i + 1) + xid, PROGRAM_NFS, 3,
				   NFS3_PROC_READ, "host");
			xdr_out_bytes(&call.out, "handle-2", 8);
			xdr_out_u64(&call.out, 0);
			xdr_out_u32(&call.out, MIB);
			client_send(&reader[i], call.bytes, call_end(&call));
		}
	}
	fixture_run_until(has_write_out, NULL);
	ck_assert_uint_lt(fixture.upstream.count, READERS * READS);
	for (i = 0; i < READERS; i++)
		client_shut(&reader[i]);
}
END_TEST

/* --- barriers --- */

static size_t make_barrier(int kind, uint32_t xid)
{
	switch (kind) {
	case 0:
		return call_make_fh(&call, xid, NFS3_PROC_GETATTR, "host");
	case 1:
		return call_make_read(&call, xid, 4096);
	case 2:
		return make_setattr(xid, false);
	case 3:
		return make_setattr(xid, true);
	default:
		call_begin(&call, xid, PROGRAM_NFSACL, 3, NFSACL_PROC_SETACL, "host");
		xdr_out_bytes(&call.out, "handle-1", 8);
		xdr_out_u32(&call.out, 0);
		xdr_out_u32(&call.out, 0);
		xdr_out_u32(&call.out, 0);
		xdr_out_u32(&call.out, 0);
		xdr_out_u32(&call.out, 0);
		return call_end(&call);
	}
}

enum { BARRIER_KINDS = 5 };

START_TEST(barriers_wait_for_acked_bytes)
{
	open_file();
	write_acked(2, 100, 100, 'b');
	send_call(make_barrier(_i, 3));
	fixture_run_until_submitted(2);
	upstream_expect_proc(1, NFS3_PROC_WRITE);
	upstream_expect_payload(1, 100, 'b');
	UPSTREAM_ANSWER(1, WRITE_RESULTS(100, 200));
	fixture_run_until_submitted(3);
	UPSTREAM_ANSWER(2, NFS3ERR_PERM, 0, 0);
	CLIENT_EXPECT(&client, ACCEPTED(3), NFS3ERR_PERM, 0, 0);
}
END_TEST

START_TEST(refused_barriers_let_the_file_go_on)
{
	open_file();
	send_call(make_barrier(_i, 3));
	fixture_run_until_submitted(2);
	upstream_refuse(1, UPSTREAM_GARBAGE_ARGS);
	CLIENT_EXPECT(&client, 3, 1, 0, 0, 0, 4);
	send_call(call_make_write(&call, 4, 0, 10, 'y'));
	send_call(call_make_commit(&call, 5));
	answered = 2;
	flush(10, 100);
	UPSTREAM_ANSWER(next_request(NFS3_PROC_COMMIT), COMMIT_OK);
	fixture_run_until(client_has_reply, &client);
}
END_TEST

/* A WRITE acked while GETATTR was out: what it brought may be older. */
START_TEST(getattr_is_asked_again_when_the_file_changed_meanwhile)
{
	open_file();
	send_call(call_make_fh(&call, 2, NFS3_PROC_GETATTR, "host"));
	fixture_run_until_submitted(2);
	write_acked(3, 100, 100, 'b');
	UPSTREAM_ANSWER(1, 0, FATTR(100));
	client_expect_nothing(&client);
	answered = 2;
	flush(100, 200);
	UPSTREAM_ANSWER(next_request(NFS3_PROC_GETATTR), 0, FATTR(200));
	CLIENT_EXPECT(&client, ACCEPTED(2), 0, FATTR(200));
}
END_TEST

START_TEST(the_second_time_writes_wait)
{
	open_file();
	send_call(call_make_fh(&call, 2, NFS3_PROC_GETATTR, "host"));
	fixture_run_until_submitted(2);
	write_acked(3, 100, 100, 'b');
	UPSTREAM_ANSWER(1, 0, FATTR(100));
	answered = 2;
	flush(100, 200);
	next_request(NFS3_PROC_GETATTR);
	send_call(call_make_write(&call, 4, 200, 100, 'c'));
	client_expect_nothing(&client);
	UPSTREAM_ANSWER(3, 0, FATTR(200));
	CLIENT_EXPECT(&client, ACCEPTED(2), 0, FATTR(200));
	flush(100, 300);
	fixture_run_until(client_has_reply, &client);
}
END_TEST

/* Written and not committed: only a COMMIT can tell whether it is still there. */
START_TEST(after_a_disconnect_getattr_waits_for_a_proof)
{
	open_file();
	fixture.upstream.on_disconnect(fixture.upstream.on_disconnect_arg);
	send_call(call_make_fh(&call, 2, NFS3_PROC_GETATTR, "host"));
	next_request(NFS3_PROC_COMMIT);
	UPSTREAM_ANSWER(1, 0, 0, 0, 1, 2); /* another verifier: it is not */
	flush(100, 100);
	UPSTREAM_ANSWER(next_request(NFS3_PROC_GETATTR), 0, FATTR(100));
	CLIENT_EXPECT(&client, ACCEPTED(2), 0, FATTR(100));
}
END_TEST

/* --- attributes in other replies --- */

START_TEST(attributes_of_a_file_with_acked_bytes_are_left_out)
{
	open_file();
	write_acked(2, 100, 100, 'b');
	send_call(make_named(3, NFS3_PROC_LOOKUP, "name"));
	UPSTREAM_ANSWER(next_request(NFS3_PROC_LOOKUP), LOOKUP_RESULTS(HANDLE_1, 100));
	CLIENT_EXPECT(&client, ACCEPTED(3), 0, HANDLE_1, 0, 1, FATTR_DIR);
	send_call(make_named(4, NFS3_PROC_LOOKUP, "other"));
	UPSTREAM_ANSWER(next_request(NFS3_PROC_LOOKUP), LOOKUP_RESULTS(HANDLE_2, 7));
	CLIENT_EXPECT(&client, ACCEPTED(4), LOOKUP_RESULTS(HANDLE_2, 7));
	send_call(call_make_commit(&call, 6));
	flush(100, 200); /* written, and the COMMIT is still out */
	next_request(NFS3_PROC_COMMIT);
	send_call(make_named(5, NFS3_PROC_LOOKUP, "name"));
	UPSTREAM_ANSWER(next_request(NFS3_PROC_LOOKUP), LOOKUP_RESULTS(HANDLE_1, 200));
	CLIENT_EXPECT(&client, ACCEPTED(5), LOOKUP_RESULTS(HANDLE_1, 200));
}
END_TEST

/* Acked, written and answered, all while LOOKUP was out. */
START_TEST(attributes_older_than_the_last_ack_are_left_out)
{
	open_file();
	send_call(make_named(2, NFS3_PROC_LOOKUP, "name"));
	next_request(NFS3_PROC_LOOKUP);
	write_acked(3, 100, 100, 'b');
	send_call(call_make_commit(&call, 4));
	flush(100, 200);
	UPSTREAM_ANSWER(next_request(NFS3_PROC_COMMIT), COMMIT_OK);
	CLIENT_EXPECT(&client, ACCEPTED(4), 0, 0, 0, OUR_VERIFIER);
	UPSTREAM_ANSWER(1, LOOKUP_RESULTS(HANDLE_1, 100));
	CLIENT_EXPECT(&client, ACCEPTED(2), 0, HANDLE_1, 0, 1, FATTR_DIR);
}
END_TEST

/* --- limits --- */

#define FSINFO_RESULTS                                                                 \
	0, 0, MIB, MIB, 4096, MIB, MIB, 4096, 8192, 0x7fff, 0xffffffff, 0, 1, 0x1b

START_TEST(a_write_asks_for_limits_that_are_not_known)
{
	fixture.upstream.wtmax_bytes = 0;
	fixture.upstream.maxfilesize_bytes = 0;
	send_call(call_make_write(&call, 1, 0, 100, 'a'));
	fixture_run_until_submitted(2);
	upstream_expect_proc(0, NFS3_PROC_FSINFO);
	upstream_expect_proc(1, NFS3_PROC_WRITE);
	ck_assert_str_eq(fixture.upstream.request[0]->cred->machine_name, "host");
	UPSTREAM_ANSWER(1, WRITE_RESULTS(100, 100));
	fixture_run_until(client_has_reply, &client);
	/* Nothing is acked early yet, and nothing asked a second time so soon. */
	send_call(call_make_write(&call, 2, 100, 100, 'b'));
	fixture_run_until_submitted(3);
	upstream_refuse(0, UPSTREAM_SYSTEM_ERR);
	UPSTREAM_ANSWER(2, WRITE_RESULTS(100, 200));
	send_call(call_make_write(&call, 3, 200, 100, 'c'));
	fixture_run_until_submitted(4);
	UPSTREAM_ANSWER(3, WRITE_RESULTS(100, 300));
	ck_assert_uint_eq(fixture_stat(STAT_WRITES_ACKED_EARLY), 0);
	fixture.clock_ahead_us += (mono_us)11 * 1000 * 1000;
	send_call(call_make_write(&call, 4, 300, 100, 'd'));
	fixture_run_until_submitted(6);
	upstream_expect_proc(4, NFS3_PROC_FSINFO);
	fixture.upstream.maxfilesize_bytes = (uint64_t)1 << 40;
	UPSTREAM_ANSWER(4, FSINFO_RESULTS);
	UPSTREAM_ANSWER(5, WRITE_RESULTS(100, 400));
	send_call(call_make_write(&call, 5, 400, 100, 'e'));
	fixture_run_until_stat(STAT_WRITES_ACKED_EARLY, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("frontend_buffer");
	TCase *acks = unit_case(suite, "acks");
	TCase *timed = unit_case(suite, "timed");
	TCase *barriers = unit_case(suite, "barriers");

	tcase_add_checked_fixture(acks, buffer_setup, buffer_teardown);
	tcase_add_test(acks, writes_are_gathered_and_keep_their_records_until_proven);
	tcase_add_test(acks, acked_bytes_count_against_memory);
	tcase_add_test(acks, who_waits_for_memory_gets_it_from_acked_bytes);
	tcase_add_test(acks, a_write_asks_for_limits_that_are_not_known);
	tcase_add_test(acks, attributes_of_a_file_with_acked_bytes_are_left_out);
	tcase_add_test(acks, attributes_older_than_the_last_ack_are_left_out);
	tcase_add_checked_fixture(timed, setup_with_a_plug, buffer_teardown);
	tcase_add_test(timed, acked_bytes_go_out_when_nothing_is_added_to_them);
	tcase_add_checked_fixture(barriers, buffer_setup, buffer_teardown);
	tcase_add_loop_test(barriers, barriers_wait_for_acked_bytes, 0, BARRIER_KINDS);
	tcase_add_loop_test(barriers, refused_barriers_let_the_file_go_on, 0,
			    BARRIER_KINDS);
	tcase_add_test(barriers,
		       getattr_is_asked_again_when_the_file_changed_meanwhile);
	tcase_add_test(barriers, the_second_time_writes_wait);
	tcase_add_test(barriers, after_a_disconnect_getattr_waits_for_a_proof);
	tcase_set_timeout(acks, 60);
	tcase_set_timeout(timed, 60);
	tcase_set_timeout(barriers, 60);
	return unit_run(suite);
}
