/*
 * Replies that belong to no call: what they may break, and what they must not.
 */
#include <arpa/inet.h>
#include <string.h>

#include "unit/check_upstream_peer.h"
#include "unit/unit.h"
#include "wire/rpc_msg.h"

enum { SECONDS = 1000 * 1000 };

/* A reply whose xid no call ever has here. */
static void send_stray(struct bench *bench, unsigned int conn)
{
	struct bytes results;
	uint8_t record[256];
	size_t len;

	put_getattr_ok(&results, 99);
	len = peer_make_reply(record, sizeof(record), 0xdeadbeef, RPC_ACCEPT_SUCCESS,
			      results.data, results.len);
	peer_send(&bench->peer->conn[conn], record, len);
}

/* NULL is answered, nothing else: the server is alive. */
static void answer_null(struct peer *peer, struct peer_call *call, void *arg)
{
	(void)peer;
	(void)arg;
	if (call->proc == 0)
		peer_reply(call, "", 0);
}

/* Seconds pass one by one, as a stray's age and a call's are looked at every second. */
static void pass_seconds(struct bench *bench, unsigned int seconds)
{
	while (seconds-- > 0) {
		bench->clock.now += SECONDS;
		bench_run_ticks(bench);
	}
}

static struct bench *bench_alive(void)
{
	struct bench *bench = bench_new();

	bench->peer->on_call = answer_null;
	bench_start(bench);
	return bench;
}

/* The call of that xid that came last. */
static const struct peer_call *last_call(const struct bench *bench, uint32_t xid)
{
	unsigned int i = bench->peer->call_count;

	while (i-- > 0)
		if (bench->peer->call[i].xid == xid)
			return &bench->peer->call[i];
	ck_abort_msg("no call has xid %u", xid);
}

START_TEST(a_call_whose_reply_went_astray_is_sent_again)
{
	struct bench *bench = bench_alive();
	struct sent *sent = send_getattr(bench, 1);

	bench_until_calls(bench, 1);
	send_stray(bench, 0);
	pass_seconds(bench, 29);
	ck_assert_uint_eq(bench->peer->conn_count, 1);
	bench->clock.now += 2 * SECONDS;
	bench_until_conns(bench, 2);
	bench->peer->on_call = peer_answer;
	bench_until_done(bench, 1);
	ck_assert_int_eq(sent->request.outcome, UPSTREAM_ANSWERED);
	ck_assert_uint_eq(sent->request.sent_count, 2);
	sent_free(sent);
	bench_free(bench);
}
END_TEST

/* The reply went astray among others, all in one segment or each in its own. */
START_TEST(it_is_noticed_among_other_replies)
{
	enum { COUNT = 8, MISSING = 3 };
	struct bench *bench = bench_alive();
	struct sent *sent[COUNT];
	struct bytes results;
	uint8_t records[4096];
	size_t len = 0;
	unsigned int i;

	for (i = 0; i < COUNT; i++)
		sent[i] = send_getattr(bench, i);
	bench_until_calls(bench, COUNT);
	put_getattr_ok(&results, 1);
	for (i = 0; i < COUNT; i++) {
		uint32_t xid = bench->peer->call[i].xid;

		len += peer_make_reply(records + len, sizeof(records) - len,
				       i == MISSING ? xid ^ 0x55550000 : xid,
				       RPC_ACCEPT_SUCCESS, results.data, results.len);
		if (_i != 0) {
			peer_send(&bench->peer->conn[0], records, len);
			len = 0;
			bench_run_ticks(bench);
		}
	}
	if (len > 0)
		peer_send(&bench->peer->conn[0], records, len);
	bench_until_done(bench, COUNT - 1);
	/* the connection is in use all the time */
	for (i = 0; i < 29; i++) {
		struct sent *other = send_getattr(bench, 1);

		bench_until_calls(bench, COUNT + i + 1);
		peer_reply(&bench->peer->call[COUNT + i], results.data, results.len);
		bench_until_done(bench, COUNT + i);
		sent_free(other);
		bench->clock.now += SECONDS;
	}
	bench_run_ticks(bench);
	ck_assert_uint_eq(bench->peer->conn_count, 1);
	bench->peer->on_call = peer_answer;
	bench->clock.now += 2 * SECONDS;
	bench_until_done(bench, COUNT + 29);
	ck_assert_uint_eq(bench->peer->conn_count, 2);
	for (i = 0; i < COUNT; i++) {
		ck_assert_uint_eq(sent[i]->request.sent_count, i == MISSING ? 2 : 1);
		sent_free(sent[i]);
	}
	bench_free(bench);
}
END_TEST

/* The first harms nobody: what comes right after it is seen all the same. */
START_TEST(one_after_another_is_noticed)
{
	struct bench *bench = bench_alive();
	struct sent *sent[2];
	unsigned int i;

	sent[0] = send_getattr(bench, 0);
	bench_until_calls(bench, 1);
	peer_answer_getattr(&bench->peer->call[0]);
	peer_answer_getattr(&bench->peer->call[0]);
	bench_until_done(bench, 1);
	bench_run_ticks(bench);
	bench->clock.now += SECONDS;
	sent[1] = send_getattr(bench, 1);
	bench_until_calls(bench, 2);
	send_stray(bench, 0);
	pass_seconds(bench, 29);
	ck_assert_uint_eq(bench->peer->conn_count, 1);
	bench->clock.now += 2 * SECONDS;
	bench->peer->on_call = peer_answer;
	bench_until_done(bench, 2);
	ck_assert_uint_eq(bench->peer->conn_count, 2);
	for (i = 0; i < 2; i++) {
		ck_assert_uint_eq(sent[i]->request.sent_count, i + 1);
		sent_free(sent[i]);
	}
	bench_free(bench);
}
END_TEST

/* A server that answers twice, and later is slow. */
START_TEST(it_condemns_no_call_that_came_later)
{
	struct bench *bench = bench_alive();
	struct sent *first = send_getattr(bench, 1);
	struct sent *slow;

	bench_until_calls(bench, 1);
	peer_answer_getattr(&bench->peer->call[0]);
	peer_answer_getattr(&bench->peer->call[0]);
	bench_until_done(bench, 1);
	bench_run_ticks(bench);
	bench->clock.now += SECONDS;
	slow = send_getattr(bench, 2);
	pass_seconds(bench, 200);
	ck_assert_uint_eq(bench->peer->conn_count, 1);
	peer_answer_getattr(last_call(bench, slow->request.xid));
	bench_until_done(bench, 2);
	ck_assert_uint_eq(slow->request.sent_count, 1);
	sent_free(first);
	sent_free(slow);
	bench_free(bench);
}
END_TEST

/* A slow call among strays without end is given more time with each attempt. */
START_TEST(a_slow_call_is_not_sent_again_for_ever)
{
	static const unsigned int patience[] = { 30, 60, 120 };
	struct bench *bench = bench_alive();
	struct sent *sent = send_getattr(bench, 1);
	unsigned int i;
	unsigned int second;

	bench_until_calls(bench, 1);
	for (i = 0; i < 3; i++) {
		for (second = 1; second < patience[i]; second++) {
			send_stray(bench, i);
			pass_seconds(bench, 1);
		}
		ck_assert_uint_eq(bench->peer->conn_count, i + 1);
		ck_assert_uint_eq(sent->request.sent_count, i + 1);
		bench->clock.now += 2 * SECONDS;
		bench_until_conns(bench, i + 2);
		bench_run_ticks(bench);
	}
	for (second = 0; second < 200; second++) {
		send_stray(bench, i);
		pass_seconds(bench, 1);
	}
	peer_answer_getattr(last_call(bench, sent->request.xid));
	bench_until_done(bench, 1);
	ck_assert_uint_eq(sent->request.sent_count, 4);
	sent_free(sent);
	bench_free(bench);
}
END_TEST

/* READ results: attributes are left out, `data` is the payload. */
static void put_read_ok(struct bytes *results, const uint8_t *data, uint32_t len)
{
	results->len = 0;
	put_u32(results, NFS3_OK);
	put_u32(results, 0);
	put_u32(results, len);
	put_u32(results, 0);
	put_opaque(results, data, len);
}

static struct sent *send_read(struct bench *bench, uint32_t len)
{
	struct bytes args = { .len = 0 };
	struct sent *sent;

	put_fh(&args, 1, 32);
	put_u64(&args, 0);
	put_u32(&args, len);
	sent = sent_new(bench, PROGRAM_NFS, 3, NFS3_PROC_READ, args.data, args.len);
	sent_submit(sent);
	return sent;
}

/* A payload that looks like replies to no call, in pieces of any length: none is seen. */
START_TEST(the_middle_of_a_reply_is_not_taken_for_one)
{
	enum { LEN = 4000 };
	static const unsigned int pieces[] = { 1, 4, 7, 8, 12, 32, 100 };
	struct bench *bench = bench_alive();
	struct sent *slow = send_getattr(bench, 2);
	struct sent *read = send_read(bench, LEN);
	struct bytes results;
	uint8_t data[LEN];
	uint8_t record[8192];
	size_t len;
	size_t at;
	size_t piece;

	for (at = 0; at < LEN; at += 4) {
		uint32_t word = htonl(at % 8 == 0 ? 0x80000020u : 0xdeadbeefu);

		memcpy(data + at, &word, 4);
	}
	bench_until_calls(bench, 2);
	put_read_ok(&results, data, LEN);
	len = peer_make_reply(record, sizeof(record),
			      last_call(bench, read->request.xid)->xid,
			      RPC_ACCEPT_SUCCESS, results.data, results.len);
	for (at = 0; at < len; at += piece) {
		piece = pieces[_i] < len - at ? pieces[_i] : len - at;
		peer_send(&bench->peer->conn[0], record + at, piece);
		event_base_loop(bench->base, EVLOOP_NONBLOCK);
	}
	bench_until_done(bench, 1);
	pass_seconds(bench, 100);
	ck_assert_uint_eq(bench->peer->conn_count, 1);
	peer_answer_getattr(last_call(bench, slow->request.xid));
	bench_until_done(bench, 2);
	ck_assert_uint_eq(slow->request.sent_count, 1);
	sent_free(read);
	sent_free(slow);
	bench_free(bench);
}
END_TEST

/* Servers cut replies into fragments; only the first has the xid. */
START_TEST(fragments_of_a_reply_are_not_taken_for_one)
{
	struct bench *bench = bench_alive();
	struct sent *slow = send_getattr(bench, 2);
	struct sent *sent = send_getattr(bench, 1);
	struct bytes results;
	uint8_t record[256];
	uint8_t out[2048];
	size_t len;
	size_t at;
	size_t put = 0;

	bench_until_calls(bench, 2);
	put_getattr_ok(&results, 1);
	len = peer_make_reply(record, sizeof(record), sent->request.xid,
			      RPC_ACCEPT_SUCCESS, results.data, results.len);
	for (at = 4; at < len; at += 8) {
		uint32_t piece = len - at < 8 ? (uint32_t)(len - at) : 8;
		uint32_t mark = htonl(piece | (at + 8 >= len ? 0x80000000u : 0));

		memcpy(out + put, &mark, 4);
		memcpy(out + put + 4, record + at, piece);
		put += 4 + piece;
		if (_i != 0) {
			peer_send(&bench->peer->conn[0], out, put);
			event_base_loop(bench->base, EVLOOP_NONBLOCK);
			put = 0;
		}
	}
	if (put > 0)
		peer_send(&bench->peer->conn[0], out, put);
	bench_until_done(bench, 1);
	pass_seconds(bench, 100);
	ck_assert_uint_eq(bench->peer->conn_count, 1);
	peer_answer_getattr(last_call(bench, slow->request.xid));
	bench_until_done(bench, 2);
	ck_assert_uint_eq(slow->request.sent_count, 1);
	sent_free(sent);
	sent_free(slow);
	bench_free(bench);
}
END_TEST

/* The Linux server drops calls, and answers others, while it has no export table yet. */
START_TEST(a_call_the_server_dropped_is_sent_again)
{
	static const unsigned int patience[] = { 120, 240 };
	struct bench *bench = bench_new();
	struct sent *sent;
	unsigned int i;

	bench->tuning.lost_us = upstream_tuning_default.lost_us;
	bench->peer->on_call = answer_null;
	bench_start(bench);
	sent = send_getattr(bench, 1);
	bench_until_calls(bench, 1);
	for (i = 0; i < 2; i++) {
		pass_seconds(bench, patience[i] - 1);
		ck_assert_uint_eq(bench->peer->conn_count, i + 1);
		ck_assert_uint_eq(sent->request.sent_count, i + 1);
		bench->clock.now += 2 * SECONDS;
		bench_until_conns(bench, i + 2);
		bench_run_ticks(bench);
	}
	peer_answer_getattr(last_call(bench, sent->request.xid));
	bench_until_done(bench, 1);
	ck_assert_uint_eq(sent->request.sent_count, 3);
	sent_free(sent);
	bench_free(bench);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("upstream_stray");
	TCase *tcase = unit_case(suite, "stray");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, a_call_whose_reply_went_astray_is_sent_again);
	tcase_add_loop_test(tcase, it_is_noticed_among_other_replies, 0, 2);
	tcase_add_test(tcase, one_after_another_is_noticed);
	tcase_add_test(tcase, it_condemns_no_call_that_came_later);
	tcase_add_test(tcase, a_slow_call_is_not_sent_again_for_ever);
	tcase_add_test(tcase, a_call_the_server_dropped_is_sent_again);
	tcase_add_loop_test(tcase, the_middle_of_a_reply_is_not_taken_for_one, 0, 7);
	tcase_add_loop_test(tcase, fragments_of_a_reply_are_not_taken_for_one, 0, 2);
	return unit_run(suite);
}
