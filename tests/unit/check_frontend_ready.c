/*
 * Sessions that wait for their turn or for room: whoever gets something while he is in a
 * line already goes on once and in order, and whoever sits on what he got gives way.
 */
#include "unit/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "frontend/frontend_private.h"
#include "frontend/session.h"
#include "unit/frontend_fixture.h"

/* 64 MiB: 28 + 32 MiB for large records, each of a little over 1 MiB charged twice. */
enum { MIB = 1024 * 1024, MEMORY_BYTES = 64 * MIB, BEGUN_MAX = 29, BEGUN_BYTES = 8192 };

static struct test_call call;

static void setup(void)
{
	fixture_start("127.0.0.0/8(insecure)", NULL, 0, MEMORY_BYTES);
}

/* A client of a host of its own. */
static void open_host(struct test_client *client, uint32_t host)
{
	char address[32];

	snprintf(address, sizeof(address), "127.0.2.%u", host + 1);
	client_open_from(client, address, false);
}

static void begin_write(struct test_client *client, uint32_t xid)
{
	call_make_write(&call, xid, xid * (uint64_t)MIB, MIB, (uint8_t)xid);
	client_send(client, call.bytes, BEGUN_BYTES);
	fixture_settle();
}

static void end_write(struct test_client *client, uint32_t xid)
{
	size_t len =
		call_make_write(&call, xid, xid * (uint64_t)MIB, MIB, (uint8_t)xid);

	client_send(client, call.bytes + BEGUN_BYTES, len - BEGUN_BYTES);
}

static void shut_all(struct test_client *client, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		client_shut(&client[i]);
}

/* GETATTRs, and room for what comes behind them. */
struct batch {
	uint8_t bytes[SESSION_STAGING_BYTES + 4096];
	size_t len_bytes;
	uint32_t count;
};

static void batch_add(struct batch *batch, size_t len_bytes)
{
	memcpy(batch->bytes + batch->len_bytes, call.bytes, len_bytes);
	batch->len_bytes += len_bytes;
	batch->count++;
}

static void batch_add_getattrs(struct batch *batch, uint32_t xid, const char *machine,
			       size_t until_bytes)
{
	while (batch->len_bytes < until_bytes)
		batch_add(batch,
			  call_make_fh(&call, xid++, NFS3_PROC_GETATTR, machine));
}

START_TEST(room_for_a_session_that_is_ready_already_comes_to_it_once)
{
	static struct batch giver_batch;
	static struct batch taker_batch;
	struct test_client filler[BEGUN_MAX - 1];
	struct test_client older;
	struct test_client giver;
	struct test_client taker;
	uint32_t i;

	client_open(&older);
	open_host(&taker, 200);
	for (i = 0; i < BEGUN_MAX - 1; i++) {
		open_host(&filler[i], i);
		begin_write(&filler[i], i);
	}
	client_send(&older, call.bytes,
		    call_make_fh(&call, 500, NFS3_PROC_GETATTR, "host"));
	begin_write(&older, 501);
	client_open(&giver);
	/*
	 * Both are read until their turn is over. Then the giver's duplicate ends the older
	 * session, whose room goes to the taker, which waits for it and for its turn.
	 */
	batch_add_getattrs(&giver_batch, 1000, "host", SESSION_STAGING_BYTES);
	batch_add(&giver_batch, call_make_fh(&call, 500, NFS3_PROC_GETATTR, "host"));
	batch_add_getattrs(&taker_batch, 5000, "guest", SESSION_STAGING_BYTES - 1024);
	for (i = 0; i < 2; i++)
		batch_add(&taker_batch, call_make_read(&call, 4000 + i, MIB));
	batch_add_getattrs(&taker_batch, 7000, "guest", SESSION_STAGING_BYTES + 1024);
	client_send(&giver, giver_batch.bytes, giver_batch.len_bytes);
	client_send(&taker, taker_batch.bytes, taker_batch.len_bytes);
	/* The duplicate's original is counted for the duplicate. */
	fixture_run_until_submitted(giver_batch.count + taker_batch.count);
	ck_assert_uint_eq(fixture_stat(STAT_CALLS_ATTACHED), 1);
	ck_assert_uint_eq(fixture_stat(STAT_RECORDS_MALFORMED), 0);
	client_expect_closed(&older);
	client_expect_alive(&giver);
	client_expect_alive(&taker);
	shut_all(filler, BEGUN_MAX - 1);
	client_shut(&older);
	client_shut(&giver);
	client_shut(&taker);
}
END_TEST

/* The record of `call`, its length known only when it is whole. */
static void send_first_fragment(struct test_client *client, size_t bytes)
{
	const uint8_t header[] = { 0, 0, 0, (uint8_t)bytes };

	client_send(client, header, sizeof(header));
	client_send(client, call.bytes + 4, bytes);
}

static void send_last_fragment(struct test_client *client, size_t from, size_t len)
{
	const uint8_t header[] = { 0x80, 0, 0, (uint8_t)(len - 4 - from) };

	client_send(client, header, sizeof(header));
	client_send(client, call.bytes + 4 + from, len - 4 - from);
}

/* Else all of the memory would be held by calls that wait for some. */
START_TEST(a_small_record_in_fragments_gives_back_what_it_does_not_need)
{
	enum { READERS = 12, FIRST_BYTES = 40 };
	struct test_client reader[READERS];
	size_t len;
	uint32_t i;

	for (i = 0; i < READERS; i++) {
		open_host(&reader[i], i);
		call_make_read(&call, i, MIB);
		send_first_fragment(&reader[i], FIRST_BYTES);
	}
	fixture_settle();
	/* Some have no room yet: the length of each might be the largest there is. */
	ck_assert(admission_has_waiters(fixture.frontend->share));
	for (i = 0; i < READERS; i++) {
		len = call_make_read(&call, i, MIB);
		send_last_fragment(&reader[i], FIRST_BYTES, len);
	}
	fixture_run_until_submitted(READERS);
	ck_assert(!admission_has_waiters(fixture.frontend->share));
	ck_assert_uint_lt(buf_total_bytes(), MIB);
	for (i = 0; i < READERS; i++)
		UPSTREAM_ANSWER(i, NFS3ERR_STALE, 0);
	shut_all(reader, READERS);
}
END_TEST

static bool somebody_was_given_up(const void *arg)
{
	const struct session_set *set = fixture.frontend->sessions;

	(void)arg;
	return session_set_ended(set, SESSION_END_STALLED_RECORD) > 0 ||
	       session_set_ended(set, SESSION_END_STALLED_REPLIES) > 0;
}

/* More replies than the socket takes, so that no more of its calls are read. */
static void fill_output(struct test_client *client)
{
	enum { CALLS = 600 };
	size_t from = fixture.upstream.count;
	uint32_t i;

	for (i = 0; i < CALLS; i++)
		client_send(client, call.bytes,
			    call_make_fh(&call, 1000 + i, NFS3_PROC_GETATTR, "host"));
	fixture_run_until_submitted(from + CALLS);
	ck_assert_uint_eq(fixture.upstream.count, from + CALLS);
}

static void answer_output(size_t from, size_t until)
{
	static uint8_t results[16 * 1024];

	while (from < until)
		upstream_answer_bytes(from++, results, sizeof(results));
	fixture_settle();
}

/*
 * The holder waits for room with `last` while its replies fill up; then it gets the room
 * and does not go on. Whoever comes next must not wait for that for ever.
 */
static void expect_holder_gives_way(size_t (*make_last)(void), size_t most_bytes)
{
	struct test_client filler[BEGUN_MAX];
	struct test_client holder;
	struct test_client other;
	size_t answers;
	size_t len;
	size_t count;
	uint32_t i;

	client_open(&holder);
	fill_output(&holder);
	answers = fixture.upstream.count;
	for (i = 0; i < BEGUN_MAX; i++) {
		open_host(&filler[i], i);
		begin_write(&filler[i], i);
	}
	/* What is left is too little for a record, and soon for a reply. */
	open_host(&other, 100);
	client_send(&other, call.bytes, call_make_read(&call, 1, MIB));
	fixture_run_until_submitted(answers + 1);
	count = fixture.upstream.count;
	len = make_last();
	client_send(&holder, call.bytes, len < most_bytes ? len : most_bytes);
	fixture_settle();
	ck_assert(admission_has_waiters(fixture.frontend->share));
	answer_output(0, answers);
	client_shut(&filler[BEGUN_MAX - 1]);
	fixture_settle();
	begin_write(&other, 100);
	ck_assert(admission_has_waiters(fixture.frontend->share));
	fixture.clock_ahead_us += SESSION_STALL_US;
	fixture_run_until(somebody_was_given_up, NULL);
	fixture_settle();
	/* It was the holder: accepted first, it is looked at first. */
	end_write(&filler[0], 0);
	fixture_run_until_submitted(count + 1);
	shut_all(filler, BEGUN_MAX - 1);
	client_shut(&holder);
	client_shut(&other);
}

static size_t make_large_write(void)
{
	return call_make_write(&call, 9000, 0, MIB, 'h');
}

START_TEST(room_for_a_record_of_a_client_that_does_not_read_gives_way)
{
	expect_holder_gives_way(make_large_write, BEGUN_BYTES);
}
END_TEST

static size_t make_large_read(void)
{
	return call_make_read(&call, 9000, MIB);
}

START_TEST(room_for_a_reply_to_a_client_that_does_not_read_gives_way)
{
	expect_holder_gives_way(make_large_read, BEGUN_BYTES);
}
END_TEST

/* A call takes memory beside its record; see admission.h. */
START_TEST(calls_with_tiny_records_are_bounded_by_memory)
{
	enum { CLIENTS = 6, CALLS = 1000, CALLS_MAX = 8 * MIB / 4096 };
	struct test_client client[CLIENTS];
	size_t answered = 0;
	uint32_t i;
	uint32_t k;

	fixture_stop();
	fixture_start("127.0.0.0/8(insecure)", NULL, 0, 8 * MIB);
	for (i = 0; i < CLIENTS; i++) {
		open_host(&client[i], i);
		for (k = 0; k < CALLS; k++)
			client_send(&client[i], call.bytes,
				    call_make_fh(&call, k, NFS3_PROC_GETATTR, "host"));
	}
	fixture_settle();
	ck_assert_uint_le(fixture.upstream.count, CALLS_MAX);
	while (answered < fixture.upstream.count) {
		UPSTREAM_ANSWER(answered++, NFS3ERR_STALE);
		fixture_settle();
	}
	ck_assert_uint_eq(answered, CLIENTS * CALLS);
	shut_all(client, CLIENTS);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("frontend ready");
	TCase *ready = unit_case(suite, "ready");

	tcase_add_checked_fixture(ready, setup, fixture_stop);
	tcase_set_timeout(ready, 20);
	tcase_add_test(ready,
		       room_for_a_session_that_is_ready_already_comes_to_it_once);
	tcase_add_test(ready,
		       a_small_record_in_fragments_gives_back_what_it_does_not_need);
	tcase_add_test(ready,
		       room_for_a_record_of_a_client_that_does_not_read_gives_way);
	tcase_add_test(ready,
		       room_for_a_reply_to_a_client_that_does_not_read_gives_way);
	tcase_add_test(ready, calls_with_tiny_records_are_bounded_by_memory);
	return unit_run(suite);
}
