/*
 * Connections: credentials on them, silence, the MOUNT connection, socket options, and
 * what the log hears.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nfsgather/log.h"
#include "unit/check_upstream_peer.h"
#include "unit/unit.h"
#include "upstream/upstream_socket.h"
#include "wire/rpc_msg.h"

#define SECONDS ((mono_us)1000 * 1000)

/* --- credentials --- */

static struct sent *send_as(struct bench *bench, const struct rpc_cred *cred)
{
	struct bytes args = { .len = 0 };
	struct sent *sent;

	put_fh(&args, 1, 32);
	sent = sent_new(bench, PROGRAM_NFS, 3, NFS3_PROC_GETATTR, args.data, args.len);
	sent->cred = *cred;
	sent_submit(sent);
	return sent;
}

static void make_creds(struct rpc_cred cred[4])
{
	unsigned int i;

	memset(cred, 0, 4 * sizeof(cred[0]));
	cred[0].flavor = RPC_AUTH_SYS;
	cred[0].stamp = 0xdeadbeef;
	cred[0].uid = 1001;
	rpc_cred_encode(&cred[0]);
	cred[1].flavor = RPC_AUTH_SYS;
	cred[1].machine_name_len = 255;
	memset(cred[1].machine_name, 'M', 255);
	cred[1].gid_count = 16;
	for (i = 0; i < 16; i++)
		cred[1].gids[i] = 0xfffffff0u + i;
	rpc_cred_encode(&cred[1]);
	cred[2].flavor = RPC_AUTH_NONE;
	cred[3] = cred[0];
	cred[3].stamp++; /* all else the same: must not be taken for the first */
	rpc_cred_encode(&cred[3]);
}

START_TEST(each_call_carries_its_credential_byte_for_byte)
{
	static const unsigned int order[] = { 0, 0, 1, 2, 0, 3, 2, 2, 1, 0 };
	enum { COUNT = sizeof(order) / sizeof(order[0]) };
	struct bench *bench = bench_new();
	struct rpc_cred cred[4];
	struct sent *sent[COUNT];
	unsigned int i;

	make_creds(cred);
	bench_start(bench);
	for (i = 0; i < COUNT; i++)
		sent[i] = send_as(bench, &cred[order[i]]);
	bench_until_calls(bench, COUNT);
	/* and again on a new connection, which starts with none, not with the last */
	peer_hang_up(&bench->peer->conn[0]);
	bench->peer->on_call = peer_answer;
	bench_until_done(bench, COUNT);
	for (i = 0; i < 2 * COUNT; i++) {
		const struct peer_call *call = &bench->peer->call[i];
		const struct rpc_cred *expected = &cred[order[i % COUNT]];

		ck_assert_uint_eq(call->flavor, expected->flavor);
		ck_assert_uint_eq(call->cred_len, expected->body_len);
		if (call->cred_len > 0)
			ck_assert_int_eq(memcmp(call->cred, expected->body,
						expected->body_len),
					 0);
	}
	for (i = 0; i < COUNT; i++)
		sent_free(sent[i]);
	bench_free(bench);
}
END_TEST

/* --- silence --- */

START_TEST(a_late_reply_alone_breaks_nothing)
{
	struct bench *bench = bench_new();
	struct sent *sent;
	unsigned int round;

	bench_start(bench);
	sent = send_getattr(bench, 1);
	bench_until_calls(bench, 1);
	for (round = 1; round <= 12; round++) { /* four minutes */
		bench->clock.now += 14 * SECONDS;
		bench_run_ticks(bench);
		ck_assert_uint_eq(bench->peer->call_count, round);
		bench->clock.now += 2 * SECONDS;
		bench_until_calls(bench, round + 1);
		ck_assert_uint_eq(bench->peer->call[round].program, PROGRAM_NFS);
		ck_assert_uint_eq(bench->peer->call[round].proc, NFS3_PROC_NULL);
		peer_reply(&bench->peer->call[round], "", 0);
		bench_run_ticks(bench);
	}
	ck_assert_uint_eq(bench->peer->conn_count, 1);
	peer_answer_getattr(&bench->peer->call[0]);
	bench_until_done(bench, 1);
	ck_assert_uint_eq(sent->request.sent_count, 1);
	/* nothing out: nobody is asked */
	bench->clock.now += 100 * SECONDS;
	bench_run_ticks(bench);
	ck_assert_uint_eq(bench->peer->call_count, round);
	sent_free(sent);
	bench_free(bench);
}
END_TEST

START_TEST(a_server_busy_for_90_seconds_is_not_dead)
{
	struct bench *bench = bench_new();
	struct sent *sent;

	bench_start(bench);
	sent = send_getattr(bench, 1);
	bench_until_calls(bench, 1);
	bench->clock.now += 16 * SECONDS;
	bench_until_calls(bench, 2);
	/* one call after the other: NULL has to wait as well */
	bench->clock.now += 75 * SECONDS;
	bench_run_ticks(bench);
	ck_assert_uint_eq(bench->peer->conn_count, 1);
	ck_assert_uint_eq(bench->peer->call_count, 2);
	peer_answer_getattr(&bench->peer->call[0]);
	peer_reply(&bench->peer->call[1], "", 0);
	bench_until_done(bench, 1);
	ck_assert_uint_eq(sent->request.sent_count, 1);
	ck_assert_uint_eq(bench->peer->conn_count, 1);
	sent_free(sent);
	bench_free(bench);
}
END_TEST

START_TEST(an_unanswered_null_breaks_the_connection)
{
	struct bench *bench = bench_new();
	struct sent *sent;

	bench_start(bench);
	sent = send_getattr(bench, 1);
	bench_until_calls(bench, 1);
	bench->clock.now += 15 * SECONDS;
	bench_until_calls(bench, 2);
	bench->clock.now += 119 * SECONDS;
	bench_run_ticks(bench);
	ck_assert_uint_eq(bench->peer->conn_count, 1);
	bench->clock.now += 1 * SECONDS;
	bench->peer->on_call = peer_answer;
	bench_until_done(bench, 1);
	ck_assert_uint_eq(bench->peer->conn_count, 2);
	ck_assert_uint_eq(sent->request.sent_count, 2);
	ck_assert_uint_eq(bench->peer->call[0].xid, bench->peer->call[2].xid);
	sent_free(sent);
	bench_free(bench);
}
END_TEST

/* A long reply on a slow line. */
START_TEST(bytes_are_a_sign_of_life)
{
	struct bench *bench = bench_new();
	struct bytes results = { .len = 0 };
	struct sent *sent;
	uint8_t record[256];
	size_t len;
	size_t at;

	bench_start(bench);
	sent = send_getattr(bench, 1);
	bench_until_calls(bench, 1);
	put_u32(&results, NFS3_OK);
	put_attr(&results, NFS3_REG, 1, 100, 0);
	len = peer_make_reply(record, sizeof(record), bench->peer->call[0].xid,
			      RPC_ACCEPT_SUCCESS, results.data, results.len);
	for (at = 0; at + 8 < len; at += 8) {
		bench->clock.now += 14 * SECONDS;
		peer_send(&bench->peer->conn[0], record + at, 8);
		bench_run_ticks(bench);
	}
	ck_assert_uint_eq(bench->peer->call_count, 1);
	peer_send(&bench->peer->conn[0], record + at, len - at);
	bench_until_done(bench, 1);
	ck_assert_uint_eq(sent->request.sent_count, 1);
	sent_free(sent);
	bench_free(bench);
}
END_TEST

/* --- MOUNT --- */

static bool first_mount_conn_is_closed(struct bench *bench, void *arg)
{
	(void)arg;
	return bench->peer->conn_count >= 2 && bench->peer->conn[1].fd < 0;
}

static struct sent *send_umnt(struct bench *bench)
{
	struct bytes path = { .len = 0 };
	struct sent *sent;

	put_text(&path, "/exp");
	sent = sent_new(bench, PROGRAM_MOUNT, 3, MOUNT_PROC_UMNT, path.data, path.len);
	sent_submit(sent);
	return sent;
}

START_TEST(mount_connects_when_asked_and_leaves_when_idle)
{
	struct bench *bench = bench_new();
	struct sent *sent[2];

	bench->tuning.mount_idle_ms = 5;
	bench_start(bench);
	bench_until_conns(bench, 1);
	bench_run_ticks(bench);
	ck_assert_uint_eq(bench->peer->conn_count, 1); /* NFS */
	sent[0] = send_umnt(bench);
	bench_until_calls(bench, 1);
	ck_assert_uint_eq(bench->peer->call[0].conn->number, 1);
	bench_run_ticks(bench); /* longer than the idle time: a call is out */
	ck_assert_int_ge(bench->peer->conn[1].fd, 0);
	peer_reply(&bench->peer->call[0], "", 0);
	bench_until(bench, first_mount_conn_is_closed, NULL);
	ck_assert_uint_eq(bench->done_count, 1);
	sent[1] = send_umnt(bench);
	bench_until_calls(bench, 2);
	ck_assert_uint_eq(bench->peer->call[1].conn->number, 2);
	peer_reply(&bench->peer->call[1], "", 0);
	bench_until_done(bench, 2);
	ck_assert_uint_eq(bench->stats.value[STAT_UPSTREAM_RECONNECTS], 0);
	sent_free(sent[0]);
	sent_free(sent[1]);
	bench_free(bench);
}
END_TEST

START_TEST(mount_that_is_not_there_is_waited_for)
{
	struct bench *bench = bench_new();
	struct peer *mountd = peer_new(bench->base, AF_INET);
	struct sent *sent;

	peer_stop_listening(mountd);
	bench->config.mount_port = mountd->port;
	bench->peer->on_call = peer_answer;
	bench_start(bench);
	sent = send_umnt(bench);
	bench_run_ticks(bench);
	ck_assert_uint_eq(bench->done_count, 0);
	peer_listen(mountd);
	while (mountd->call_count == 0)
		event_base_loop(bench->base, EVLOOP_ONCE);
	peer_reply(&mountd->call[0], "", 0);
	bench_until_done(bench, 1);
	ck_assert_uint_eq(sent->request.sent_count, 1);
	sent_free(sent);
	peer_free(mountd);
	bench_free(bench);
}
END_TEST

/* --- the socket --- */

static int option_of(int fd, int level, int option)
{
	int value = -1;
	socklen_t len = sizeof(value);

	ck_assert_int_eq(getsockopt(fd, level, option, &value, &len), 0);
	return value;
}

START_TEST(socket_options)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct linger linger = { 0 };
	socklen_t len = sizeof(linger);

	ck_assert_int_eq(upstream_socket_setup(fd), 0);
	ck_assert_int_eq(getsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &len), 0);
	ck_assert_int_eq(linger.l_onoff, 1);
	ck_assert_int_eq(linger.l_linger, 0);
	ck_assert_int_eq(option_of(fd, IPPROTO_TCP, TCP_NODELAY), 1);
	ck_assert_int_eq(option_of(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
	ck_assert_int_eq(option_of(fd, IPPROTO_TCP, TCP_KEEPIDLE), 10);
	ck_assert_int_eq(option_of(fd, IPPROTO_TCP, TCP_KEEPINTVL), 5);
	ck_assert_int_eq(option_of(fd, IPPROTO_TCP, TCP_KEEPCNT), 4);
	ck_assert_int_eq(option_of(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 60000);
	close(fd);
	ck_assert_int_lt(upstream_socket_setup(fd), 0);
}
END_TEST

/* --- the log --- */

static int log_fd;
static int stderr_kept;

static void log_catch(void)
{
	log_set_level(LOG_LEVEL_INFO);
	log_fd = memfd_create("log", 0);
	fflush(stderr);
	stderr_kept = dup(STDERR_FILENO);
	dup2(log_fd, STDERR_FILENO);
}

/* What was logged, with standard error as it was. */
static void log_caught(char *text, size_t size)
{
	ssize_t len;

	fflush(stderr);
	dup2(stderr_kept, STDERR_FILENO);
	close(stderr_kept);
	len = pread(log_fd, text, size - 1, 0);
	ck_assert_int_ge(len, 0);
	text[len] = '\0';
	close(log_fd);
}

static unsigned int count_of(const char *text, const char *part)
{
	unsigned int count = 0;

	while ((text = strstr(text, part)) != NULL) {
		count++;
		text += strlen(part);
	}
	return count;
}

static bool all_are_hung_up(struct bench *bench, void *arg)
{
	(void)arg;
	/* each of the four has tried to come back, and been refused, by then */
	return bench->stats.value[STAT_UPSTREAM_RECONNECTS] >= 4;
}

START_TEST(the_log_hears_of_the_upstream_not_of_its_connections)
{
	struct bench *bench = bench_new();
	char text[8192];
	struct sent *sent;
	unsigned int i;

	log_catch();
	bench->config.connections = 4;
	bench->peer->on_call = peer_answer;
	bench_start(bench);
	bench_until_conns(bench, 4);
	bench_run_ticks(bench);
	peer_stop_listening(bench->peer);
	for (i = 0; i < 4; i++)
		peer_hang_up(&bench->peer->conn[i]);
	bench->clock.now += 5 * SECONDS;
	for (i = 0; i < 3; i++)
		bench_run_ticks(bench);
	bench->clock.now += 7 * SECONDS;
	sent = send_getattr(bench, 1);
	peer_listen(bench->peer);
	bench_until_done(bench, 1);
	bench_until(bench, all_are_hung_up, NULL);
	log_caught(text, sizeof(text));
	ck_assert_msg(count_of(text, "\n") == 3, "%s", text);
	ck_assert_msg(count_of(text, "upstream bench: up at 127.0.0.1") == 1, "%s",
		      text);
	ck_assert_msg(count_of(text, "upstream bench: down: ") == 1, "%s", text);
	ck_assert_msg(count_of(text, "upstream bench: up again after 7.0 s") == 1, "%s",
		      text);
	sent_free(sent);
	bench_free(bench);
}
END_TEST

START_TEST(the_log_does_not_hear_of_idle_connections_closed)
{
	struct bench *bench = bench_new();
	char text[8192];

	log_catch();
	bench_start(bench);
	bench_until_conns(bench, 1);
	bench_run_ticks(bench);
	peer_hang_up(&bench->peer->conn[0]);
	bench_until_conns(bench, 2);
	log_caught(text, sizeof(text));
	ck_assert_msg(count_of(text, "\n") == 1, "%s", text); /* up */
	bench_free(bench);
}
END_TEST

START_TEST(the_log_hears_of_silence_once)
{
	struct bench *bench = bench_new();
	char text[8192];
	struct sent *sent[2];

	log_catch();
	bench_start(bench);
	sent[0] = send_getattr(bench, 1);
	bench_until_calls(bench, 1);
	peer_answer_getattr(&bench->peer->call[0]);
	bench_until_done(bench, 1);
	sent[1] = send_getattr(bench, 1);
	bench_until_calls(bench, 2);
	bench->clock.now += 15 * SECONDS;
	bench_until_calls(bench, 3);
	bench->clock.now += 29 * SECONDS;
	bench_run_ticks(bench);
	bench->clock.now += 1 * SECONDS;
	bench_run_ticks(bench);
	bench_run_ticks(bench);
	peer_answer_getattr(&bench->peer->call[1]);
	peer_reply(&bench->peer->call[2], "", 0);
	bench_until_done(bench, 2);
	log_caught(text, sizeof(text));
	ck_assert_msg(count_of(text, "\n") == 3, "%s", text);
	ck_assert_msg(count_of(text, "upstream bench: does not answer") == 1, "%s",
		      text);
	ck_assert_msg(count_of(text, "upstream bench: answers again") == 1, "%s", text);
	sent_free(sent[0]);
	sent_free(sent[1]);
	bench_free(bench);
}
END_TEST

START_TEST(outcomes_have_names)
{
	ck_assert_str_eq(upstream_outcome_name(UPSTREAM_ANSWERED), "answered");
	ck_assert_str_eq(upstream_outcome_name(UPSTREAM_CANCELLED), "upstream closed");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("upstream_conn");
	TCase *tcase = unit_case(suite, "conn");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, each_call_carries_its_credential_byte_for_byte);
	tcase_add_test(tcase, a_late_reply_alone_breaks_nothing);
	tcase_add_test(tcase, a_server_busy_for_90_seconds_is_not_dead);
	tcase_add_test(tcase, an_unanswered_null_breaks_the_connection);
	tcase_add_test(tcase, bytes_are_a_sign_of_life);
	tcase_add_test(tcase, mount_connects_when_asked_and_leaves_when_idle);
	tcase_add_test(tcase, mount_that_is_not_there_is_waited_for);
	tcase_add_test(tcase, socket_options);
	tcase_add_test(tcase, the_log_hears_of_the_upstream_not_of_its_connections);
	tcase_add_test(tcase, the_log_does_not_hear_of_idle_connections_closed);
	tcase_add_test(tcase, the_log_hears_of_silence_once);
	tcase_add_test(tcase, outcomes_have_names);
	return unit_run(suite);
}
