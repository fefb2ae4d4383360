/*
 * The event loop of the process.
 */
#ifndef DAEMON_LOOP_H
#define DAEMON_LOOP_H

#include "nfsgather/invariant.h"

struct event_base;
struct evdns_base;

/* What libevent has to say goes to the log. NULL when it cannot be made. */
struct event_base *loop_new(void);
void loop_free(struct event_base *base);
/* Until loop_stop(). 0, or -EIO when the loop itself failed. */
MUST_CHECK int loop_run(struct event_base *base);
/* loop_run() returns after the events that are ready now. */
void loop_stop(struct event_base *base);

struct loop_timer;
/* fn(arg) each `every_ms`, first after that time. NULL when memory is short. */
struct loop_timer *loop_timer_new(struct event_base *base, unsigned int every_ms,
				  void (*fn)(void *arg), void *arg);
/* NULL is allowed. */
void loop_timer_free(struct loop_timer *timer);

/* Looks names up without blocking, by resolv.conf and hosts. NULL when memory is short. */
struct evdns_base *loop_dns_new(struct event_base *base);
/* NULL is allowed. Look-ups in progress are told so. */
void loop_dns_free(struct evdns_base *dns);

#endif
