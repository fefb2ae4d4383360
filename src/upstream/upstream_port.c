/*
 * Port lookup over the portmapper protocol (RFC 1833): version 2 first for IPv4,
 * version 3 first for IPv6 (version 2 knows only IPv4), the other one if the first
 * finds nothing.
 *
 * The hard case: each answer comes on a context that cannot be used from inside libnfs'
 * callback, so the callback only notes the answer and the next step is taken after it.
 */
#include "upstream/upstream_port.h"

#include <event2/event.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "upstream/libnfs_raw.h"
#include "upstream/upstream_link.h"

struct upstream_port_query {
	struct upstream_link link;
	struct event *later; /* brings a failure of the very first step */
	uint32_t program;
	uint32_t version;
	bool ipv6;
	unsigned int asked; /* questions sent, of two */
	bool answered;	    /* the last one has its answer */
	uint16_t port;
	char why[192];
	void (*done)(void *arg, uint16_t port, const char *why);
	void *arg;
};

/* Reads ".N", N at most 255, backwards from *end; moves *end to the dot. */
static bool uaddr_byte(const char *uaddr, const char **end, unsigned int *byte)
{
	const char *at = *end;
	unsigned int place = 1;

	*byte = 0;
	while (at > uaddr && at[-1] >= '0' && at[-1] <= '9' && place <= 100) {
		*byte += (unsigned int)(*--at - '0') * place;
		place *= 10;
	}
	if (at == *end || at == uaddr || at[-1] != '.' || *byte > 255)
		return false;
	*end = at - 1;
	return true;
}

uint16_t upstream_port_of_uaddr(const char *uaddr)
{
	const char *end = uaddr + strlen(uaddr);
	unsigned int high;
	unsigned int low;

	if (!uaddr_byte(uaddr, &end, &low) || !uaddr_byte(uaddr, &end, &high))
		return 0;
	return (uint16_t)(high << 8 | low);
}

static void port_free(struct upstream_port_query *query)
{
	upstream_link_fini(&query->link);
	if (query->later != NULL)
		event_free(query->later);
	free(query);
}

static void port_finish(struct upstream_port_query *query)
{
	query->done(query->arg, query->port, query->why);
	port_free(query);
}

static void port_on_later(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	port_finish(arg);
}

static void port_note(struct upstream_port_query *query, int status, const void *data)
{
	query->answered = true;
	if (status == RPC_STATUS_ERROR && data != NULL)
		snprintf(query->why, sizeof(query->why), "rpcbind: %.160s",
			 (const char *)data);
}

static void port_on_getport(struct rpc_context *rpc, int status, void *data, void *arg)
{
	struct upstream_port_query *query = arg;
	uint32_t port;

	(void)rpc;
	if (query->link.closing)
		return;
	port_note(query, status, data);
	if (status != RPC_STATUS_SUCCESS)
		return;
	port = *(const uint32_t *)data;
	if (port <= UINT16_MAX)
		query->port = (uint16_t)port;
}

static void port_on_getaddr(struct rpc_context *rpc, int status, void *data, void *arg)
{
	struct upstream_port_query *query = arg;
	const struct pmap3_string_result *result = data;

	(void)rpc;
	if (query->link.closing)
		return;
	port_note(query, status, data);
	if (status == RPC_STATUS_SUCCESS && result->addr != NULL)
		query->port = upstream_port_of_uaddr(result->addr);
}

static int port_send(struct upstream_port_query *query)
{
	bool version_3 = query->ipv6 == (query->asked == 0);
	static char tcp[] = "tcp";
	static char tcp6[] = "tcp6";
	static char empty[] = "";
	struct pmap3_mapping mapping = { .prog = query->program,
					 .vers = query->version,
					 .netid = query->ipv6 ? tcp6 : tcp,
					 .addr = empty,
					 .owner = empty };

	query->asked++;
	query->answered = false;
	if (version_3)
		return rpc_pmap3_getaddr_async(query->link.rpc, &mapping,
					       port_on_getaddr, query);
	return rpc_pmap2_getport_async(query->link.rpc, (int)query->program,
				       (int)query->version, IPPROTO_TCP,
				       port_on_getport, query);
}

static void port_on_serviced(void *arg, bool failed)
{
	struct upstream_port_query *query = arg;

	if (query->port != 0) {
		port_finish(query);
		return;
	}
	if (failed || query->link.connected == UPSTREAM_LINK_REFUSED) {
		snprintf(query->why, sizeof(query->why), "rpcbind: %s",
			 query->link.error);
		port_finish(query);
		return;
	}
	if (query->link.connected == UPSTREAM_LINK_CONNECTED &&
	    (query->asked == 0 || query->answered)) {
		if (query->asked == 2 || port_send(query) != 0) {
			port_finish(query);
			return;
		}
	}
	upstream_link_watch(&query->link);
}

struct upstream_port_query *
upstream_port_ask(struct event_base *base, const char *address, uint16_t rpcbind_port,
		  uint32_t program, uint32_t version,
		  void (*done)(void *arg, uint16_t port, const char *why), void *arg)
{
	struct upstream_port_query *query = calloc(1, sizeof(*query));

	if (query == NULL)
		return NULL;
	query->program = program;
	query->version = version;
	query->ipv6 = strchr(address, ':') != NULL;
	query->done = done;
	query->arg = arg;
	snprintf(query->why, sizeof(query->why),
		 "rpcbind knows no program %u version %u over TCP", program, version);
	query->later = evtimer_new(base, port_on_later, query);
	if (upstream_link_init(&query->link, base, port_on_serviced, query) != 0 ||
	    query->later == NULL) {
		port_free(query);
		return NULL;
	}
	if (upstream_link_open(&query->link, address, rpcbind_port) != 0) {
		snprintf(query->why, sizeof(query->why), "rpcbind: %s",
			 query->link.error);
		event_active(query->later, EV_TIMEOUT, 0);
	}
	return query;
}

void upstream_port_cancel(struct upstream_port_query *query)
{
	if (query != NULL)
		port_free(query);
}
