/*
 * From the configured server to numeric addresses, without ever blocking the loop.
 */
#ifndef UPSTREAM_UPSTREAM_RESOLVE_H
#define UPSTREAM_UPSTREAM_RESOLVE_H

#include <netinet/in.h>

struct event_base;
struct evdns_base;

enum { UPSTREAM_ADDRESSES_MAX = 8 };

struct upstream_addresses {
	unsigned int count;
	char text[UPSTREAM_ADDRESSES_MAX][INET6_ADDRSTRLEN];
};

struct upstream_resolve;

/*
 * Starts resolving; NULL when memory is short. done() runs once, from the loop, never
 * inside start, unless cancelled: with addresses, or with none and the reason in `why`.
 * The resolve is gone when done() returns. `dns` NULL: only numeric addresses.
 */
struct upstream_resolve *upstream_resolve_start(
	struct event_base *base, struct evdns_base *dns, const char *server,
	void (*done)(void *arg, const struct upstream_addresses *addresses,
		     const char *why),
	void *arg);
void upstream_resolve_cancel(struct upstream_resolve *resolve);

#endif
