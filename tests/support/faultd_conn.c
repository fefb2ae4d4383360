/*
 * Connections: accepting, cutting records (RFC 5531 s11), sending replies.
 *
 * The hard case is a connection that ends while calls of it still wait or while its own
 * input is being worked on: it is counted, and lives closed until the last holder is
 * gone. Replies leave as one fragment. Does not promise fairness between connections.
 */
#include "faultd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { IN_STEP = 65536, LAST_FRAGMENT = 0x80 };

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

struct reply *reply_new(const uint8_t *bytes, size_t len)
{
	struct reply *r = malloc(sizeof(*r) + len);

	if (!r)
		abort();
	r->next = NULL;
	r->len = len;
	memcpy(r->bytes, bytes, len);
	return r;
}

void reply_add(struct reply_list *l, const uint8_t *bytes, size_t len)
{
	struct reply *r = reply_new(bytes, len);

	if (!l->first)
		l->tail = &l->first;
	*l->tail = r;
	l->tail = &r->next;
	l->n++;
}

static void reply_list_clear(struct reply_list *l)
{
	while (l->first) {
		struct reply *r = l->first;

		l->first = r->next;
		free(r);
	}
	l->n = 0;
}

struct conn *conn_ref(struct conn *c)
{
	c->refs++;
	return c;
}

void conn_unref(struct conn *c)
{
	if (--c->refs)
		return;
	reply_list_clear(&c->waiting);
	free(c->in);
	free(c->out);
	free(c);
}

struct conn *conn_find(struct faultd *f, uint64_t number)
{
	struct conn *c = f->conns;

	while (c && c->number != number)
		c = c->next;
	return c;
}

void conn_close(struct conn *c, bool reset)
{
	struct conn **at = &c->f->conns;
	uint8_t rest[4096];

	if (c->closed)
		return;
	c->closed = true;
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->f->n_conns--;
	event_free(c->readable);
	event_free(c->writable);
	if (reset) {
		struct linger now = { .l_onoff = 1, .l_linger = 0 };

		setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	} else {
		/* Unread input would turn the close into a reset. */
		for (int i = 0; i < 4096 && recv(c->fd, rest, sizeof(rest), 0) > 0; i++)
			;
	}
	close(c->fd);
	c->fd = -1;
	control_notify(c->f);
	conn_unref(c);
}

static void out_keep(struct conn *c, const uint8_t *bytes, size_t len)
{
	if (c->out_at == c->out_len)
		c->out_at = c->out_len = 0;
	if (c->out_len + len > c->out_cap) {
		c->out_cap = (c->out_len + len) * 2;
		c->out = realloc(c->out, c->out_cap);
		if (!c->out)
			abort();
	}
	memcpy(c->out + c->out_len, bytes, len);
	c->out_len += len;
	event_add(c->writable, NULL);
}

static void conn_send(struct conn *c, const uint8_t *bytes, size_t len)
{
	ssize_t sent = 0;

	if (c->closed || c->ends)
		return;
	if (c->out_at == c->out_len) {
		sent = send(c->fd, bytes, len, MSG_NOSIGNAL);
		if (sent < 0 && errno != EAGAIN && errno != EINTR) {
			conn_close(c, false);
			return;
		}
		sent = sent < 0 ? 0 : sent;
	}
	if ((size_t)sent < len)
		out_keep(c, bytes + sent, len - (size_t)sent);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;
	ssize_t sent =
		send(fd, c->out + c->out_at, c->out_len - c->out_at, MSG_NOSIGNAL);

	(void)what;
	if (sent < 0 && errno != EAGAIN && errno != EINTR) {
		conn_close(c, false);
		return;
	}
	if (sent > 0)
		c->out_at += (size_t)sent;
	if (c->out_at < c->out_len)
		event_add(c->writable, NULL);
	else if (c->ends)
		conn_close(c, false);
}

void conn_flush_waiting(struct conn *c, bool reversed)
{
	struct reply *r = c->waiting.first;
	struct reply *turned = NULL;

	conn_ref(c); /* sending may close */
	c->waiting = (struct reply_list){ 0 };
	while (reversed && r) {
		struct reply *next = r->next;

		r->next = turned;
		turned = r;
		r = next;
	}
	r = reversed ? turned : r;
	while (r) {
		struct reply *next = r->next;

		conn_send(c, r->bytes, r->len);
		free(r);
		r = next;
	}
	conn_unref(c);
}

void conn_reply(struct conn *c, const uint8_t *bytes, size_t len)
{
	if (c->closed)
		return;
	if (!c->stalled && c->f->reorder < 2) {
		conn_send(c, bytes, len);
		return;
	}
	reply_add(&c->waiting, bytes, len);
	if (!c->stalled && c->waiting.n >= c->f->reorder)
		conn_flush_waiting(c, true);
	control_notify(c->f);
}

void conn_reply_last(struct conn *c, const uint8_t *bytes, size_t len)
{
	conn_send(c, bytes, len);
	if (c->closed)
		return;
	if (c->out_at == c->out_len)
		conn_close(c, false);
	else
		c->ends = true;
}

void conn_close_all(struct faultd *f, bool flush)
{
	while (f->conns) {
		struct conn *c = conn_ref(f->conns);

		if (flush)
			conn_flush_waiting(c, false);
		conn_close(c, false);
		conn_unref(c);
	}
}

static uint32_t mark_at(const uint8_t *p)
{
	return (uint32_t)(p[0] & 0x7f) << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

static size_t record_max(const struct faultd *f)
{
	return (size_t)f->options.wtmax + IN_STEP;
}

/*
 * Handles whole fragments at the start of the input. Returns the number of bytes used.
 * joined > 0: that many bytes of earlier fragments stand before the next mark.
 */
static size_t conn_cut(struct conn *c, size_t at)
{
	const uint8_t *start = c->in + at;
	size_t left = c->in_len - at - c->joined;
	const uint8_t *mark = start + c->joined;
	size_t len, total;

	c->in_want = c->joined + 4;
	if (left < 4)
		return 0;
	len = mark_at(mark);
	total = c->joined + len;
	if (total > record_max(c->f)) {
		rpc_violation(c->f, "record of %zu bytes", total);
		conn_close(c, false);
		return 0;
	}
	c->in_want = total + 4;
	if (left < 4 + len)
		return 0;
	if (mark[0] & LAST_FRAGMENT) {
		size_t skip = c->joined ? 0 : 4;

		if (!skip)
			memmove(c->in + at + c->joined, mark + 4, len);
		c->joined = 0;
		c->in_want = 0;
		c->calls++;
		rpc_receive(c, c->in + at + skip, total);
		return total + 4;
	}
	memmove(c->in + at + c->joined, mark + 4,
		c->in_len - (size_t)(mark + 4 - c->in));
	c->in_len -= 4;
	c->joined = total;
	return 0;
}

/* Cuts until nothing whole is left, and moves the rest to the front. */
static void conn_cut_all(struct conn *c)
{
	size_t at = 0;

	while (!c->closed) {
		size_t before = c->in_len;
		size_t used = conn_cut(c, at);

		at += used;
		if (!used && c->in_len == before)
			break;
	}
	if (c->closed || !at)
		return;
	memmove(c->in, c->in + at, c->in_len - at);
	c->in_len -= at;
}

/* Reads only to the end of a large record, so that the next one starts at the front. */
static size_t conn_room(struct conn *c)
{
	size_t want = c->in_want > c->in_len ? c->in_want - c->in_len : 0;

	if (want < IN_STEP)
		want = IN_STEP;
	if (c->in_len + want > c->in_cap) {
		c->in_cap = c->in_len + want;
		c->in = realloc(c->in, c->in_cap);
		if (!c->in)
			abort();
	}
	return want;
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = conn_ref(arg);

	(void)what;
	for (int turn = 0; turn < 8 && !c->closed && !c->f->deaf; turn++) {
		size_t room = conn_room(c);
		ssize_t got = recv(fd, c->in + c->in_len, room, 0);

		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (got <= 0) {
			conn_close(c, false);
			break;
		}
		c->in_len += (size_t)got;
		conn_cut_all(c);
		if ((size_t)got < room)
			break;
	}
	conn_unref(c);
}

static void conn_name_peer(struct conn *c, const union address *a)
{
	if (a->any.sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &a->v6.sin6_addr, c->host, sizeof(c->host));
		c->port = ntohs(a->v6.sin6_port);
	} else {
		inet_ntop(AF_INET, &a->v4.sin_addr, c->host, sizeof(c->host));
		c->port = ntohs(a->v4.sin_port);
	}
}

static void on_accept(evutil_socket_t fd, short what, void *arg)
{
	struct faultd *f = arg;
	union address peer;
	socklen_t len = sizeof(peer);
	int one = 1;
	int s = accept4(fd, &peer.any, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct conn *c;

	(void)what;
	if (s < 0)
		return;
	c = calloc(1, sizeof(*c));
	if (!c)
		abort();
	setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	c->f = f;
	c->fd = s;
	c->number = ++f->next_conn;
	c->refs = 1;
	conn_name_peer(c, &peer);
	c->readable = event_new(f->base, s, EV_READ | EV_PERSIST, on_readable, c);
	c->writable = event_new(f->base, s, EV_WRITE, on_writable, c);
	if (!c->readable || !c->writable)
		abort();
	c->next = f->conns;
	f->conns = c;
	f->n_conns++;
	f->stats.accepted++;
	if (!f->deaf)
		event_add(c->readable, NULL);
	control_notify(f);
}

void conn_set_deaf(struct faultd *f)
{
	for (struct conn *c = f->conns; c; c = c->next) {
		if (f->deaf)
			event_del(c->readable);
		else
			event_add(c->readable, NULL);
	}
}

static int bind_address(const struct faultd *f, union address *a, socklen_t *len)
{
	*a = (union address){ 0 };
	if (inet_pton(AF_INET, f->options.bind_address, &a->v4.sin_addr) == 1) {
		a->v4.sin_family = AF_INET;
		a->v4.sin_port = htons(f->port);
		*len = sizeof(a->v4);
		return 0;
	}
	if (inet_pton(AF_INET6, f->options.bind_address, &a->v6.sin6_addr) == 1) {
		a->v6.sin6_family = AF_INET6;
		a->v6.sin6_port = htons(f->port);
		*len = sizeof(a->v6);
		return 0;
	}
	return -EINVAL;
}

int conn_listen(struct faultd *f)
{
	union address a;
	socklen_t len;
	int one = 1;
	int fd;

	if (f->listen_fd >= 0)
		return 0;
	if (bind_address(f, &a, &len))
		return -EINVAL;
	fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, &a.any, len) || listen(fd, 128) || getsockname(fd, &a.any, &len)) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	f->port = ntohs(a.any.sa_family == AF_INET6 ? a.v6.sin6_port : a.v4.sin_port);
	f->listen_fd = fd;
	f->listener = event_new(f->base, fd, EV_READ | EV_PERSIST, on_accept, f);
	if (!f->listener)
		abort();
	event_add(f->listener, NULL);
	return 0;
}

void conn_refuse(struct faultd *f)
{
	if (f->listen_fd < 0)
		return;
	event_free(f->listener);
	f->listener = NULL;
	close(f->listen_fd);
	f->listen_fd = -1;
}
