/*
 * Makes the event loop, and timers and the resolver on it.
 *
 * The hard case: a host without a usable resolv.conf. The resolver is made nevertheless
 * (it then asks this host), since names may still be in the hosts file. resolv.conf is
 * read once, at start.
 */
#include "daemon/loop.h"

#include <errno.h>
#include <event2/dns.h>
#include <event2/event.h>
#include <stdlib.h>

#include "nfsgather/log.h"

static void loop_on_libevent_message(int severity, const char *message)
{
	if (severity == EVENT_LOG_DEBUG)
		log_debug("libevent: %s", message);
	else
		log_warn("libevent: %s", message);
}

struct event_base *loop_new(void)
{
	event_set_log_callback(loop_on_libevent_message);
	return event_base_new();
}

void loop_free(struct event_base *base)
{
	if (base == NULL)
		return;
	event_base_free(base);
	libevent_global_shutdown();
}

int loop_run(struct event_base *base)
{
	return event_base_dispatch(base) == 0 ? 0 : -EIO;
}

void loop_stop(struct event_base *base)
{
	event_base_loopexit(base, NULL);
}

struct loop_timer {
	struct event *event;
	void (*fn)(void *arg);
	void *arg;
};

static void loop_timer_on_event(evutil_socket_t fd, short what, void *opaque)
{
	const struct loop_timer *timer = opaque;

	(void)fd;
	(void)what;
	timer->fn(timer->arg);
}

struct loop_timer *loop_timer_new(struct event_base *base, unsigned int every_ms,
				  void (*fn)(void *arg), void *arg)
{
	const struct timeval every = { .tv_sec = every_ms / 1000,
				       .tv_usec =
					       (suseconds_t)(every_ms % 1000) * 1000 };
	struct loop_timer *timer = calloc(1, sizeof(*timer));

	if (timer == NULL)
		return NULL;
	timer->fn = fn;
	timer->arg = arg;
	timer->event = event_new(base, -1, EV_PERSIST, loop_timer_on_event, timer);
	if (timer->event != NULL && event_add(timer->event, &every) == 0)
		return timer;
	loop_timer_free(timer);
	return NULL;
}

void loop_timer_free(struct loop_timer *timer)
{
	if (timer == NULL)
		return;
	if (timer->event != NULL)
		event_free(timer->event);
	free(timer);
}

struct evdns_base *loop_dns_new(struct event_base *base)
{
	struct evdns_base *dns = evdns_base_new(base, EVDNS_BASE_DISABLE_WHEN_INACTIVE);

	if (dns == NULL)
		return NULL;
	/* 0 is success; the rest is about a file missing or with nothing in it. */
	if (evdns_base_resolv_conf_parse(dns, DNS_OPTIONS_ALL, "/etc/resolv.conf") != 0)
		log_warn(
			"/etc/resolv.conf is of no use; asking a resolver on this host");
	return dns;
}

void loop_dns_free(struct evdns_base *dns)
{
	if (dns != NULL)
		evdns_base_free(dns, 1);
}
