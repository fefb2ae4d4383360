/*
 * Where connections lead: IPv6, host names, ports known to rpcbind only.
 */
#include <arpa/inet.h>
#include <event2/dns.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unit/check_upstream_peer.h"
#include "unit/unit.h"
#include "upstream/upstream_port.h"
#include "wire/rpc_msg.h"

START_TEST(an_ipv6_address)
{
	struct bench *bench = bench_new();
	struct sent *sent;

	peer_free(bench->peer);
	bench->peer = peer_new(bench->base, AF_INET6);
	bench->peer->on_call = peer_answer;
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
	bench->peer->on_call = peer_answer;
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
	bench_run_ticks(bench);
	upstream_libnfs_free(bench->upstream);
	bench->upstream = NULL;
	ck_assert_int_eq(sent->request.outcome, UPSTREAM_CANCELLED);
	bench_run_ticks(bench); /* the lookup's last callback comes now */
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
	bench->peer->on_call = peer_answer;
	bench_start(bench);
	sent = send_getattr(bench, 1);
	bench_run_ticks(bench);
	bench_run_ticks(bench);
	ck_assert_uint_eq(bench->done_count, 0);
	dns_add_hosts(dns, "127.0.0.1 nas.test\n");
	bench_until_done(bench, 1);
	sent_free(sent);
	upstream_libnfs_free(bench->upstream);
	bench->upstream = NULL;
	bench_run_ticks(bench);
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
		peer_answer(peer, call, NULL);
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
	moved->on_call = peer_answer;
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

int main(void)
{
	Suite *suite = suite_create("upstream_address");
	TCase *tcase = unit_case(suite, "address");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, an_ipv6_address);
	tcase_add_test(tcase, a_name_leads_to_whichever_address_answers);
	tcase_add_test(tcase, the_end_during_a_name_lookup);
	tcase_add_test(tcase, a_lookup_that_takes_too_long_is_given_up);
	tcase_add_test(tcase, the_port_is_asked_of_rpcbind);
	tcase_add_test(tcase, the_port_is_asked_again_for_every_connection);
	tcase_add_test(tcase, universal_addresses);
	return unit_run(suite);
}
