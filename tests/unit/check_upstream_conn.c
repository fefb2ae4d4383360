/*
 * Connections: credentials on them, silence, the MOUNT connection, where they lead, and
 * what the log hears.
 */
#include <arpa/inet.h>
#include <event2/dns.h>
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
#include "upstream/upstream_port.h"
#include "upstream/upstream_socket.h"
#include "wire/rpc_msg.h"

#define SECONDS ((mono_us)1000 * 1000)

static void answer_getattr(const struct peer_call *call)
{
	struct bytes results = { .len = 0 };

	put_u32(&results, NFS3_OK);
	put_attr(&results, NFS3_REG, 1, 100, 0);
	peer_reply(call, results.data, results.len);
}

static void answer(struct peer *peer, struct peer_call *call, void *arg)
{
	(void)peer;
	(void)arg;
	if (call->proc == 0)
		peer_reply(call, "", 0);
	else
		answer_getattr(call);
}

/* Lets the upstream look at its silences `count` times. */
static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	++*(unsigned int *)arg;
}

static bool has_ticks(struct bench *bench, void *arg)
{
	(void)bench;
	return *(unsigned int *)arg >= 4;
}

static void run_ticks(struct bench *bench)
{
	const struct timeval every = { .tv_usec = 3000 };
	unsigned int ticks = 0;
	struct event *event = event_new(bench->base, -1, EV_PERSIST, on_tick, &ticks);

	event_add(event, &every);
	bench_until(bench, has_ticks, &ticks);
	event_free(event);
}

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
	static const unsigned int order[] = { 0, 0, 1, 2, 0, 3, 2, 2, 1 };
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
	/* and again on a new connection, which starts with none */
	peer_hang_up(&bench->peer->conn[0]);
	bench->peer->on_call = answer;
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
		run_ticks(bench);
		ck_assert_uint_eq(bench->peer->call_count, round);
		bench->clock.now += 2 * SECONDS;
		bench_until_calls(bench, round + 1);
		ck_assert_uint_eq(bench->peer->call[round].program, PROGRAM_NFS);
		ck_assert_uint_eq(bench->peer->call[round].proc, NFS3_PROC_NULL);
		peer_reply(&bench->peer->call[round], "", 0);
		run_ticks(bench);
	}
	ck_assert_uint_eq(bench->peer->conn_count, 1);
	answer_getattr(&bench->peer->call[0]);
	bench_until_done(bench, 1);
	ck_assert_uint_eq(sent->request.sent_count, 1);
	/* nothing out: nobody is asked */
	bench->clock.now += 100 * SECONDS;
	run_ticks(bench);
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
	run_ticks(bench);
	ck_assert_uint_eq(bench->peer->conn_count, 1);
	ck_assert_uint_eq(bench->peer->call_count, 2);
	answer_getattr(&bench->peer->call[0]);
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
	run_ticks(bench);
	ck_assert_uint_eq(bench->peer->conn_count, 1);
	bench->clock.now += 1 * SECONDS;
	bench->peer->on_call = answer;
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
		run_ticks(bench);
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
	run_ticks(bench);
	ck_assert_uint_eq(bench->peer->conn_count, 1); /* NFS */
	sent[0] = send_umnt(bench);
	bench_until_calls(bench, 1);
	ck_assert_uint_eq(bench->peer->call[0].conn->number, 1);
	run_ticks(bench); /* longer than the idle time: a call is out */
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
	bench->peer->on_call = answer;
	bench_start(bench);
	sent = send_umnt(bench);
	run_ticks(bench);
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

/* --- where connections lead --- */

START_TEST(an_ipv6_address)
{
	struct bench *bench = bench_new();
	struct sent *sent;

	peer_free(bench->peer);
	bench->peer = peer_new(bench->base, AF_INET6);
	bench->peer->on_call = answer;
	bench->config.server = "::1";
	bench->config.port = bench->peer->port;
	bench_start(bench);
	sent = send_getattr(bench, 1);
	bench_until_done(bench, 1);
	sent_free(sent);
	bench_free(bench);
}
END_TEST

static void dns_add_hosts(struct evdns_base *dns, const char *hosts)
{
	int fd = memfd_create("hosts", 0);
	char path[32];

	ck_assert_int_eq(write(fd, hosts, strlen(hosts)), (ssize_t)strlen(hosts));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ck_assert_int_eq(evdns_base_load_hosts(dns, path), 0);
	close(fd);
}

START_TEST(a_name_leads_to_whichever_address_answers)
{
	struct bench *bench = bench_new();
	struct evdns_base *dns = evdns_base_new(bench->base, 0);
	struct sent *sent[2];

	/* nobody listens on 127.0.0.9 */
	dns_add_hosts(dns, "127.0.0.9 nas.test\n127.0.0.1 nas.test\n");
	bench->config.dns = dns;
	bench->config.server = "nas.test";
	bench->peer->on_call = answer;
	bench_start(bench);
	sent[0] = send_getattr(bench, 1);
	bench_until_done(bench, 1);
	/* the address that worked is the first choice from then on */
	peer_hang_up(&bench->peer->conn[0]);
	sent[1] = send_getattr(bench, 2);
	bench_until_done(bench, 2);
	sent_free(sent[0]);
	sent_free(sent[1]);
	upstream_libnfs_free(bench->upstream);
	bench->upstream = NULL;
	evdns_base_free(dns, 0);
	bench_free(bench);
}
END_TEST

/* A name server that never answers; *fd is the caller's to close. */
static struct evdns_base *dns_silent(struct bench *bench, int *fd)
{
	struct evdns_base *dns = evdns_base_new(bench->base, 0);
	struct sockaddr_in silent = { .sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(silent);
	char text[64];

	*fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	ck_assert_int_eq(bind(*fd, (void *)&silent, len), 0);
	ck_assert_int_eq(getsockname(*fd, (void *)&silent, &len), 0);
	snprintf(text, sizeof(text), "127.0.0.1:%u", ntohs(silent.sin_port));
	ck_assert_int_eq(evdns_base_nameserver_ip_add(dns, text), 0);
	return dns;
}

START_TEST(the_end_during_a_name_lookup)
{
	struct bench *bench = bench_new();
	int fd;
	struct evdns_base *dns = dns_silent(bench, &fd);
	struct sent *sent;

	bench->config.dns = dns;
	bench->config.server = "nas.test";
	bench_start(bench);
	sent = send_getattr(bench, 1);
	run_ticks(bench);
	upstream_libnfs_free(bench->upstream);
	bench->upstream = NULL;
	ck_assert_int_eq(sent->request.outcome, UPSTREAM_CANCELLED);
	run_ticks(bench); /* the lookup's last callback comes now */
	sent_free(sent);
	evdns_base_free(dns, 0);
	close(fd);
	bench_free(bench);
}
END_TEST

/* Several attempts, each given up when its time is over; then the name is known. */
START_TEST(a_lookup_that_takes_too_long_is_given_up)
{
	struct bench *bench = bench_new();
	int fd;
	struct evdns_base *dns = dns_silent(bench, &fd);
	struct sent *sent;

	bench->tuning.connect_timeout_ms = 10;
	bench->config.dns = dns;
	bench->config.server = "nas.test";
	bench->peer->on_call = answer;
	bench_start(bench);
	sent = send_getattr(bench, 1);
	run_ticks(bench);
	run_ticks(bench);
	ck_assert_uint_eq(bench->done_count, 0);
	dns_add_hosts(dns, "127.0.0.1 nas.test\n");
	bench_until_done(bench, 1);
	sent_free(sent);
	upstream_libnfs_free(bench->upstream);
	bench->upstream = NULL;
	run_ticks(bench);
	evdns_base_free(dns, 0);
	close(fd);
	bench_free(bench);
}
END_TEST

/* --- rpcbind --- */

struct rpcbind {
	uint16_t port;
	uint32_t lowest_version; /* answers from this version on, PROG_MISMATCH below */
	unsigned int denials;	 /* knows nothing that often first */
	unsigned int asked[5];	 /* by version */
};

static void play_rpcbind(struct peer *peer, struct peer_call *call, void *arg)
{
	struct rpcbind *rpcbind = arg;
	struct bytes results = { .len = 0 };
	struct xdr_in in;
	char uaddr[64];

	if (call->program != 100000) {
		answer(peer, call, NULL);
		return;
	}
	ck_assert_uint_eq(call->proc, 3); /* GETPORT, GETADDR */
	ck_assert_uint_le(call->version, 4);
	rpcbind->asked[call->version]++;
	if (call->version < rpcbind->lowest_version) {
		peer_refuse(call, RPC_ACCEPT_PROG_MISMATCH);
		return;
	}
	xdr_in_init(&in, call->args, call->args_len);
	ck_assert_uint_eq(xdr_in_u32(&in), PROGRAM_NFS);
	ck_assert_uint_eq(xdr_in_u32(&in), 3);
	if (call->version == 2) {
		ck_assert_uint_eq(xdr_in_u32(&in), IPPROTO_TCP);
		put_u32(&results, rpcbind->denials > 0 ? 0 : rpcbind->port);
	} else {
		struct nfs3_bytes netid = xdr_in_bytes(&in, 8);

		ck_assert_int_eq(memcmp(netid.data,
					peer->family == AF_INET6 ? "tcp6" : "tcp",
					netid.len),
				 0);
		snprintf(uaddr, sizeof(uaddr), "%s.%u.%u",
			 peer->family == AF_INET6 ? "::1" : "127.0.0.1",
			 rpcbind->port >> 8, rpcbind->port & 0xff);
		put_text(&results, rpcbind->denials > 0 ? "" : uaddr);
		if (rpcbind->denials > 0)
			rpcbind->denials--;
	}
	peer_reply(call, results.data, results.len);
}

/* Runs one GETATTR to a port that rpcbind knows. */
static void run_rpcbind(struct rpcbind *rpcbind, int family)
{
	struct bench *bench = bench_new();
	struct sent *sent;

	if (family == AF_INET6) {
		peer_free(bench->peer);
		bench->peer = peer_new(bench->base, family);
		bench->config.server = "::1";
	}
	rpcbind->port = bench->peer->port;
	bench->peer->on_call = play_rpcbind;
	bench->peer->arg = rpcbind;
	bench->tuning.rpcbind_port = bench->peer->port;
	bench->config.port = 0;
	bench_start(bench);
	sent = send_getattr(bench, 1);
	bench_until_done(bench, 1);
	ck_assert_int_eq(sent->request.outcome, UPSTREAM_ANSWERED);
	sent_free(sent);
	bench_free(bench);
}

START_TEST(the_port_is_asked_of_rpcbind)
{
	struct rpcbind ipv4 = { .lowest_version = 2 };
	struct rpcbind ipv6 = { .lowest_version = 2 };
	struct rpcbind only_3 = { .lowest_version = 3 };
	struct rpcbind late = { .lowest_version = 2, .denials = 2 };

	run_rpcbind(&ipv4, AF_INET);
	ck_assert_uint_eq(ipv4.asked[2], 1);
	ck_assert_uint_eq(ipv4.asked[3], 0);
	run_rpcbind(&ipv6, AF_INET6);
	ck_assert_uint_eq(ipv6.asked[2], 0);
	ck_assert_uint_eq(ipv6.asked[3], 1);
	run_rpcbind(&only_3, AF_INET);
	ck_assert_uint_eq(only_3.asked[2], 1);
	ck_assert_uint_eq(only_3.asked[3], 1);
	run_rpcbind(&late, AF_INET);
	ck_assert_uint_eq(late.asked[2], 3);
	ck_assert_uint_eq(late.asked[3], 2);
}
END_TEST

START_TEST(the_port_is_asked_again_for_every_connection)
{
	struct bench *bench = bench_new();
	struct peer *moved = peer_new(bench->base, AF_INET);
	struct rpcbind rpcbind = { .lowest_version = 2, .port = bench->peer->port };
	struct sent *sent;

	bench->peer->on_call = play_rpcbind;
	bench->peer->arg = &rpcbind;
	moved->on_call = answer;
	bench->tuning.rpcbind_port = bench->peer->port;
	bench->config.port = 0;
	bench_start(bench);
	sent = send_getattr(bench, 1);
	bench_until_done(bench, 1);
	sent_free(sent);
	rpcbind.port = moved->port;
	peer_hang_up(&bench->peer->conn[1]);
	sent = send_getattr(bench, 2);
	bench_until_done(bench, 2);
	ck_assert_uint_eq(moved->call_count, 1);
	ck_assert_uint_eq(rpcbind.asked[2], 2);
	sent_free(sent);
	upstream_libnfs_free(bench->upstream);
	bench->upstream = NULL;
	peer_free(moved);
	bench_free(bench);
}
END_TEST

START_TEST(universal_addresses)
{
	ck_assert_uint_eq(upstream_port_of_uaddr("192.0.2.1.8.1"), 2049);
	ck_assert_uint_eq(upstream_port_of_uaddr("::.0.111"), 111);
	ck_assert_uint_eq(upstream_port_of_uaddr("fe80::1.255.255"), 65535);
	ck_assert_uint_eq(upstream_port_of_uaddr(""), 0);
	ck_assert_uint_eq(upstream_port_of_uaddr("."), 0);
	ck_assert_uint_eq(upstream_port_of_uaddr("8.1"), 0);
	ck_assert_uint_eq(upstream_port_of_uaddr("::1.256.1"), 0);
	ck_assert_uint_eq(upstream_port_of_uaddr("::1.1.256"), 0);
	ck_assert_uint_eq(upstream_port_of_uaddr("::1.1.2x"), 0);
	ck_assert_uint_eq(upstream_port_of_uaddr("::1.-1.2"), 0);
	ck_assert_uint_eq(upstream_port_of_uaddr("/run/rpcbind.sock"), 0);
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
	bench->peer->on_call = answer;
	bench_start(bench);
	bench_until_conns(bench, 4);
	run_ticks(bench);
	peer_stop_listening(bench->peer);
	for (i = 0; i < 4; i++)
		peer_hang_up(&bench->peer->conn[i]);
	bench->clock.now += 5 * SECONDS;
	for (i = 0; i < 3; i++)
		run_ticks(bench);
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
	run_ticks(bench);
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
	answer_getattr(&bench->peer->call[0]);
	bench_until_done(bench, 1);
	sent[1] = send_getattr(bench, 1);
	bench_until_calls(bench, 2);
	bench->clock.now += 15 * SECONDS;
	bench_until_calls(bench, 3);
	bench->clock.now += 29 * SECONDS;
	run_ticks(bench);
	bench->clock.now += 1 * SECONDS;
	run_ticks(bench);
	run_ticks(bench);
	answer_getattr(&bench->peer->call[1]);
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
	tcase_add_test(tcase, an_ipv6_address);
	tcase_add_test(tcase, a_name_leads_to_whichever_address_answers);
	tcase_add_test(tcase, the_end_during_a_name_lookup);
	tcase_add_test(tcase, a_lookup_that_takes_too_long_is_given_up);
	tcase_add_test(tcase, the_port_is_asked_of_rpcbind);
	tcase_add_test(tcase, the_port_is_asked_again_for_every_connection);
	tcase_add_test(tcase, universal_addresses);
	tcase_add_test(tcase, socket_options);
	tcase_add_test(tcase, the_log_hears_of_the_upstream_not_of_its_connections);
	tcase_add_test(tcase, the_log_does_not_hear_of_idle_connections_closed);
	tcase_add_test(tcase, the_log_hears_of_silence_once);
	tcase_add_test(tcase, outcomes_have_names);
	return unit_run(suite);
}
