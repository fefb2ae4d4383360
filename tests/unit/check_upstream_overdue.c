/*
 * Calls without their reply on a connection that answers others: when they are sent
 * again, and how often.
 *
 * Time is the bench's: it stands still but for the jumps of a test, and the connection
 * is looked at every 2 ms.
 */
#include "unit/check_upstream_peer.h"
#include "unit/unit.h"
#include "wire/rpc_msg.h"

#define SECONDS ((mono_us)1000 * 1000)

/* NULL is answered, nothing else: the server is alive. */
static void answer_null(struct peer *peer, struct peer_call *call, void *arg)
{
	(void)peer;
	(void)arg;
	if (call->proc == NFS3_PROC_NULL)
		peer_reply(call, "", 0);
}

static struct bench *bench_alive(void)
{
	struct bench *bench = bench_new();

	bench->tuning.overdue_us = upstream_tuning_default.overdue_us;
	bench->peer->on_call = answer_null;
	bench_start(bench);
	return bench;
}

static unsigned int times_received(const struct bench *bench, uint32_t xid)
{
	unsigned int times = 0;
	unsigned int i;

	for (i = 0; i < bench->peer->call_count; i++)
		times += bench->peer->call[i].xid == xid;
	return times;
}

/* The peer has this call once more than before. */
struct arrival {
	const struct sent *sent;
	unsigned int times;
};

static bool has_arrived(struct bench *bench, void *arg)
{
	const struct arrival *arrival = arg;

	return arrival->sent->request.sent_count == arrival->times &&
	       times_received(bench, arrival->sent->request.xid) == arrival->times;
}

static void until_received(struct bench *bench, const struct sent *sent,
			   unsigned int times)
{
	struct arrival arrival = { .sent = sent, .times = times };

	bench_until(bench, has_arrived, &arrival);
}

/* The call of this xid that came last. */
static struct peer_call *last_call(struct bench *bench, const struct sent *sent)
{
	unsigned int i = bench->peer->call_count;

	while (i-- > 0)
		if (bench->peer->call[i].xid == sent->request.xid)
			return &bench->peer->call[i];
	ck_abort_msg("the call has not come");
}

static void answer(struct bench *bench, struct sent *sent)
{
	unsigned int done_count = bench->done_count;

	peer_answer_getattr(last_call(bench, sent));
	bench_until_done(bench, done_count + 1);
	ck_assert_ptr_eq(bench->last_done, sent);
	ck_assert_int_eq(sent->request.outcome, UPSTREAM_ANSWERED);
}

/* The call, received `times` now, is not sent again before `seconds` more, and then is. */
static void check_patience(struct bench *bench, const struct sent *sent,
			   unsigned int times, unsigned int seconds)
{
	bench->clock.now += (seconds - 1) * SECONDS;
	bench_run_ticks(bench);
	ck_assert_uint_eq(sent->request.sent_count, times);
	bench->clock.now += 1 * SECONDS;
	until_received(bench, sent, times + 1);
}

/* A reply that says it is another call's, of which there is none. */
static void answer_with_another_xid(struct bench *bench, const struct sent *sent)
{
	struct peer_call astray = *last_call(bench, sent);

	astray.xid ^= 0x55550000u;
	peer_answer_getattr(&astray);
}

START_TEST(a_call_whose_reply_has_another_xid_is_sent_again)
{
	struct bench *bench = bench_alive();
	struct sent *sent = send_getattr(bench, 1);

	until_received(bench, sent, 1);
	answer_with_another_xid(bench, sent);
	check_patience(bench, sent, 1, 120);
	ck_assert_uint_eq(bench->peer->conn_count, 2);
	answer(bench, sent);
	sent_free(sent);
	bench_free(bench);
}
END_TEST

START_TEST(calls_after_it_have_the_patience_of_their_own)
{
	struct bench *bench = bench_alive();
	struct sent *sent[2];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		sent[i] = send_getattr(bench, i);
		until_received(bench, sent[i], 1);
		check_patience(bench, sent[i], 1, 120);
		answer(bench, sent[i]);
		sent_free(sent[i]);
	}
	bench_free(bench);
}
END_TEST

/* All on the connection are sent again; only the overdue one has used up a chance. */
START_TEST(calls_beside_it_have_the_patience_of_their_own)
{
	struct bench *bench = bench_alive();
	struct sent *first = send_getattr(bench, 1);
	struct sent *second;

	until_received(bench, first, 1);
	bench->clock.now += 100 * SECONDS;
	second = send_getattr(bench, 2);
	until_received(bench, second, 1);
	check_patience(bench, first, 1, 20);
	until_received(bench, second, 2);
	check_patience(bench, second, 2, 120);
	until_received(bench, first, 3);
	check_patience(bench, second, 3, 240);
	ck_assert_uint_eq(first->request.sent_count, 4);
	until_received(bench, first, 4);
	answer(bench, first);
	answer(bench, second);
	sent_free(first);
	sent_free(second);
	bench_free(bench);
}
END_TEST

/*
 * A COMMIT may take minutes, on a connection that answers others all the time: the times
 * grow until they are longer than any call takes.
 */
START_TEST(a_slow_call_among_answered_ones_is_not_sent_for_ever)
{
	static const unsigned int patience[] = {
		120, 240, 480, 960, 1920, 3840, 7680, 15360, 30720, 30720,
	};
	enum { TURNS = sizeof(patience) / sizeof(patience[0]) };
	struct bench *bench = bench_alive();
	struct sent *slow = send_getattr(bench, 1);
	struct sent *other;
	unsigned int i;

	until_received(bench, slow, 1);
	for (i = 0; i < TURNS; i++) {
		other = send_getattr(bench, 2);
		until_received(bench, other, 1);
		answer(bench, other);
		sent_free(other);
		check_patience(bench, slow, i + 1, patience[i]);
	}
	answer(bench, slow);
	ck_assert_uint_eq(bench->peer->conn_count, TURNS + 1);
	sent_free(slow);
	bench_free(bench);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("upstream_overdue");
	TCase *tcase = unit_case(suite, "overdue");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, a_call_whose_reply_has_another_xid_is_sent_again);
	tcase_add_test(tcase, calls_after_it_have_the_patience_of_their_own);
	tcase_add_test(tcase, calls_beside_it_have_the_patience_of_their_own);
	tcase_add_test(tcase, a_slow_call_among_answered_ones_is_not_sent_for_ever);
	return unit_run(suite);
}
