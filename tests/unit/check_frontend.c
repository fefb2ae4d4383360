/*
 * The frontend as clients see it: records in any shape, RPC errors byte for byte,
 * duplicates, sessions that were replaced, and what a client that misbehaves costs
 * the others. Access rules and MOUNT are in check_frontend_rules.c.
 */
#include "unit/unit.h"

#include <string.h>
#include <sys/socket.h>

#include "frontend/reply_cache.h"
#include "frontend/session.h"
#include "unit/frontend_fixture.h"

enum { MIB = 1024 * 1024, OVERFILL_CALLS = 1400 };

static struct test_call call;

static void setup(void)
{
	fixture_start("127.0.0.0/8(insecure)", NULL, 0, 64 * MIB);
}

static bool stat_reached(const void *arg)
{
	const uint64_t *wanted = arg;

	return fixture_stat((enum stats_counter)wanted[0]) >= wanted[1];
}

static void run_until_stat(enum stats_counter counter, uint64_t value)
{
	const uint64_t wanted[2] = { (uint64_t)counter, value };

	fixture_run_until(stat_reached, wanted);
}

/* The session is alive: a NULL is answered on it, and nothing else was. */
static void expect_alive(struct test_client *client)
{
	call_begin(&call, 0xa11fe, PROGRAM_NFS, 3, NFS3_PROC_NULL, NULL);
	client_send(client, call.bytes, call_end(&call));
	CLIENT_EXPECT(client, ACCEPTED(0xa11fe));
	client_expect_nothing(client);
}

/* REMOVE OK without attributes, and the reply's words. */
#define REMOVE_OK 0, 0, 0
#define WRITE_OK(count) 0, 0, 0, (count), 0, 0x5e44e4, 0x5e44e5
#define OUR_VERIFIER 0x01020304, 0x05060708
#define COMMIT_OK 0, 0, 0, 0x5e44e4, 0x5e44e5

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
	expect_alive(&client);
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
	expect_alive(&client);
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
		uint8_t fragment[5] = { i + 1 == len ? 0x80 : 0, 0, 0, 1, call.bytes[i] };

		client_send(&client, fragment, sizeof(fragment));
	}
	fixture_run_until_submitted(2);
	ck_assert_uint_eq(fixture.upstream.request[1]->call->args.dirop.name.len, 6);
	UPSTREAM_ANSWER(1, REMOVE_OK);
	CLIENT_EXPECT(&client, ACCEPTED(8), REMOVE_OK);
	client_shut(&client);
}
END_TEST

static void expect_payload(size_t i, uint32_t count, uint8_t fill)
{
	const struct nfs3_write_args *args = &fixture.upstream.request[i]->call->args.write;
	uint32_t k;

	ck_assert_uint_eq(args->payload.len, count);
	for (k = 0; k < count && args->payload.data[k] == fill; k++)
		;
	ck_assert_uint_eq(k, count);
}

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
		expect_payload(xid - 1, MIB, (uint8_t)xid);
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
	expect_alive(&third);
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
	run_until_stat(STAT_CALLS_ATTACHED, 2);
	ck_assert_uint_eq(fixture.upstream.count, 1);
	UPSTREAM_ANSWER(0, COMMIT_OK);
	CLIENT_EXPECT(&client, ACCEPTED(7), 0, 0, 0, OUR_VERIFIER);
	expect_alive(&client);
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
	expect_alive(&newer);
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

START_TEST(commits_run_again_but_their_errors_are_kept)
{
	struct test_client client;
	size_t len = call_make_commit(&call, 7);

	client_open(&client);
	client_send(&client, call.bytes, len);
	fixture_run_until_submitted(1);
	ck_assert_uint_eq(fixture.upstream.request[0]->call->args.commit.offset, 0);
	ck_assert_uint_eq(fixture.upstream.request[0]->call->args.commit.count, 0);
	UPSTREAM_ANSWER(0, COMMIT_OK);
	CLIENT_EXPECT(&client, ACCEPTED(7), 0, 0, 0, OUR_VERIFIER);
	client_send(&client, call.bytes, len);
	fixture_run_until_submitted(2);
	UPSTREAM_ANSWER(1, NFS3ERR_IO, 0, 0);
	CLIENT_EXPECT(&client, ACCEPTED(7), NFS3ERR_IO, 0, 0);
	/* Longer than other answers: as long as the error is worth telling. */
	fixture.clock_ahead_us += REPLY_CACHE_KEEP_LONG_US - 60 * (mono_us)1000000;
	client_send(&client, call.bytes, len);
	CLIENT_EXPECT(&client, ACCEPTED(7), NFS3ERR_IO, 0, 0);
	ck_assert_uint_eq(fixture.upstream.count, 2);
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
		{ { 0xff, 0xff, 0xff, 0xff }, 4 },	  /* too long */
		{ { 0x80, 0, 0, 0 }, 4 },		  /* empty */
		{ { 0x80, 0, 0, 8, 0, 0, 0, 1 }, 8 },	  /* too short */
		{ { 0x80, 0, 0, 40, 0, 0, 0, 1, 0, 0, 0, 1 }, 44 }, /* a reply */
	};
	struct test_client good;
	struct test_client client;
	size_t i;

	client_open(&good);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		client_open(&client);
		expect_alive(&client);
		client_send(&client, bad[i].bytes, bad[i].len);
		client_expect_closed(&client);
		ck_assert_uint_eq(fixture_stat(STAT_RECORDS_MALFORMED), i + 1);
		client_shut(&client);
		expect_alive(&good);
	}
	client_shut(&good);
}
END_TEST

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
	run_until_stat(STAT_CLIENT_CALLS,
		       SESSION_EXPECTED_MAX_BYTES / (READ_BYTES + 1024));
	fixture_settle();
	ck_assert_uint_le(fixture.upstream.count, SESSION_EXPECTED_MAX_BYTES / READ_BYTES);
	/* Answer all that comes, until nothing comes any more. */
	while (reader.answered < fixture.upstream.count) {
		answer_reads(&reader.answered);
		fixture_settle();
	}
	/* What is left here is bounded, whatever the socket took. */
	ck_assert_uint_lt(reader.answered, READS);
	ck_assert_uint_lt(buf_total_bytes(), SESSION_EXPECTED_MAX_BYTES + MIB);
	client_open(&other);
	expect_alive(&other);
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
	run_until_stat(STAT_CLIENT_CALLS, SESSION_CALLS_MAX);
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
	expect_alive(&client);
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
	fixture_settle();
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
	expect_alive(&newer);
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
	run_until_stat(STAT_CLIENT_CALLS, OVERFILL_CALLS + 1);
	ck_assert_uint_eq(fixture_stat(STAT_SESSIONS_REPLACED), 0);
	client_shut(&older);
	client_shut(&newer);
}
END_TEST

/* 64 MiB: 28 + 32 MiB for large records, each of a little over 1 MiB charged twice. */
enum { BEGUN_MAX = 29, BEGUN_BYTES = 8192 };

static void begin_write(struct test_client *client, uint32_t xid)
{
	call_make_write(&call, xid, xid * (uint64_t)MIB, MIB, (uint8_t)xid);
	client_open(client);
	client_send(client, call.bytes, BEGUN_BYTES);
	fixture_settle();
}

static void end_write(struct test_client *client, uint32_t xid)
{
	size_t len = call_make_write(&call, xid, xid * (uint64_t)MIB, MIB, (uint8_t)xid);

	client_send(client, call.bytes + BEGUN_BYTES, len - BEGUN_BYTES);
}

static size_t records_in_memory(void)
{
	return buf_total_bytes() / MIB;
}

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
	UPSTREAM_ANSWER(0, WRITE_OK(MIB));
	CLIENT_EXPECT(&client[7], ACCEPTED(7), 0, 0, 0, MIB, 0, OUR_VERIFIER);
	fixture_settle();
	ck_assert_uint_eq(records_in_memory(), BEGUN_MAX);
	/* It was the first in line who got in. */
	end_write(&client[BEGUN_MAX], BEGUN_MAX);
	fixture_run_until_submitted(2);
	expect_payload(1, MIB, BEGUN_MAX);
	UPSTREAM_ANSWER(1, WRITE_OK(MIB));
	end_write(&client[BEGUN_MAX + 1], BEGUN_MAX + 1);
	fixture_run_until_submitted(3);
	expect_payload(2, MIB, BEGUN_MAX + 1);
	for (i = 0; i < BEGUN_MAX + 2; i++)
		client_shut(&client[i]);
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
	expect_alive(&other);
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
	len = call_make_commit(&call, 4);
	client_send(&client, call.bytes, len);
	len = call_make_commit(&call, 5); /* behind the other */
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
	TCase *limits = unit_case(suite, "limits");
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
	tcase_add_test(duplicates, other_calls_of_a_replaced_session_go_on_and_are_kept);
	tcase_add_test(duplicates, a_copy_on_the_same_connection_is_ignored);
	tcase_add_test(duplicates, a_stale_copy_on_an_older_connection_closes_that_one);
	tcase_add_test(duplicates, other_machine_names_are_other_clients);
	tcase_add_test(duplicates, a_repeated_write_is_answered_from_the_cache);
	tcase_add_test(duplicates, commits_run_again_but_their_errors_are_kept);
	tcase_add_test(duplicates, reads_are_not_kept_but_show_a_replaced_session);
	tcase_add_checked_fixture(limits, setup, fixture_stop);
	tcase_set_timeout(records, 60);
	tcase_set_timeout(duplicates, 60);
	tcase_set_timeout(limits, 60);
	tcase_set_timeout(shutdown_case, 60);
	tcase_add_test(limits, a_client_that_does_not_read_is_bounded);
	tcase_add_test(limits, calls_in_progress_are_bounded);
	tcase_add_test(limits, unread_input_of_a_client_that_hung_up_is_discarded);
	tcase_add_test(limits, a_reset_while_paused_ends_the_session);
	tcase_add_test(limits,
		       a_paused_session_is_not_resumed_once_its_client_has_a_newer_one);
	tcase_add_test(
		limits,
		a_paused_session_is_resumed_when_the_newer_one_is_another_clients);
	tcase_add_test(limits, records_wait_for_memory_and_go_on_in_order);
	tcase_add_test(limits, small_calls_pass_when_large_records_wait);
	tcase_add_test(limits,
		       large_reads_wait_for_memory_and_are_taken_up_by_a_new_session);
	tcase_add_test(limits, a_stalled_record_gives_way_after_30_s_when_others_wait);
	tcase_add_test(limits, a_stalled_record_may_take_its_time_when_nobody_waits);
	tcase_add_checked_fixture(shutdown_case, setup, NULL);
	tcase_add_test(shutdown_case, stopping_with_work_in_progress_leaks_nothing);
	return unit_run(suite);
}
