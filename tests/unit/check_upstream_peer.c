/*
 * The scripted server of the upstream's tests.
 *
 * The hard case: peer and upstream share one thread and one loop, so nothing here may
 * wait; replies are small enough for the socket buffer or the test fails.
 */
#include "unit/check_upstream_peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unit/unit.h"
#include "wire/rpc_msg.h"

static void conn_drop(struct peer_conn *conn)
{
	if (conn->fd < 0)
		return;
	event_free(conn->event);
	conn->event = NULL;
	close(conn->fd);
	conn->fd = -1;
}

static void conn_on_record(struct peer_conn *conn, const uint8_t *bytes, size_t len)
{
	struct peer *peer = conn->peer;
	struct peer_call *call = &peer->call[peer->call_count];
	struct nfs3_bytes cred;
	struct xdr_in in;

	ck_assert_uint_lt(peer->call_count, PEER_CALLS_MAX);
	peer->call_count++;
	call->conn = conn;
	call->record = malloc(len);
	memcpy(call->record, bytes, len);
	xdr_in_init(&in, call->record, len);
	call->xid = xdr_in_u32(&in);
	ck_assert_uint_eq(xdr_in_u32(&in), 0); /* a call */
	ck_assert_uint_eq(xdr_in_u32(&in), 2); /* of RPC version 2 */
	call->program = xdr_in_u32(&in);
	call->version = xdr_in_u32(&in);
	call->proc = xdr_in_u32(&in);
	call->flavor = xdr_in_u32(&in);
	cred = xdr_in_bytes(&in, RPC_AUTH_BODY_MAX_BYTES);
	call->cred = cred.data;
	call->cred_len = cred.len;
	ck_assert_uint_eq(xdr_in_u32(&in), 0); /* verifier: none */
	ck_assert_uint_eq(xdr_in_u32(&in), 0);
	ck_assert(xdr_in_ok(&in));
	call->args = in.at;
	call->args_len = xdr_in_left_bytes(&in);
	if (peer->on_call != NULL)
		peer->on_call(peer, call, peer->arg);
}

static void conn_take_records(struct peer_conn *conn)
{
	size_t at = 0;

	while (conn->in_len - at >= 4) {
		uint32_t mark;
		size_t len;

		memcpy(&mark, conn->in + at, 4);
		mark = ntohl(mark);
		ck_assert(mark & 0x80000000u);
		len = mark & 0x7fffffffu;
		if (conn->in_len - at - 4 < len)
			break;
		conn_on_record(conn, conn->in + at + 4, len);
		at += 4 + len;
	}
	memmove(conn->in, conn->in + at, conn->in_len - at);
	conn->in_len -= at;
}

static void conn_on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct peer_conn *conn = arg;
	ssize_t got;

	(void)what;
	if (conn->in_room - conn->in_len < 65536) {
		conn->in_room = conn->in_room * 2 + 65536;
		conn->in = realloc(conn->in, conn->in_room);
	}
	got = recv(fd, conn->in + conn->in_len, conn->in_room - conn->in_len, 0);
	if (got < 0 && errno == EAGAIN)
		return;
	if (got <= 0) {
		conn->was_reset = got < 0 && errno == ECONNRESET;
		conn_drop(conn);
		return;
	}
	conn->in_len += (size_t)got;
	conn_take_records(conn);
}

static void peer_on_connection(evutil_socket_t fd, short what, void *arg)
{
	struct peer *peer = arg;
	struct peer_conn *conn = &peer->conn[peer->conn_count];

	(void)what;
	ck_assert_uint_lt(peer->conn_count, PEER_CONNS_MAX);
	conn->fd = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (conn->fd < 0)
		return;
	conn->peer = peer;
	conn->number = peer->conn_count++;
	conn->event = event_new(peer->base, conn->fd, EV_READ | EV_PERSIST,
				conn_on_readable, conn);
	event_add(conn->event, NULL);
}

void peer_listen(struct peer *peer)
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
				   .sin6_port = htons(peer->port),
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr_in v4 = { .sin_family = AF_INET,
				  .sin_port = htons(peer->port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	bool ipv6 = peer->family == AF_INET6;
	struct sockaddr *addr = ipv6 ? (void *)&v6 : (void *)&v4;
	socklen_t len = ipv6 ? sizeof(v6) : sizeof(v4);
	int on = 1;

	peer->listen_fd =
		socket(peer->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	setsockopt(peer->listen_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	ck_assert_int_eq(bind(peer->listen_fd, addr, len), 0);
	ck_assert_int_eq(listen(peer->listen_fd, 32), 0);
	ck_assert_int_eq(getsockname(peer->listen_fd, addr, &len), 0);
	peer->port = ntohs(ipv6 ? v6.sin6_port : v4.sin_port);
	peer->listen_event = event_new(peer->base, peer->listen_fd,
				       EV_READ | EV_PERSIST, peer_on_connection, peer);
	event_add(peer->listen_event, NULL);
}

void peer_stop_listening(struct peer *peer)
{
	if (peer->listen_event == NULL)
		return;
	event_free(peer->listen_event);
	peer->listen_event = NULL;
	close(peer->listen_fd);
}

struct peer *peer_new(struct event_base *base, int family)
{
	struct peer *peer = calloc(1, sizeof(*peer));

	peer->base = base;
	peer->family = family;
	peer_listen(peer);
	return peer;
}

void peer_free(struct peer *peer)
{
	unsigned int i;

	peer_stop_listening(peer);
	for (i = 0; i < peer->conn_count; i++) {
		conn_drop(&peer->conn[i]);
		free(peer->conn[i].in);
	}
	for (i = 0; i < peer->call_count; i++)
		free(peer->call[i].record);
	free(peer);
}

void peer_hang_up(struct peer_conn *conn)
{
	conn_drop(conn);
}

void peer_send(struct peer_conn *conn, const void *bytes, size_t len_bytes)
{
	ck_assert_int_eq(send(conn->fd, bytes, len_bytes, MSG_NOSIGNAL),
			 (ssize_t)len_bytes);
}

static size_t record_finish(struct xdr_out *out, uint8_t *record)
{
	uint32_t mark = htonl(0x80000000u | (uint32_t)(xdr_out_len_bytes(out) - 4));

	ck_assert(xdr_out_ok(out));
	memcpy(record, &mark, 4);
	return xdr_out_len_bytes(out);
}

size_t peer_make_reply(uint8_t *record, size_t room_bytes, uint32_t xid,
		       uint32_t accept, const void *results, size_t len_bytes)
{
	struct xdr_out out;

	xdr_out_init(&out, record, room_bytes);
	xdr_out_u32(&out, 0); /* mark, below */
	xdr_out_u32(&out, xid);
	xdr_out_u32(&out, 1); /* reply */
	xdr_out_u32(&out, 0); /* accepted */
	xdr_out_u32(&out, 0); /* no verifier */
	xdr_out_u32(&out, 0);
	xdr_out_u32(&out, accept);
	if (accept == RPC_ACCEPT_PROG_MISMATCH) {
		xdr_out_u32(&out, 2);
		xdr_out_u32(&out, 4);
	}
	xdr_out_fixed(&out, results, (uint32_t)len_bytes);
	return record_finish(&out, record);
}

void peer_reply(const struct peer_call *call, const void *results, size_t len_bytes)
{
	size_t room = len_bytes + 64;
	uint8_t *record = malloc(room);
	size_t len = peer_make_reply(record, room, call->xid, RPC_ACCEPT_SUCCESS,
				     results, len_bytes);

	peer_send(call->conn, record, len);
	free(record);
}

void peer_refuse(const struct peer_call *call, uint32_t accept)
{
	uint8_t record[64];
	size_t len = peer_make_reply(record, sizeof(record), call->xid, accept, "", 0);

	peer_send(call->conn, record, len);
}

void peer_deny(const struct peer_call *call)
{
	uint8_t record[64];
	struct xdr_out out;

	xdr_out_init(&out, record, sizeof(record));
	xdr_out_u32(&out, 0);
	xdr_out_u32(&out, call->xid);
	xdr_out_u32(&out, 1);
	xdr_out_u32(&out, 1); /* denied */
	xdr_out_u32(&out, 1); /* for its credential */
	xdr_out_u32(&out, RPC_AUTH_TOOWEAK);
	peer_send(call->conn, record, record_finish(&out, record));
}

void peer_answer_getattr(const struct peer_call *call)
{
	struct bytes results = { .len = 0 };

	put_u32(&results, NFS3_OK);
	put_attr(&results, NFS3_REG, 1, 100, 0);
	peer_reply(call, results.data, results.len);
}

void peer_answer(struct peer *peer, struct peer_call *call, void *arg)
{
	(void)peer;
	(void)arg;
	if (call->proc == 0)
		peer_reply(call, "", 0);
	else
		peer_answer_getattr(call);
}

void peer_answer_by_number(struct peer *peer, struct peer_call *call, void *arg)
{
	struct bytes results;

	(void)peer;
	(void)arg;
	put_getattr_ok(&results, call->args[4]);
	peer_reply(call, results.data, results.len);
}
