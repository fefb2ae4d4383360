/*
 * The real upstream: an NFS server behind libnfs raw RPC connections.
 */
#ifndef UPSTREAM_UPSTREAM_LIBNFS_H
#define UPSTREAM_UPSTREAM_LIBNFS_H

#include <stdint.h>

#include "nfsgather/clock.h"
#include "nfsgather/stats.h"
#include "nfsgather/upstream.h"

struct event_base;
struct evdns_base;

struct upstream_config {
	struct event_base *base;
	struct evdns_base *dns; /* NULL: only numeric addresses */
	const struct clock *clock;
	const char *name;
	const char *server; /* host name or numeric address */
	uint16_t port;	    /* 0: ask the upstream's rpcbind */
	uint16_t mount_port;
	/* 1..16; with more than one, the first carries no bulk */
	unsigned int connections;
	struct stats *stats; /* outlives the upstream */
};

/* Starts connecting; the upstream need not be there. NULL when memory is short. */
struct upstream *upstream_libnfs_new(const struct upstream_config *config);
/*
 * Completes every call held with UPSTREAM_CANCELLED and closes the connections (RST).
 * Not from inside done().
 */
void upstream_libnfs_free(struct upstream *upstream);

extern const struct upstream_ops upstream_libnfs_ops;

/* The largest reply record libnfs takes; READ counts must leave room in it. */
enum { UPSTREAM_READ_MAX_BYTES = 1024 * 1024 };

#endif
