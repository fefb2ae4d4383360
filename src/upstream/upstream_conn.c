/*
 * The life of one connection slot: resolve, find the port, connect, be up, back off.
 *
 *   IDLE --> RESOLVING --> (ASKING_PORT) --> CONNECTING --> UP
 *             ^   any of these, on failure: BACKOFF          |
 *             +----------------- BACKOFF <-------------------+
 *
 * The hard case: nearly everything that goes wrong is noticed while libnfs is on the
 * stack, or inside submit(), where the context may not be destroyed. There the reason
 * is noted in conn->broken, and the next step from the event loop breaks the
 * connection.
 *
 * Not promised: noticing a dead peer on an idle connection faster than keepalive does.
 */
#include "upstream/upstream_conn.h"

#include <event2/event.h>
#include <event2/util.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nfsgather/log.h"
#include "upstream/upstream_call.h"
#include "upstream/upstream_core.h"
#include "upstream/upstream_port.h"
#include "upstream/upstream_resolve.h"
#include "upstream/upstream_socket.h"

/* A payload from this much on costs more to copy than its call costs otherwise. */
enum { LARGE_BYTES = 32 * 1024 };

static void conn_fail(struct upstream_conn *conn, const char *why);

const char *upstream_conn_state_name(enum upstream_conn_state state)
{
	static const char *const names[] = {
#define X(name, text, next) [name] = (text),
		UPSTREAM_CONN_STATE_TABLE(X)
#undef X
	};

	return names[state];
}

/* The only writer of conn->state. */
static void conn_set_state(struct upstream_conn *conn, enum upstream_conn_state state)
{
	static const unsigned int may_follow[] = {
#define X(name, text, next) [name] = (next),
		UPSTREAM_CONN_STATE_TABLE(X)
#undef X
	};

	INVARIANT(may_follow[conn->state] & CONN_BIT(state));
	log_trace("upstream %s: connection %u: %s -> %s", conn->upstream->name,
		  conn->index, upstream_conn_state_name(conn->state),
		  upstream_conn_state_name(state));
	conn->state = state;
}

static void conn_set_timer(struct upstream_conn *conn, unsigned int delay_ms)
{
	const struct timeval delay = upstream_timeval(delay_ms);

	event_add(conn->timer, &delay);
}

void upstream_conn_retry_later(struct upstream_conn *conn, unsigned int delay_ms)
{
	const struct timeval delay = upstream_timeval(delay_ms);

	event_add(conn->retry_event, &delay);
}

/* Lets go of what the present state holds: the attempt under way or the connection. */
static void conn_let_go(struct upstream_conn *conn)
{
	event_del(conn->timer);
	event_del(conn->check_event);
	event_del(conn->retry_event);
	upstream_resolve_cancel(conn->resolve);
	conn->resolve = NULL;
	upstream_port_cancel(conn->port_query);
	conn->port_query = NULL;
	upstream_link_close(&conn->link);
	upstream_flights_lost(conn);
	conn->broken = NULL;
	if (conn->complained)
		conn->upstream->silent_conns--;
	conn->complained = false;
}

static unsigned int conn_next_backoff_ms(struct upstream_conn *conn)
{
	const struct upstream_tuning *tuning = &conn->upstream->tuning;
	unsigned int base_ms = conn->backoff_ms;
	unsigned int random;

	conn->backoff_ms = base_ms * 2 < tuning->backoff_max_ms
				   ? base_ms * 2
				   : tuning->backoff_max_ms;
	evutil_secure_rng_get_bytes(&random, sizeof(random));
	/* three quarters to five quarters, so that proxies do not come in step */
	return base_ms * 3 / 4 + random % (base_ms / 2 + 1);
}

static bool conn_is_needed(const struct upstream_conn *conn)
{
	return conn->program == PROGRAM_NFS || !upstream_conn_is_quiet(conn);
}

/* The attempt or the connection came to nothing. Never from inside libnfs. */
static void conn_fail(struct upstream_conn *conn, const char *why)
{
	struct upstream *upstream = conn->upstream;
	bool was_up = conn->state == UPSTREAM_CONN_UP;
	bool idle_close = was_up && upstream_conn_is_quiet(conn);
	char reason[192];

	snprintf(reason, sizeof(reason), "%s", why); /* it may lie in what is let go */
	conn_let_go(conn);
	log_debug("upstream %s: connection %u: %s: %s", upstream->name, conn->index,
		  upstream_conn_state_name(conn->state), reason);
	if (conn_is_needed(conn)) {
		conn_set_state(conn, UPSTREAM_CONN_BACKOFF);
		conn_set_timer(conn, conn_next_backoff_ms(conn));
	} else {
		conn_set_state(conn, UPSTREAM_CONN_IDLE);
	}
	if (was_up && conn->program == PROGRAM_NFS)
		upstream_note_disconnect(upstream);
	if (idle_close)
		return; /* servers do that; only failing to return is news */
	if (conn->program == PROGRAM_NFS)
		upstream_note_down(upstream, reason);
	else if (log_limit_allows(&upstream->mount_limit, clock_now(upstream->clock)))
		log_warn("upstream %s: no MOUNT service: %s", upstream->name, reason);
}

void upstream_conn_heard(struct upstream_conn *conn)
{
	struct upstream *upstream = conn->upstream;

	conn->heard_at = clock_now(upstream->clock);
	conn->backoff_ms = upstream->tuning.backoff_first_ms;
	if (conn->complained) {
		conn->complained = false;
		if (--upstream->silent_conns == 0)
			log_info("upstream %s: answers again", upstream->name);
	}
	if (conn->program == PROGRAM_NFS)
		upstream_note_up(upstream);
}

/* Never from inside libnfs. */
static void conn_enter_up(struct upstream_conn *conn)
{
	struct upstream *upstream = conn->upstream;

	event_del(conn->timer);
	if (conn->was_up && conn->program == PROGRAM_NFS) {
		stats_count(upstream->stats, STAT_UPSTREAM_RECONNECTS);
		/*
		 * The server may have restarted since the break was noted, and the end
		 * of other connections be noticed later. Known before all is sent again.
		 */
		upstream_note_disconnect(upstream);
	}
	conn_set_state(conn, UPSTREAM_CONN_UP);
	memcpy(upstream->address, conn->address, sizeof(upstream->address));
	conn->was_up = true;
	conn->attempts = 0;
	/* with calls waiting, their replies will tell whether it is any good */
	if (conn->program == PROGRAM_NFS && upstream_conn_is_quiet(conn))
		upstream_note_up(upstream);
}

/* In state UP, from the loop: sends what can be sent, breaks if need be. */
static void conn_go_on(struct upstream_conn *conn)
{
	if (conn->broken == NULL)
		upstream_flights_pump(conn);
	if (conn->broken != NULL) {
		conn_fail(conn, conn->broken);
		return;
	}
	upstream_link_watch(&conn->link);
	if (TAILQ_EMPTY(&conn->sent))
		event_del(conn->check_event);
	if (conn->program == PROGRAM_MOUNT && upstream_conn_is_quiet(conn) &&
	    !evtimer_pending(conn->timer, NULL))
		conn_set_timer(conn, conn->upstream->tuning.mount_idle_ms);
}

static void conn_on_serviced(void *arg, bool failed)
{
	struct upstream_conn *conn = arg;

	if (failed || conn->link.connected == UPSTREAM_LINK_REFUSED) {
		upstream_flights_blame(conn, conn->link.error);
		conn_fail(conn, conn->link.error);
		return;
	}
	if (conn->state == UPSTREAM_CONN_CONNECTING) {
		if (conn->link.connected != UPSTREAM_LINK_CONNECTED) {
			upstream_link_watch(&conn->link);
			return;
		}
		conn_enter_up(conn);
	}
	conn_go_on(conn);
}

static void conn_connect(struct upstream_conn *conn, uint16_t port)
{
	conn_set_state(conn, UPSTREAM_CONN_CONNECTING);
	if (upstream_link_open(&conn->link, conn->address, port) != 0)
		conn_fail(conn, conn->link.error);
}

static void conn_on_port(void *arg, uint16_t port, const char *why)
{
	struct upstream_conn *conn = arg;

	conn->port_query = NULL;
	if (port == 0)
		conn_fail(conn, why);
	else
		conn_connect(conn, port);
}

static void conn_ask_port(struct upstream_conn *conn)
{
	const struct upstream_tuning *tuning = &conn->upstream->tuning;

	conn_set_state(conn, UPSTREAM_CONN_ASKING_PORT);
	conn->port_query = upstream_port_ask(conn->upstream->base, conn->address,
					     tuning->rpcbind_port, conn->program, 3,
					     conn_on_port, conn);
	if (conn->port_query == NULL)
		conn_fail(conn, "out of memory");
}

/* The address in use while it works; else each in its turn. */
static const char *conn_pick_address(const struct upstream_conn *conn,
				     const struct upstream_addresses *addresses)
{
	unsigned int i;
	unsigned int first = 0;

	for (i = 0; i < addresses->count; i++)
		if (strcmp(addresses->text[i], conn->upstream->address) == 0)
			first = i;
	return addresses->text[(first + conn->attempts) % addresses->count];
}

static void conn_on_addresses(void *arg, const struct upstream_addresses *addresses,
			      const char *why)
{
	struct upstream_conn *conn = arg;

	conn->resolve = NULL;
	if (addresses->count == 0) {
		conn_fail(conn, why);
		return;
	}
	snprintf(conn->address, sizeof(conn->address), "%s",
		 conn_pick_address(conn, addresses));
	conn->attempts++;
	if (conn->configured_port == 0)
		conn_ask_port(conn);
	else
		conn_connect(conn, conn->configured_port);
}

void upstream_conn_start(struct upstream_conn *conn)
{
	struct upstream *upstream = conn->upstream;

	conn_set_state(conn, UPSTREAM_CONN_RESOLVING);
	conn_set_timer(conn, upstream->tuning.connect_timeout_ms);
	conn->resolve = upstream_resolve_start(upstream->base, upstream->dns,
					       upstream->server, conn_on_addresses,
					       conn);
	if (conn->resolve == NULL)
		conn_fail(conn, "out of memory");
}

static void conn_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct upstream_conn *conn = arg;

	(void)fd;
	(void)what;
	switch (conn->state) {
	case UPSTREAM_CONN_RESOLVING:
	case UPSTREAM_CONN_ASKING_PORT:
	case UPSTREAM_CONN_CONNECTING:
		conn_fail(conn, "timed out connecting");
		return;
	case UPSTREAM_CONN_BACKOFF:
		upstream_conn_start(conn);
		return;
	case UPSTREAM_CONN_UP: /* only the MOUNT connection, idle when this was set */
		if (!upstream_conn_is_quiet(conn))
			return;
		conn_let_go(conn);
		conn_set_state(conn, UPSTREAM_CONN_IDLE);
		return;
	case UPSTREAM_CONN_IDLE:
		break;
	}
	UNREACHABLE();
}

static void conn_on_retry(evutil_socket_t fd, short what, void *arg)
{
	struct upstream_conn *conn = arg;

	(void)fd;
	(void)what;
	if (conn->state == UPSTREAM_CONN_UP)
		conn_go_on(conn);
}

static void conn_on_check(evutil_socket_t fd, short what, void *arg)
{
	struct upstream_conn *conn = arg;

	(void)fd;
	(void)what;
	upstream_flights_check(conn);
	conn_go_on(conn);
}

/*
 * Large payloads are copied while they are still in the processor's cache. Small calls wait
 * for the end of the turn: all that it submits then goes out together.
 */
static void conn_pump_now(struct upstream_conn *conn)
{
	upstream_flights_pump(conn);
	if (conn->broken != NULL) /* not from here: submit() is on the stack */
		event_active(conn->retry_event, EV_TIMEOUT, 0);
	else
		upstream_link_watch(&conn->link);
}

void upstream_conn_submit(struct upstream_conn *conn, struct upstream_request *request)
{
	TAILQ_INSERT_TAIL(&conn->queued, request, link);
	if (conn->state == UPSTREAM_CONN_IDLE) {
		upstream_conn_start(conn);
	} else if (conn->state == UPSTREAM_CONN_UP && !conn->link.servicing) {
		if (conn->program == PROGRAM_MOUNT)
			event_del(conn->timer);
		if (upstream_call_payload_bytes(request->call) >= LARGE_BYTES)
			conn_pump_now(conn);
		else
			event_active(conn->retry_event, EV_TIMEOUT, 0);
	}
}

static void flights_cancel(struct upstream_conn *conn)
{
	struct upstream_request *request;
	struct upstream_flight *flight;

	while ((flight = TAILQ_FIRST(&conn->sent)) != NULL) {
		TAILQ_REMOVE(&conn->sent, flight, link);
		TAILQ_INSERT_HEAD(&conn->unused, flight, link);
		upstream_finish(conn->upstream, flight->request, UPSTREAM_CANCELLED,
				NULL);
	}
	while ((request = TAILQ_FIRST(&conn->queued)) != NULL) {
		TAILQ_REMOVE(&conn->queued, request, link);
		upstream_finish(conn->upstream, request, UPSTREAM_CANCELLED, NULL);
	}
}

void upstream_conn_cancel_all(struct upstream_conn *conn)
{
	conn_let_go(conn);
	if (conn->state != UPSTREAM_CONN_IDLE)
		conn_set_state(conn, UPSTREAM_CONN_IDLE);
	flights_cancel(conn);
}

struct upstream_conn *upstream_conn_new(struct upstream *upstream, unsigned int index,
					uint32_t program, uint16_t port)
{
	struct upstream_conn *conn = calloc(1, sizeof(*conn));
	int err;

	if (conn == NULL)
		return NULL;
	conn->upstream = upstream;
	conn->index = index;
	conn->program = program;
	conn->configured_port = port;
	conn->state = UPSTREAM_CONN_IDLE;
	conn->backoff_ms = upstream->tuning.backoff_first_ms;
	upstream_flights_init(conn);
	conn->timer = evtimer_new(upstream->base, conn_on_timer, conn);
	conn->retry_event = evtimer_new(upstream->base, conn_on_retry, conn);
	conn->check_event =
		event_new(upstream->base, -1, EV_PERSIST, conn_on_check, conn);
	err = upstream_link_init(&conn->link, upstream->base, conn_on_serviced, conn);
	if (err != 0 || conn->timer == NULL || conn->retry_event == NULL ||
	    conn->check_event == NULL) {
		upstream_conn_free(conn);
		return NULL;
	}
	return conn;
}

void upstream_conn_free(struct upstream_conn *conn)
{
	if (conn == NULL)
		return;
	INVARIANT(upstream_conn_is_quiet(conn));
	upstream_link_fini(&conn->link);
	if (conn->timer != NULL)
		event_free(conn->timer);
	if (conn->retry_event != NULL)
		event_free(conn->retry_event);
	if (conn->check_event != NULL)
		event_free(conn->check_event);
	free(conn);
}
