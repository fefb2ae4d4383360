/*
 * Calls across broken connections: order, xids, half replies, bad replies, limits, end.
 */
#include <stdlib.h>
#include <string.h>

#include "nfsgather/log.h"
#include "unit/check_upstream_peer.h"
#include "unit/unit.h"
#include "wire/rpc_msg.h"

START_TEST(calls_wait_until_the_upstream_is_there)
{
	struct bench *bench = bench_new();
	struct sent *sent[3];
	unsigned int i;

	peer_stop_listening(bench->peer);
	bench_start(bench);
	for (i = 0; i < 3; i++)
		sent[i] = send_getattr(bench, i);
	/* several attempts are refused in this time */
	for (i = 0; i < 200; i++)
		event_base_loop(bench->base, EVLOOP_NONBLOCK);
	ck_assert_uint_eq(bench->done_count, 0);
	peer_listen(bench->peer);
	bench->peer->on_call = peer_answer_by_number;
	bench_until_done(bench, 3);
	for (i = 0; i < 3; i++) {
		ck_assert_uint_eq(sent[i]->done_order, i + 1);
		ck_assert_uint_eq(sent[i]->request.sent_count, 1);
		sent_free(sent[i]);
	}
	ck_assert_uint_eq(bench->stats.value[STAT_UPSTREAM_RECONNECTS], 0);
	bench_free(bench);
}
END_TEST

START_TEST(a_cut_connection_means_the_same_calls_in_the_same_order_again)
{
	enum { COUNT = 10, ANSWERED_FIRST = 4 };
	struct bench *bench = bench_new();
	struct sent *sent[COUNT + 2];
	struct bytes results;
	unsigned int i;
	unsigned int at;

	bench_start(bench);
	for (i = 0; i < COUNT; i++)
		sent[i] = send_getattr(bench, i);
	bench_until_calls(bench, COUNT);
	/* one from the middle is answered, so the rest is not just all again */
	put_getattr_ok(&results, 1);
	peer_reply(&bench->peer->call[ANSWERED_FIRST], results.data, results.len);
	bench_until_done(bench, 1);
	peer_hang_up(&bench->peer->conn[0]);
	/* newer calls come after the old ones, whenever they are submitted; this one is
	 * handed to the connection whose end is not noticed yet */
	sent[COUNT] = send_getattr(bench, COUNT);
	bench_until_conns(bench, 2);
	sent[COUNT + 1] = send_getattr(bench, COUNT + 1);
	bench_until_calls(bench, COUNT + COUNT - 1 + 2);

	at = COUNT;
	for (i = 0; i < COUNT + 2; i++) {
		const struct peer_call *call = &bench->peer->call[at];

		if (i == ANSWERED_FIRST)
			continue;
		if (i < COUNT) {
			ck_assert_uint_eq(call->xid, bench->peer->call[i].xid);
			ck_assert_uint_eq(sent[i]->request.sent_count, 2);
		}
		ck_assert_uint_eq(call->xid, sent[i]->request.xid);
		ck_assert_uint_eq(call->conn->number, 1);
		peer_reply(call, results.data, results.len);
		at++;
	}
	bench_until_done(bench, COUNT + 2);
	ck_assert_uint_eq(bench->stats.value[STAT_UPSTREAM_RESENDS], COUNT);
	ck_assert_uint_eq(bench->stats.value[STAT_UPSTREAM_RECONNECTS], 1);
	ck_assert_uint_eq(bench->stats.value[STAT_UPSTREAM_CALLS], 2 * COUNT + 2);
	for (i = 0; i < COUNT + 2; i++)
		sent_free(sent[i]);
	bench_free(bench);
}
END_TEST

/* Half a reply must never count for a whole one, wherever it is cut. */
static void check_cut_reply(struct bench *bench,
			    struct sent *(*send)(struct bench *bench),
			    const struct bytes *results)
{
	uint8_t record[1024];
	size_t len = peer_make_reply(record, sizeof(record), 0, RPC_ACCEPT_SUCCESS,
				     results->data, results->len);
	struct sent *sent;
	size_t cut;

	for (cut = 0; cut < len; cut++) {
		unsigned int calls = bench->peer->call_count;
		unsigned int done = bench->done_count;

		sent = send(bench);
		bench_until_calls(bench, calls + 1);
		peer_make_reply(record, sizeof(record), bench->peer->call[calls].xid,
				RPC_ACCEPT_SUCCESS, results->data, results->len);
		peer_send(bench->peer->call[calls].conn, record, cut);
		peer_hang_up(bench->peer->call[calls].conn);
		bench_until_calls(bench, calls + 2);
		ck_assert_uint_eq(bench->done_count, done);
		ck_assert_uint_eq(bench->peer->call[calls].xid,
				  bench->peer->call[calls + 1].xid);
		peer_reply(&bench->peer->call[calls + 1], results->data, results->len);
		bench_until_done(bench, done + 1);
		ck_assert_int_eq(sent->request.outcome, UPSTREAM_ANSWERED);
		ck_assert_uint_eq(sent->request.sent_count, 2);
		ck_assert_uint_eq(sent->request.results->len_bytes, results->len);
		ck_assert_int_eq(memcmp(buf_start(sent->request.results), results->data,
					results->len),
				 0);
		sent_free(sent);
	}
}

static struct sent *send_one_getattr(struct bench *bench)
{
	return send_getattr(bench, 1);
}

static struct sent *send_one_write(struct bench *bench)
{
	return send_write(bench, 1, 0, 1, NFS3_UNSTABLE);
}

START_TEST(a_getattr_reply_cut_at_any_byte)
{
	struct bench *bench = bench_new();
	struct bytes results;

	bench->tuning.backoff_max_ms = 2;
	bench_start(bench);
	put_getattr_ok(&results, 42);
	check_cut_reply(bench, send_one_getattr, &results);
	bench_free(bench);
}
END_TEST

START_TEST(a_write_reply_cut_at_any_byte)
{
	struct bench *bench = bench_new();
	struct bytes results;

	bench->tuning.backoff_max_ms = 2;
	bench_start(bench);
	put_write_ok(&results);
	check_cut_reply(bench, send_one_write, &results);
	bench_free(bench);
}
END_TEST

START_TEST(refusals_of_the_rpc_layer_are_told_apart)
{
	static const enum upstream_outcome outcomes[] = {
		[RPC_ACCEPT_PROG_UNAVAIL] = UPSTREAM_PROG_UNAVAIL,
		[RPC_ACCEPT_PROG_MISMATCH] = UPSTREAM_PROG_MISMATCH,
		[RPC_ACCEPT_PROC_UNAVAIL] = UPSTREAM_PROC_UNAVAIL,
		[RPC_ACCEPT_GARBAGE_ARGS] = UPSTREAM_GARBAGE_ARGS,
		[RPC_ACCEPT_SYSTEM_ERR] = UPSTREAM_SYSTEM_ERR,
	};
	struct bench *bench = bench_new();
	struct sent *sent;
	uint32_t accept;

	bench_start(bench);
	for (accept = 1; accept <= RPC_ACCEPT_SYSTEM_ERR; accept++) {
		sent = send_getattr(bench, accept);
		bench_until_calls(bench, accept);
		peer_refuse(&bench->peer->call[accept - 1], accept);
		bench_until_done(bench, accept);
		ck_assert_int_eq(sent->request.outcome, outcomes[accept]);
		sent_free(sent);
	}
	sent = send_getattr(bench, 0);
	bench_until_calls(bench, accept);
	peer_deny(&bench->peer->call[accept - 1]);
	bench_until_done(bench, accept);
	ck_assert_int_eq(sent->request.outcome, UPSTREAM_DENIED);
	sent_free(sent);
	/* none of these is a reason to reconnect */
	ck_assert_uint_eq(bench->peer->conn_count, 1);
	bench_free(bench);
}
END_TEST

/* Bad replies to handle number 3, good ones to the others. */
struct poison {
	unsigned int bad_replies;
	void (*spoil)(struct peer_call *call);
};

static void poison_one(struct peer *peer, struct peer_call *call, void *arg)
{
	struct poison *poison = arg;

	if (call->args[4] == 3) {
		poison->bad_replies++;
		poison->spoil(call);
	} else {
		peer_answer_by_number(peer, call, NULL);
	}
}

/* results that end in the middle of the attributes */
static void spoil_short(struct peer_call *call)
{
	struct bytes results;

	put_getattr_ok(&results, 3);
	peer_reply(call, results.data, 44);
}

static void spoil_accept(struct peer_call *call)
{
	peer_refuse(call, 77);
}

static void spoil_record_length(struct peer_call *call)
{
	peer_send(call->conn, "\xff\xff\xff\xff", 4);
}

static void (*const spoilers[])(struct peer_call *call) = {
	spoil_short,
	spoil_accept,
	spoil_record_length,
};
enum { SPOILER_COUNT = sizeof(spoilers) / sizeof(spoilers[0]) };

START_TEST(one_call_with_bad_replies_fails_alone_and_in_the_end)
{
	enum { COUNT = 8 };
	struct bench *bench = bench_new();
	struct poison poison = { .spoil = spoilers[_i] };
	struct sent *sent[COUNT];
	unsigned int i;

	bench->peer->on_call = poison_one;
	bench->peer->arg = &poison;
	bench_start(bench);
	for (i = 0; i < COUNT; i++)
		sent[i] = send_getattr(bench, i);
	bench_until_done(bench, COUNT);
	for (i = 0; i < COUNT; i++) {
		ck_assert_int_eq(sent[i]->request.outcome,
				 i == 3 ? UPSTREAM_SYSTEM_ERR : UPSTREAM_ANSWERED);
		if (i != 3) /* with its own results */
			ck_assert_uint_eq(buf_start(sent[i]->request.results)[63], i);
		sent_free(sent[i]);
	}
	ck_assert_uint_ge(poison.bad_replies, 3);
	ck_assert_uint_le(poison.bad_replies, 4);
	/* and the connection is of use again */
	sent[0] = send_getattr(bench, 9);
	bench_until_done(bench, COUNT + 1);
	ck_assert_int_eq(sent[0]->request.outcome, UPSTREAM_ANSWERED);
	sent_free(sent[0]);
	bench_free(bench);
}
END_TEST

/* Only a payload much larger than the socket buffers gets stuck half-sent. */
START_TEST(a_write_cut_while_being_sent_goes_out_whole_again)
{
	enum { LEN = 6 << 20 };
	struct bench *bench = bench_new();
	struct bytes head = { .len = 0 };
	struct bytes results;
	uint8_t *args = calloc(1, LEN + 64);
	struct sent *sent;

	put_fh(&head, 1, 32);
	put_u64(&head, 0);
	put_u32(&head, LEN);
	put_u32(&head, NFS3_UNSTABLE);
	put_u32(&head, LEN);
	memcpy(args, head.data, head.len);
	memset(args + head.len, 0x3c, LEN);
	bench_start(bench);
	bench_until_conns(bench, 1);
	sent = sent_new(bench, PROGRAM_NFS, 3, NFS3_PROC_WRITE, args, head.len + LEN);
	sent_submit(sent);
	while (bench->peer->conn[0].in_len == 0)
		event_base_loop(bench->base, EVLOOP_ONCE);
	ck_assert_uint_eq(bench->peer->call_count, 0);
	peer_hang_up(&bench->peer->conn[0]);
	bench_until_calls(bench, 1);
	ck_assert_uint_eq(bench->peer->call[0].args_len, head.len + LEN);
	ck_assert_int_eq(memcmp(bench->peer->call[0].args, args, head.len + LEN), 0);
	ck_assert_uint_eq(sent->request.sent_count, 2);
	put_write_ok(&results);
	peer_reply(&bench->peer->call[0], results.data, results.len);
	bench_until_done(bench, 1);
	free(args);
	sent_free(sent);
	bench_free(bench);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("upstream_resend");
	TCase *tcase = unit_case(suite, "resend");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, calls_wait_until_the_upstream_is_there);
	tcase_add_test(tcase,
		       a_cut_connection_means_the_same_calls_in_the_same_order_again);
	tcase_add_test(tcase, a_getattr_reply_cut_at_any_byte);
	tcase_add_test(tcase, a_write_reply_cut_at_any_byte);
	tcase_add_test(tcase, a_write_cut_while_being_sent_goes_out_whole_again);
	tcase_add_test(tcase, refusals_of_the_rpc_layer_are_told_apart);
	tcase_add_loop_test(tcase, one_call_with_bad_replies_fails_alone_and_in_the_end,
			    0, SPOILER_COUNT);
	return unit_run(suite);
}
