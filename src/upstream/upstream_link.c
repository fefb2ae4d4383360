/*
 * A libnfs context under libevent.
 *
 * The hard case: libnfs calls back from inside rpc_service() and from inside
 * rpc_destroy_context(), where neither may a call be made nor the context go away. So
 * callbacks only take notes, and the owner acts in on_serviced(), after libnfs
 * returned. libnfs' own reconnecting is never on: it resumes a half-read reply at the
 * wrong byte.
 */
#include "upstream/upstream_link.h"

#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "upstream/libnfs_raw.h"
#include "upstream/upstream_socket.h"

static void link_service(struct upstream_link *link, int revents, bool *failed)
{
	int err;

	link->servicing = true;
	err = rpc_service(link->rpc, revents);
	link->servicing = false;
	*failed = err < 0 || rpc_get_fd(link->rpc) < 0;
	if (*failed) {
		const char *why = rpc_get_error(link->rpc);

		/* libnfs says nothing when the other side closed the connection */
		snprintf(link->error, sizeof(link->error), "%s",
			 why != NULL && why[0] != '\0' ? why
						       : "connection closed by peer");
	}
}

static void link_on_event(evutil_socket_t fd, short what, void *arg)
{
	struct upstream_link *link = arg;
	int revents = 0;
	bool failed;

	(void)fd;
	if (what & EV_READ)
		revents |= POLLIN;
	if (what & EV_WRITE)
		revents |= POLLOUT;
	link_service(link, revents, &failed);
	link->on_serviced(link->arg, failed);
}

static void link_on_connect(struct rpc_context *rpc, int status, void *data, void *arg)
{
	struct upstream_link *link = arg;

	(void)rpc;
	(void)data;
	if (link->closing)
		return;
	link->connected = status == RPC_STATUS_SUCCESS ? UPSTREAM_LINK_CONNECTED
						       : UPSTREAM_LINK_REFUSED;
}

int upstream_link_init(struct upstream_link *link, struct event_base *base,
		       void (*on_serviced)(void *arg, bool failed), void *arg)
{
	memset(link, 0, sizeof(*link));
	link->base = base;
	link->fd = -1;
	link->on_serviced = on_serviced;
	link->arg = arg;
	link->event = event_new(base, -1, 0, link_on_event, link);
	return link->event == NULL ? -ENOMEM : 0;
}

void upstream_link_fini(struct upstream_link *link)
{
	upstream_link_close(link);
	if (link->event != NULL)
		event_free(link->event);
	link->event = NULL;
}

int upstream_link_open(struct upstream_link *link, const char *address, uint16_t port)
{
	const char *why;
	int err = 0;

	INVARIANT(link->rpc == NULL);
	link->error[0] = '\0';
	link->connected = UPSTREAM_LINK_CONNECTING;
	link->rpc = rpc_init_context();
	if (link->rpc == NULL) {
		snprintf(link->error, sizeof(link->error), "out of memory");
		return -ENOMEM;
	}
	link->servicing = true;
	if (rpc_connect_async(link->rpc, address, port, link_on_connect, link) != 0) {
		why = rpc_get_error(link->rpc);
		snprintf(link->error, sizeof(link->error), "%s",
			 why != NULL ? why : "cannot connect");
		err = -ECONNREFUSED;
	}
	link->servicing = false;
	if (err == 0) {
		err = upstream_socket_setup(rpc_get_fd(link->rpc));
		if (err != 0)
			snprintf(link->error, sizeof(link->error), "socket options: %s",
				 strerror(-err));
	}
	if (err != 0) {
		upstream_link_close(link);
		return err;
	}
	upstream_link_watch(link);
	return 0;
}

void upstream_link_close(struct upstream_link *link)
{
	INVARIANT(!link->servicing);
	if (link->rpc == NULL)
		return;
	event_del(link->event);
	link->fd = -1;
	link->watched = 0;
	link->closing = true;
	rpc_destroy_context(link->rpc);
	link->closing = false;
	link->rpc = NULL;
	link->connected = UPSTREAM_LINK_CONNECTING;
}

void upstream_link_watch(struct upstream_link *link)
{
	int fd = rpc_get_fd(link->rpc);
	int events = rpc_which_events(link->rpc);
	short wanted = EV_PERSIST;

	if (events & POLLIN)
		wanted |= EV_READ;
	if (events & POLLOUT)
		wanted |= EV_WRITE;
	if (fd == link->fd && wanted == link->watched)
		return;
	event_del(link->event);
	event_assign(link->event, link->base, fd, wanted, link_on_event, link);
	event_add(link->event, NULL);
	link->fd = fd;
	link->watched = wanted;
}

int upstream_link_flush(struct upstream_link *link)
{
	bool failed = false;

	if (rpc_which_events(link->rpc) & POLLOUT)
		link_service(link, POLLOUT, &failed);
	return failed ? -EIO : 0;
}
