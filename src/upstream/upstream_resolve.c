/*
 * Host names through evdns, numeric addresses directly.
 *
 * The hard case: a cancelled evdns lookup still calls back later, so its memory
 * outlives the cancel and is freed by that last callback. IPv6 scope ids are not
 * supported: libnfs would drop them.
 */
#include "upstream/upstream_resolve.h"

#include <arpa/inet.h>
#include <event2/dns.h>
#include <event2/event.h>
#include <event2/util.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct upstream_resolve {
	struct event *later; /* takes the answer out of whatever call brought it */
	struct evdns_getaddrinfo_request *lookup; /* NULL: not under way */
	bool cancelled;
	struct upstream_addresses addresses;
	const char *why;
	void (*done)(void *arg, const struct upstream_addresses *addresses,
		     const char *why);
	void *arg;
};

static void resolve_free(struct upstream_resolve *resolve)
{
	if (resolve->later != NULL)
		event_free(resolve->later);
	free(resolve);
}

static void resolve_on_later(evutil_socket_t fd, short what, void *arg)
{
	struct upstream_resolve *resolve = arg;

	(void)fd;
	(void)what;
	resolve->done(resolve->arg, &resolve->addresses, resolve->why);
	resolve_free(resolve);
}

static void addresses_add(struct upstream_addresses *addresses, int family,
			  const void *bytes)
{
	char text[INET6_ADDRSTRLEN];
	unsigned int i;

	if (addresses->count == UPSTREAM_ADDRESSES_MAX ||
	    inet_ntop(family, bytes, text, sizeof(text)) == NULL)
		return;
	for (i = 0; i < addresses->count; i++)
		if (strcmp(addresses->text[i], text) == 0)
			return;
	memcpy(addresses->text[addresses->count++], text, sizeof(text));
}

static bool resolve_numeric(struct upstream_addresses *addresses, const char *server)
{
	struct in_addr v4;
	struct in6_addr v6;

	if (inet_pton(AF_INET, server, &v4) == 1)
		addresses_add(addresses, AF_INET, &v4);
	else if (inet_pton(AF_INET6, server, &v6) == 1)
		addresses_add(addresses, AF_INET6, &v6);
	return addresses->count > 0;
}

static void resolve_on_answer(int result, struct evutil_addrinfo *answer, void *arg)
{
	struct upstream_resolve *resolve = arg;
	struct evutil_addrinfo *at;

	resolve->lookup = NULL;
	for (at = answer; result == 0 && at != NULL; at = at->ai_next) {
		if (at->ai_family == AF_INET)
			addresses_add(
				&resolve->addresses, AF_INET,
				&((struct sockaddr_in *)(void *)at->ai_addr)->sin_addr);
		else if (at->ai_family == AF_INET6)
			addresses_add(&resolve->addresses, AF_INET6,
				      &((struct sockaddr_in6 *)(void *)at->ai_addr)
					       ->sin6_addr);
	}
	if (answer != NULL)
		evutil_freeaddrinfo(answer);
	if (resolve->cancelled) {
		resolve_free(resolve);
		return;
	}
	if (resolve->addresses.count == 0)
		resolve->why = result != 0 ? evutil_gai_strerror(result)
					   : "the name has no address";
	event_active(resolve->later, EV_TIMEOUT, 0);
}

struct upstream_resolve *upstream_resolve_start(
	struct event_base *base, struct evdns_base *dns, const char *server,
	void (*done)(void *arg, const struct upstream_addresses *addresses,
		     const char *why),
	void *arg)
{
	struct upstream_resolve *resolve = calloc(1, sizeof(*resolve));
	struct evutil_addrinfo hints = { .ai_family = AF_UNSPEC,
					 .ai_socktype = SOCK_STREAM,
					 .ai_protocol = IPPROTO_TCP };

	if (resolve == NULL)
		return NULL;
	resolve->done = done;
	resolve->arg = arg;
	resolve->later = evtimer_new(base, resolve_on_later, resolve);
	if (resolve->later == NULL) {
		resolve_free(resolve);
		return NULL;
	}
	if (resolve_numeric(&resolve->addresses, server)) {
		event_active(resolve->later, EV_TIMEOUT, 0);
	} else if (dns == NULL) {
		resolve->why = "not a numeric address, and there is no resolver";
		event_active(resolve->later, EV_TIMEOUT, 0);
	} else {
		/* may call back before it returns; then it returns NULL */
		resolve->lookup = evdns_getaddrinfo(dns, server, NULL, &hints,
						    resolve_on_answer, resolve);
	}
	return resolve;
}

void upstream_resolve_cancel(struct upstream_resolve *resolve)
{
	if (resolve == NULL)
		return;
	if (resolve->lookup == NULL) {
		resolve_free(resolve);
		return;
	}
	resolve->cancelled = true;
	event_del(resolve->later);
	evdns_getaddrinfo_cancel(resolve->lookup);
}
