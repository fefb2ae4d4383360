/*
 * What a client that misbehaves costs the others: replies never read, calls without end,
 * records begun and not finished, connections given up with input left in them.
 */
#include "unit/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "frontend/frontend_private.h"
#include "frontend/session.h"
#include "unit/frontend_fixture.h"

enum { MIB = 1024 * 1024, OVERFILL_CALLS = 1400 };

static struct test_call call;

static void setup(void)
{
	fixture_start("127.0.0.0/8(insecure)", NULL, 0, 64 * MIB);
}

enum { READ_BYTES = 64 * 1024, READS = 1000 }; /* 64 MB */

static void answer_reads(size_t *answered)
{
	static uint8_t results[READ_BYTES + 20];
	const uint32_t head[] = { 0, 0, READ_BYTES, 0, READ_BYTES };
	struct xdr_out out;
	size_t i;

	xdr_out_init(&out, results, sizeof(results));
	for (i = 0; i < 5; i++)
		xdr_out_u32(&out, head[i]);
	while (*answered < fixture.upstream.count)
		upstream_answer_bytes((*answered)++, results, sizeof(results));
}

struct reader {
	struct test_client client;
	size_t answered;
};

static bool reader_has_reply(const void *arg)
{
	struct reader *reader = (struct reader *)(uintptr_t)arg;

	answer_reads(&reader->answered);
	return client_has_reply(&reader->client);
}

START_TEST(a_client_that_does_not_read_is_bounded)
{
	static uint8_t got[READ_BYTES + 1024];
	static uint8_t batch[READS * 256];
	struct reader reader = { .answered = 0 };
	struct test_client other;
	size_t len = 0;
	uint32_t i;

	client_open(&reader.client);
	for (i = 0; i < READS; i++) {
		size_t bytes = call_make_read(&call, i + 1, READ_BYTES);

		memcpy(batch + len, call.bytes, bytes);
		len += bytes;
	}
	client_send(&reader.client, batch, len);
	/* So much was asked for that no more is read before some is sent. */
	fixture_run_until_stat(STAT_CLIENT_CALLS,
			       SESSION_EXPECTED_MAX_BYTES / (READ_BYTES + 1024));
	fixture_settle();
	ck_assert_uint_le(fixture.upstream.count,
			  SESSION_EXPECTED_MAX_BYTES / READ_BYTES);
	/* Answer all that comes, until nothing comes any more. */
	while (reader.answered < fixture.upstream.count) {
		answer_reads(&reader.answered);
		fixture_settle();
	}
	/* What is left here is bounded, whatever the socket took. */
	ck_assert_uint_lt(reader.answered, READS);
	ck_assert_uint_lt(buf_total_bytes(), SESSION_EXPECTED_MAX_BYTES + MIB);
	client_open(&other);
	client_expect_alive(&other);
	/* It reads: all is answered, once each. */
	for (i = 0; i < READS; i++) {
		fixture_run_until(reader_has_reply, &reader);
		ck_assert_uint_eq(client_receive(&reader.client, got, sizeof(got)),
				  24 + 20 + READ_BYTES);
	}
	ck_assert_uint_eq(fixture.upstream.count, READS);
	ck_assert_uint_eq(fixture_stat(STAT_CLIENT_READ_BYTES),
			  (uint64_t)READS * READ_BYTES);
	client_shut(&reader.client);
	client_shut(&other);
}
END_TEST

/* Sends more GETATTRs than may be in progress; returns how many went upstream. */
static size_t overfill(struct test_client *client)
{
	static uint8_t batch[OVERFILL_CALLS * 128];
	size_t len = 0;
	uint32_t xid;

	for (xid = 1; xid <= OVERFILL_CALLS; xid++) {
		size_t bytes = call_make_fh(&call, xid, NFS3_PROC_GETATTR, "host");

		memcpy(batch + len, call.bytes, bytes);
		len += bytes;
	}
	client_send(client, batch, len);
	fixture_run_until_stat(STAT_CLIENT_CALLS, SESSION_CALLS_MAX);
	fixture_settle();
	ck_assert_uint_eq(fixture.upstream.count, SESSION_CALLS_MAX);
	return fixture.upstream.count;
}

static void answer_all(size_t from)
{
	size_t i;

	for (i = from; i < fixture.upstream.count; i++)
		UPSTREAM_ANSWER(i, NFS3ERR_STALE);
}

START_TEST(calls_in_progress_are_bounded)
{
	struct test_client client;
	size_t answered = 0;
	uint32_t xid;

	client_open(&client);
	overfill(&client);
	for (xid = 1; xid <= OVERFILL_CALLS; xid++) {
		while (answered < xid) {
			size_t until = fixture.upstream.count;

			answer_all(answered);
			answered = until;
			fixture_settle();
		}
		CLIENT_EXPECT(&client, ACCEPTED(xid), NFS3ERR_STALE);
	}
	client_expect_alive(&client);
	client_shut(&client);
}
END_TEST

START_TEST(unread_input_of_a_client_that_hung_up_is_discarded)
{
	struct test_client client;
	size_t count;
	size_t len;

	client_open(&client);
	count = overfill(&client);
	len = call_make_remove(&call, 9999, "host", "stale");
	client_send(&client, call.bytes, len);
	ck_assert_int_eq(shutdown(client.fd, SHUT_WR), 0);
	client_expect_closed(&client);
	answer_all(0);
	fixture_settle();
	ck_assert_uint_eq(fixture.upstream.count, count);
	client_shut(&client);
}
END_TEST

static bool no_session_is_left(const void *arg)
{
	(void)arg;
	return session_set_count(fixture.frontend->sessions) == 0;
}

START_TEST(a_reset_while_paused_ends_the_session)
{
	const struct linger abort_on_close = { .l_onoff = 1 };
	struct test_client client;
	size_t count;

	client_open(&client);
	count = overfill(&client);
	ck_assert_int_eq(setsockopt(client.fd, SOL_SOCKET, SO_LINGER, &abort_on_close,
				    sizeof(abort_on_close)),
			 0);
	client_shut(&client);
	fixture_run_until(no_session_is_left, NULL);
	answer_all(0);
	fixture_settle();
	ck_assert_uint_eq(fixture.upstream.count, count);
}
END_TEST

START_TEST(a_paused_session_is_not_resumed_once_its_client_has_a_newer_one)
{
	struct test_client older;
	struct test_client newer;
	size_t count;
	size_t len;

	client_open(&older);
	count = overfill(&older);
	client_open(&newer);
	len = call_make_fh(&call, 77777, NFS3_PROC_GETATTR, "host");
	client_send(&newer, call.bytes, len);
	fixture_run_until_submitted(count + 1);
	answer_all(0);
	client_expect_closed(&older);
	CLIENT_EXPECT(&newer, ACCEPTED(77777), NFS3ERR_STALE);
	ck_assert_uint_eq(fixture.upstream.count, count + 1);
	ck_assert_uint_eq(fixture_stat(STAT_SESSIONS_REPLACED), 1);
	client_expect_alive(&newer);
	client_shut(&older);
	client_shut(&newer);
}
END_TEST

START_TEST(a_session_that_was_paused_when_a_newer_one_came_is_closed_though_resumed)
{
	struct test_client older;
	struct test_client newer;
	size_t count;
	size_t len;

	client_open(&older);
	count = overfill(&older);
	client_open(&newer);
	/* Nobody knows yet whose the newer one is. */
	answer_all(0);
	fixture_run_until_stat(STAT_CLIENT_CALLS, OVERFILL_CALLS);
	fixture_settle();
	ck_assert_uint_eq(fixture_stat(STAT_SESSIONS_REPLACED), 0);
	len = call_make_fh(&call, 77777, NFS3_PROC_GETATTR, "host");
	client_send(&newer, call.bytes, len);
	client_expect_closed(&older);
	ck_assert_uint_eq(fixture_stat(STAT_SESSIONS_REPLACED), 1);
	answer_all(count);
	CLIENT_EXPECT(&newer, ACCEPTED(77777), NFS3ERR_STALE);
	client_shut(&older);
	client_shut(&newer);
}
END_TEST

START_TEST(a_paused_session_is_resumed_when_the_newer_one_is_another_clients)
{
	struct test_client older;
	struct test_client newer;
	size_t count;
	size_t len;

	client_open(&older);
	count = overfill(&older);
	client_open(&newer);
	len = call_make_fh(&call, 77777, NFS3_PROC_GETATTR, "guest");
	client_send(&newer, call.bytes, len);
	fixture_run_until_submitted(count + 1);
	answer_all(0);
	fixture_run_until_stat(STAT_CLIENT_CALLS, OVERFILL_CALLS + 1);
	ck_assert_uint_eq(fixture_stat(STAT_SESSIONS_REPLACED), 0);
	client_shut(&older);
	client_shut(&newer);
}
END_TEST

/* 64 MiB: 28 + 32 MiB for large records, each of a little over 1 MiB charged twice. */
enum { BEGUN_MAX = 29, BEGUN_BYTES = 8192 };

/* Each from a host of its own: a newer connection of its host would end one that waits. */
static void begin_write(struct test_client *client, uint32_t xid)
{
	char address[32];

	snprintf(address, sizeof(address), "127.0.1.%u", xid + 1);
	call_make_write(&call, xid, xid * (uint64_t)MIB, MIB, (uint8_t)xid);
	client_open_from(client, address, false);
	client_send(client, call.bytes, BEGUN_BYTES);
	fixture_settle();
}

static void end_write(struct test_client *client, uint32_t xid)
{
	size_t len =
		call_make_write(&call, xid, xid * (uint64_t)MIB, MIB, (uint8_t)xid);

	client_send(client, call.bytes + BEGUN_BYTES, len - BEGUN_BYTES);
}

static size_t records_in_memory(void)
{
	return buf_total_bytes() / MIB;
}

/* Nothing of it is kept then. */
#define WRITE_STABLE(count) 0, 0, 0, (count), NFS3_FILE_SYNC, THEIR_VERIFIER

START_TEST(records_wait_for_memory_and_go_on_in_order)
{
	struct test_client client[BEGUN_MAX + 2];
	uint32_t i;

	for (i = 0; i < BEGUN_MAX + 2; i++)
		begin_write(&client[i], i);
	ck_assert_uint_eq(records_in_memory(), BEGUN_MAX);
	end_write(&client[7], 7);
	fixture_run_until_submitted(1);
	ck_assert_uint_eq(records_in_memory(), BEGUN_MAX);
	UPSTREAM_ANSWER(0, WRITE_STABLE(MIB));
	CLIENT_EXPECT(&client[7], ACCEPTED(7), 0, 0, 0, MIB, NFS3_FILE_SYNC,
		      OUR_VERIFIER);
	fixture_settle();
	ck_assert_uint_eq(records_in_memory(), BEGUN_MAX);
	/* It was the first in line who got in. */
	end_write(&client[BEGUN_MAX], BEGUN_MAX);
	fixture_run_until_submitted(2);
	upstream_expect_payload(1, MIB, BEGUN_MAX);
	UPSTREAM_ANSWER(1, WRITE_STABLE(MIB));
	end_write(&client[BEGUN_MAX + 1], BEGUN_MAX + 1);
	fixture_run_until_submitted(3);
	upstream_expect_payload(2, MIB, BEGUN_MAX + 1);
	for (i = 0; i < BEGUN_MAX + 2; i++)
		client_shut(&client[i]);
}
END_TEST

/* Whose it is nobody knows: what lies unread in it may be older than what came since. */
START_TEST(a_session_that_never_spoke_does_not_outlast_newer_ones)
{
	struct test_client client[BEGUN_MAX + 1];
	struct test_client newer;
	uint32_t i;

	for (i = 0; i < BEGUN_MAX + 1; i++)
		begin_write(&client[i], i);
	client_open_from(&newer, "127.0.1.30", false); /* as the one that waits */
	end_write(&client[7], 7);
	fixture_run_until_submitted(1);
	UPSTREAM_ANSWER(0, WRITE_STABLE(MIB));
	client_expect_closed(&client[BEGUN_MAX]);
	client_expect_alive(&newer);
	ck_assert_uint_eq(fixture_stat(STAT_SESSIONS_REPLACED), 1);
	for (i = 0; i < BEGUN_MAX + 1; i++)
		client_shut(&client[i]);
	client_shut(&newer);
}
END_TEST

START_TEST(small_calls_pass_when_large_records_wait)
{
	struct test_client client[BEGUN_MAX + 1];
	struct test_client other;
	size_t len;
	uint32_t i;

	for (i = 0; i < BEGUN_MAX + 1; i++)
		begin_write(&client[i], i);
	client_open(&other);
	len = call_make_read(&call, 99, 4096);
	client_send(&other, call.bytes, len);
	fixture_run_until_submitted(1);
	UPSTREAM_ANSWER(0, NFS3ERR_STALE, 0);
	CLIENT_EXPECT(&other, ACCEPTED(99), NFS3ERR_STALE, 0);
	client_expect_alive(&other);
	for (i = 0; i < BEGUN_MAX + 1; i++)
		client_shut(&client[i]);
	client_shut(&other);
}
END_TEST

START_TEST(large_reads_wait_for_memory_and_are_taken_up_by_a_new_session)
{
	struct test_client client[BEGUN_MAX];
	struct test_client first;
	struct test_client second;
	size_t len;
	uint32_t i;

	for (i = 0; i < BEGUN_MAX; i++)
		begin_write(&client[i], i);
	client_open(&first);
	for (i = 0; i < 3; i++) {
		len = call_make_read(&call, 100 + i, MIB);
		client_send(&first, call.bytes, len);
	}
	fixture_settle();
	ck_assert_uint_le(fixture.upstream.count, 1);
	len = fixture.upstream.count;
	/* The one that waits is asked for again elsewhere: it runs there, once. */
	client_open(&second);
	call_make_read(&call, 100 + (uint32_t)len, MIB);
	client_send(&second, call.bytes, call_end(&call));
	client_expect_closed(&first);
	client_shut(&client[3]);
	fixture_run_until_submitted(len + 1);
	UPSTREAM_ANSWER(len, NFS3ERR_STALE, 0);
	CLIENT_EXPECT(&second, ACCEPTED(100 + (uint32_t)len), NFS3ERR_STALE, 0);
	for (i = 0; i < BEGUN_MAX; i++)
		if (i != 3)
			client_shut(&client[i]);
	client_shut(&first);
	client_shut(&second);
}
END_TEST

START_TEST(waiting_reads_go_on_one_by_one)
{
	struct test_client client[BEGUN_MAX];
	struct test_client reader;
	static uint8_t batch[6 * 256];
	size_t len = 0;
	size_t answered;
	uint32_t i;

	for (i = 0; i < BEGUN_MAX; i++)
		begin_write(&client[i], i);
	client_open(&reader);
	for (i = 0; i < 6; i++) {
		size_t bytes = call_make_read(&call, i, MIB);

		memcpy(batch + len, call.bytes, bytes);
		len += bytes;
	}
	client_send(&reader, batch, len);
	for (answered = 0; answered < 6; answered++) {
		/* Nothing else fits before this one was sent. */
		fixture_run_until_submitted(answered + 1);
		UPSTREAM_ANSWER(answered, NFS3ERR_STALE, 0);
		CLIENT_EXPECT(&reader, ACCEPTED((uint32_t)answered), NFS3ERR_STALE, 0);
	}
	client_expect_alive(&reader);
	for (i = 0; i < BEGUN_MAX; i++)
		client_shut(&client[i]);
	client_shut(&reader);
}
END_TEST

static bool replies_were_given_up(const void *arg)
{
	(void)arg;
	return session_set_ended(fixture.frontend->sessions,
				 SESSION_END_STALLED_REPLIES) == 1;
}

START_TEST(unread_replies_give_way_after_30_s_when_others_wait)
{
	enum { COUNT = 14 };
	static uint8_t results[MIB];
	struct test_client client[BEGUN_MAX];
	struct test_client reader;
	uint32_t i;

	client_open(&reader);
	for (i = 0; i < COUNT; i++)
		client_send(&reader, call.bytes, call_make_read(&call, i, MIB));
	fixture_run_until_submitted(COUNT);
	for (i = 0; i < COUNT; i++)
		upstream_answer_bytes(i, results, sizeof(results));
	fixture_settle();
	for (i = 0; i < BEGUN_MAX; i++)
		begin_write(&client[i], i);
	ck_assert_uint_lt(records_in_memory(), BEGUN_MAX + COUNT);
	ck_assert_uint_gt(records_in_memory(), BEGUN_MAX - COUNT);
	fixture.clock_ahead_us += SESSION_STALL_US;
	fixture_run_until(replies_were_given_up, NULL);
	client_expect_closed(&reader);
	ck_assert_uint_lt(reader.in_bytes, COUNT * (size_t)MIB);
	for (i = 0; i < BEGUN_MAX; i++)
		client_shut(&client[i]);
	client_shut(&reader);
}
END_TEST

START_TEST(a_stalled_record_gives_way_after_30_s_when_others_wait)
{
	struct test_client client[BEGUN_MAX + 1];
	uint32_t i;

	for (i = 0; i < BEGUN_MAX + 1; i++)
		begin_write(&client[i], i);
	ck_assert_uint_eq(records_in_memory(), BEGUN_MAX);
	fixture.clock_ahead_us += SESSION_STALL_US;
	client_expect_closed(&client[0]);
	end_write(&client[BEGUN_MAX], BEGUN_MAX);
	fixture_run_until_submitted(1);
	UPSTREAM_ANSWER(0, WRITE_OK(MIB));
	CLIENT_EXPECT(&client[BEGUN_MAX], ACCEPTED(BEGUN_MAX), 0, 0, 0, MIB, 0,
		      OUR_VERIFIER);
	for (i = 0; i < BEGUN_MAX + 1; i++)
		client_shut(&client[i]);
}
END_TEST

START_TEST(a_stalled_record_may_take_its_time_when_nobody_waits)
{
	struct test_client client;
	size_t len = call_make_write(&call, 7, 0, MIB, 'x');
	size_t ticks = 0;

	client_open(&client);
	client_send(&client, call.bytes, len - 1);
	fixture_settle();
	fixture.clock_ahead_us += 100 * SESSION_STALL_US;
	/* Two ticks of a second pass before the rest comes. */
	while (ticks < 2) {
		mono_us from = clock_now(clock_system());

		while (clock_now(clock_system()) - from < 1100000)
			event_base_loop(fixture.base, EVLOOP_ONCE);
		ticks++;
	}
	client_send(&client, call.bytes + len - 1, 1);
	fixture_run_until_submitted(1);
	client_shut(&client);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("frontend limits");
	TCase *limits = unit_case(suite, "limits");

	tcase_add_checked_fixture(limits, setup, fixture_stop);
	tcase_set_timeout(limits, 60);
	tcase_add_test(limits, a_client_that_does_not_read_is_bounded);
	tcase_add_test(limits, calls_in_progress_are_bounded);
	tcase_add_test(limits, unread_input_of_a_client_that_hung_up_is_discarded);
	tcase_add_test(limits, a_reset_while_paused_ends_the_session);
	tcase_add_test(limits,
		       a_paused_session_is_not_resumed_once_its_client_has_a_newer_one);
	tcase_add_test(
		limits,
		a_session_that_was_paused_when_a_newer_one_came_is_closed_though_resumed);
	tcase_add_test(
		limits,
		a_paused_session_is_resumed_when_the_newer_one_is_another_clients);
	tcase_add_test(limits, records_wait_for_memory_and_go_on_in_order);
	tcase_add_test(limits, a_session_that_never_spoke_does_not_outlast_newer_ones);
	tcase_add_test(limits, small_calls_pass_when_large_records_wait);
	tcase_add_test(limits,
		       large_reads_wait_for_memory_and_are_taken_up_by_a_new_session);
	tcase_add_test(limits, waiting_reads_go_on_one_by_one);
	tcase_add_test(limits, unread_replies_give_way_after_30_s_when_others_wait);
	tcase_add_test(limits, a_stalled_record_gives_way_after_30_s_when_others_wait);
	tcase_add_test(limits, a_stalled_record_may_take_its_time_when_nobody_waits);
	return unit_run(suite);
}
