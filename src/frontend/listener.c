/*
 * Accepts client connections that the access rules allow, by address; what a connection
 * may do is checked again with each call.
 *
 * The hard case is running out of file descriptors: the connection stays in the queue
 * and the socket stays readable, which would spin. A spare descriptor is given up to
 * accept and close one connection, so that its client learns at once; then accepting
 * rests for a while.
 *
 * Does not limit connections per address.
 */
#include "listener.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "frontend_private.h"
#include "session.h"

enum { LISTENER_TURN_MAX = 32, LISTENER_REST_US = 200 * 1000 };

struct listener {
	struct listener_set *set;
	TAILQ_ENTRY(listener) link;
	int fd;
	struct event *event; /* pending unless it rests */
	struct event *rest;  /* timer that ends a rest */
};

struct listener_set {
	struct frontend *frontend;
	int spare_fd; /* -1: could not be opened again yet */
	struct log_limit limit;
	TAILQ_HEAD(, listener) listeners;
};

static int listener_open_spare(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

struct listener_set *listener_set_new(struct frontend *frontend)
{
	struct listener_set *set = calloc(1, sizeof(*set));

	if (!set)
		return NULL;
	set->frontend = frontend;
	set->spare_fd = listener_open_spare();
	TAILQ_INIT(&set->listeners);
	return set;
}

static void listener_free(struct listener *listener)
{
	if (listener->event)
		event_free(listener->event);
	if (listener->rest)
		event_free(listener->rest);
	free(listener);
}

void listener_stop_all(struct listener_set *set)
{
	struct listener *listener;

	while ((listener = TAILQ_FIRST(&set->listeners)) != NULL) {
		TAILQ_REMOVE(&set->listeners, listener, link);
		close(listener->fd);
		listener_free(listener);
	}
}

void listener_set_free(struct listener_set *set)
{
	if (!set)
		return;
	listener_stop_all(set);
	if (set->spare_fd >= 0)
		close(set->spare_fd);
	free(set);
}

static void listener_refuse(struct listener_set *set, int fd,
			    const struct sockaddr *addr, const char *why)
{
	struct frontend *frontend = set->frontend;
	char peer[PEER_TEXT_BYTES];

	close(fd);
	stats_count(frontend->stats, STAT_SESSIONS_REFUSED);
	if (!frontend_peer_may_log(frontend, addr))
		return;
	peer_text(peer, addr);
	log_warn("upstream %s: session %s refused: %s", frontend_name(frontend), peer,
		 why);
}

static void listener_take(struct listener_set *set, int fd, const struct sockaddr *addr,
			  socklen_t addr_bytes)
{
	struct frontend *frontend = set->frontend;
	const struct access_rule *rule = access_rules_find(&frontend->rules, addr);

	if (!rule)
		listener_refuse(set, fd, addr,
				"no rule of `clients` holds its address");
	else if (session_set_count(frontend->sessions) >= SESSION_LIMIT)
		listener_refuse(set, fd, addr, "too many sessions");
	else if (session_accept(frontend->sessions, fd, addr, addr_bytes, rule) < 0)
		listener_refuse(set, fd, addr, "out of memory");
}

static void listener_rest(struct listener *listener, int error)
{
	static const struct timeval rest = { .tv_usec = LISTENER_REST_US };
	struct listener_set *set = listener->set;
	int fd;

	if (log_limit_allows(&set->limit, clock_now(set->frontend->clock)))
		log_error("upstream %s: cannot accept connections for now: %s",
			  frontend_name(set->frontend), strerror(error));
	if (set->spare_fd >= 0) {
		close(set->spare_fd);
		fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0) {
			close(fd);
			stats_count(set->frontend->stats, STAT_SESSIONS_REFUSED);
		}
	}
	set->spare_fd = listener_open_spare();
	event_del(listener->event);
	evtimer_add(listener->rest, &rest);
}

static void listener_on_readable(evutil_socket_t listen_fd, short what, void *arg)
{
	struct listener *listener = arg;
	unsigned int left = LISTENER_TURN_MAX;

	(void)what;
	while (left-- > 0) {
		struct sockaddr_storage addr = { 0 };
		socklen_t addr_bytes = sizeof(addr);
		int fd = accept4(listen_fd, (void *)&addr, &addr_bytes,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			listener_take(listener->set, fd, (const void *)&addr,
				      addr_bytes);
		} else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			   errno == ENOMEM) {
			listener_rest(listener, errno);
			return;
		} else if (errno == EAGAIN) {
			return;
		}
		/* Anything else is the fault of one connection: try the next. */
	}
}

static void listener_on_rested(evutil_socket_t fd, short what, void *arg)
{
	struct listener *listener = arg;

	(void)fd;
	(void)what;
	if (listener->set->spare_fd < 0)
		listener->set->spare_fd = listener_open_spare();
	event_add(listener->event, NULL);
}

int listener_add(struct listener_set *set, int fd)
{
	struct event_base *base = set->frontend->base;
	struct listener *listener = calloc(1, sizeof(*listener));

	if (!listener)
		return -ENOMEM;
	listener->set = set;
	listener->fd = fd;
	listener->event = event_new(base, fd, EV_READ | EV_PERSIST,
				    listener_on_readable, listener);
	listener->rest = evtimer_new(base, listener_on_rested, listener);
	if (!listener->event || !listener->rest ||
	    event_add(listener->event, NULL) < 0) {
		listener_free(listener);
		return -ENOMEM;
	}
	TAILQ_INSERT_TAIL(&set->listeners, listener, link);
	return 0;
}
