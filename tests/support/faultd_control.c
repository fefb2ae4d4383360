/*
 * The control socket: lines in, one line out for each, and `wait`.
 *
 * The hard case is `wait`: the answer comes when the condition becomes true, later lines
 * of that connection stay unread until then, other connections go on.
 */
#include "faultd.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { WORDS_MAX = 16, WAIT_DEFAULT_MS = 30000 };

enum wait_kind {
	WAIT_NONE,
	WAIT_HELD,
	WAIT_CALLS,
	WAIT_STALLED,
	WAIT_CONNS,
	WAIT_ACCEPTED
};

struct control_peer {
	struct control *control;
	struct bufferevent *io;
	struct event *timeout;
	enum wait_kind wait;
	struct rule which; /* procedures of WAIT_HELD and WAIT_CALLS */
	uint64_t conn, want;
	struct control_peer *next;
};

struct control {
	struct faultd *f;
	int fd;
	struct event *acceptor;
	struct control_peer *peers;
};

static void peer_run(struct control_peer *p);

static uint64_t count_calls(const struct faultd *f, const struct rule *which)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < PROC_COUNT; i++) {
		if (which->mask & 1u << i)
			n += f->stats.calls[i];
	}
	return n;
}

static uint64_t wait_now(struct faultd *f, const struct control_peer *p)
{
	const struct conn *c;

	switch (p->wait) {
	case WAIT_HELD:
		return queue_count(f, &p->which);
	case WAIT_CALLS:
		return count_calls(f, &p->which);
	case WAIT_STALLED:
		c = conn_find(f, p->conn);
		return c ? c->waiting.n : 0;
	case WAIT_CONNS:
		return f->n_conns;
	case WAIT_ACCEPTED:
		return f->stats.accepted;
	case WAIT_NONE:
		break;
	}
	return 0;
}

/* Answers a wait whose condition holds. */
static bool wait_check(struct control_peer *p)
{
	uint64_t now = wait_now(p->control->f, p);

	if (p->wait == WAIT_NONE)
		return false;
	if (p->wait == WAIT_CONNS ? now != p->want : now < p->want)
		return false;
	p->wait = WAIT_NONE;
	event_del(p->timeout);
	evbuffer_add_printf(bufferevent_get_output(p->io), "ok %llu\n",
			    (unsigned long long)now);
	return true;
}

static void on_wait_timeout(evutil_socket_t fd, short what, void *arg)
{
	struct control_peer *p = arg;

	(void)fd;
	(void)what;
	evbuffer_add_printf(bufferevent_get_output(p->io), "error timeout at %llu\n",
			    (unsigned long long)wait_now(p->control->f, p));
	p->wait = WAIT_NONE;
	peer_run(p);
}

static int wait_parse(struct control_peer *p, char **w, int n)
{
	p->which = (struct rule){ .uid = -1 };
	if (n == 3 && !strcasecmp(w[0], "calls")) {
		p->wait = WAIT_CALLS;
		return rule_parse_procs(w[1], &p->which) ||
				       script_parse_number(w[2], &p->want)
			       ? -EINVAL
			       : 0;
	}
	if (n == 3 && !strcasecmp(w[0], "stalled")) {
		p->wait = WAIT_STALLED;
		return script_parse_number(w[1], &p->conn) ||
				       script_parse_number(w[2], &p->want)
			       ? -EINVAL
			       : 0;
	}
	if (n != 2 || script_parse_number(w[1], &p->want))
		return -EINVAL;
	if (!strcasecmp(w[0], "connections"))
		p->wait = WAIT_CONNS;
	else if (!strcasecmp(w[0], "accepted"))
		p->wait = WAIT_ACCEPTED;
	else
		p->wait = WAIT_HELD;
	return p->wait == WAIT_HELD ? rule_parse_procs(w[0], &p->which) : 0;
}

static void wait_start(struct control_peer *p, char **w, int n)
{
	uint64_t ms = WAIT_DEFAULT_MS;
	struct timeval tv;

	if (n > 1 && !strncmp(w[n - 1], "timeout=", 8)) {
		if (script_parse_number(w[n - 1] + 8, &ms))
			n = 0;
		n--;
	}
	if (wait_parse(p, w, n)) {
		p->wait = WAIT_NONE;
		evbuffer_add_printf(bufferevent_get_output(p->io), "error bad wait\n");
		return;
	}
	if (wait_check(p))
		return;
	tv = (struct timeval){ .tv_sec = (time_t)(ms / 1000),
			       .tv_usec = (suseconds_t)(ms % 1000 * 1000) };
	event_add(p->timeout, &tv);
}

void control_notify(struct faultd *f)
{
	for (struct control_peer *p = f->control ? f->control->peers : NULL; p;
	     p = p->next) {
		if (p->wait != WAIT_NONE && wait_check(p) &&
		    evbuffer_get_length(bufferevent_get_input(p->io)))
			bufferevent_trigger(p->io, EV_READ, BEV_TRIG_DEFER_CALLBACKS);
	}
}

static void peer_run_line(struct control_peer *p, char *line)
{
	struct evbuffer *out = bufferevent_get_output(p->io);
	char *words[WORDS_MAX], *rest = NULL;
	int n = 0;

	for (char *w = strtok_r(line, " \t\r", &rest); w && n < WORDS_MAX;
	     w = strtok_r(NULL, " \t\r", &rest))
		words[n++] = w;
	if (n && !strcasecmp(words[0], "wait")) {
		wait_start(p, words + 1, n - 1);
		return;
	}
	script_run(p->control->f, words, n, out);
	evbuffer_add(out, "\n", 1);
}

static void peer_run(struct control_peer *p)
{
	char *line;

	while (p->wait == WAIT_NONE) {
		line = evbuffer_readln(bufferevent_get_input(p->io), NULL,
				       EVBUFFER_EOL_LF);
		if (!line)
			break;
		peer_run_line(p, line);
		free(line);
	}
}

static void on_peer_read(struct bufferevent *io, void *arg)
{
	(void)io;
	peer_run(arg);
}

static void peer_free(struct control_peer *p)
{
	struct control_peer **at = &p->control->peers;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	bufferevent_free(p->io);
	event_free(p->timeout);
	free(p);
}

static void on_peer_event(struct bufferevent *io, short what, void *arg)
{
	(void)io;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
		peer_free(arg);
}

static void on_control_accept(evutil_socket_t fd, short what, void *arg)
{
	struct control *c = arg;
	int s = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct control_peer *p;

	(void)what;
	if (s < 0)
		return;
	p = calloc(1, sizeof(*p));
	if (!p)
		abort();
	p->control = c;
	p->io = bufferevent_socket_new(c->f->base, s, BEV_OPT_CLOSE_ON_FREE);
	p->timeout = evtimer_new(c->f->base, on_wait_timeout, p);
	if (!p->io || !p->timeout)
		abort();
	p->next = c->peers;
	c->peers = p;
	bufferevent_setcb(p->io, on_peer_read, NULL, on_peer_event, p);
	bufferevent_enable(p->io, EV_READ | EV_WRITE);
}

int control_start(struct faultd *f)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct control *c;
	size_t len;

	if (!f->options.control_path)
		return 0;
	len = strlen(f->options.control_path);
	if (len >= sizeof(a.sun_path))
		return -ENAMETOOLONG;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	f->control = c;
	c->f = f;
	memcpy(a.sun_path, f->options.control_path, len + 1);
	unlink(a.sun_path);
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || bind(c->fd, (struct sockaddr *)&a, sizeof(a)) ||
	    listen(c->fd, 16))
		return -errno;
	c->acceptor =
		event_new(f->base, c->fd, EV_READ | EV_PERSIST, on_control_accept, c);
	if (!c->acceptor)
		return -ENOMEM;
	return event_add(c->acceptor, NULL) ? -EIO : 0;
}

void control_stop(struct faultd *f)
{
	struct control *c = f->control;

	if (!c)
		return;
	while (c->peers)
		peer_free(c->peers);
	if (c->acceptor)
		event_free(c->acceptor);
	if (c->fd >= 0)
		close(c->fd);
	unlink(f->options.control_path);
	f->control = NULL;
	free(c);
}
