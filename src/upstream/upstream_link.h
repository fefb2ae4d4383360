/*
 * One libnfs context for one TCP connection, and its place in the event loop. A context
 * is never used for a second connection.
 */
#ifndef UPSTREAM_UPSTREAM_LINK_H
#define UPSTREAM_UPSTREAM_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "nfsgather/invariant.h"

struct event;
struct event_base;
struct rpc_context;

enum upstream_link_connected {
	UPSTREAM_LINK_CONNECTING,
	UPSTREAM_LINK_CONNECTED,
	UPSTREAM_LINK_REFUSED,
};

struct upstream_link {
	struct event_base *base;
	struct event *event;
	int fd;
	short watched;
	struct rpc_context *rpc; /* NULL: closed */
	enum upstream_link_connected connected;
	/* Callbacks of libnfs that run now come from tearing down and mean nothing. */
	bool closing;
	/* libnfs is on the stack: no call may be made, nor may the context go away. */
	bool servicing;
	char error[160]; /* why opening or servicing failed */
	/*
	 * After the context was serviced, from the event loop; `failed` says that the
	 * connection is of no more use. The owner then closes the link or calls
	 * upstream_link_watch(); it may free the link.
	 */
	void (*on_serviced)(void *arg, bool failed);
	void *arg;
};

/* 0 or -ENOMEM. */
MUST_CHECK int upstream_link_init(struct upstream_link *link, struct event_base *base,
				  void (*on_serviced)(void *arg, bool failed),
				  void *arg);
void upstream_link_fini(struct upstream_link *link);

/*
 * Starts connecting to a numeric address. 0, or -errno with link->error set and the
 * link closed. on_serviced() does not run inside.
 */
MUST_CHECK int upstream_link_open(struct upstream_link *link, const char *address,
				  uint16_t port);
/* Resets the connection. Not from inside a libnfs callback. */
void upstream_link_close(struct upstream_link *link);
/* Looks up descriptor and events anew; after each service and each call made. */
void upstream_link_watch(struct upstream_link *link);
/* Sends what the socket takes of what is queued. 0, or -EIO with link->error set. */
MUST_CHECK int upstream_link_flush(struct upstream_link *link);

#endif
