/*
 * One connection slot of an upstream: a TCP connection when there is one, the calls
 * bound to it always. Calls never change their slot, so their order survives
 * reconnects.
 *
 *   submit --> queued --> sent --> finished (upstream_finish)
 *                          ^ |
 *                          +-+ again, in order, on the next connection
 */
#ifndef UPSTREAM_UPSTREAM_CONN_H
#define UPSTREAM_UPSTREAM_CONN_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "nfsgather/upstream.h"
#include "upstream/upstream_cred.h"
#include "upstream/upstream_link.h"
#include "upstream/upstream_tuning.h"

struct upstream_port_query;
struct upstream_resolve;

/* state, text, states that may follow (a mask of CONN_BIT) */
#define UPSTREAM_CONN_STATE_TABLE(X)                                                   \
	X(UPSTREAM_CONN_IDLE, "idle", CONN_BIT(UPSTREAM_CONN_RESOLVING))               \
	X(UPSTREAM_CONN_RESOLVING, "resolving",                                        \
	  CONN_BIT(UPSTREAM_CONN_ASKING_PORT) | CONN_BIT(UPSTREAM_CONN_CONNECTING) |   \
		  CONN_BIT(UPSTREAM_CONN_BACKOFF) | CONN_BIT(UPSTREAM_CONN_IDLE))      \
	X(UPSTREAM_CONN_ASKING_PORT, "asking for the port",                            \
	  CONN_BIT(UPSTREAM_CONN_CONNECTING) | CONN_BIT(UPSTREAM_CONN_BACKOFF) |       \
		  CONN_BIT(UPSTREAM_CONN_IDLE))                                        \
	X(UPSTREAM_CONN_CONNECTING, "connecting",                                      \
	  CONN_BIT(UPSTREAM_CONN_UP) | CONN_BIT(UPSTREAM_CONN_BACKOFF) |               \
		  CONN_BIT(UPSTREAM_CONN_IDLE))                                        \
	X(UPSTREAM_CONN_UP, "up",                                                      \
	  CONN_BIT(UPSTREAM_CONN_BACKOFF) | CONN_BIT(UPSTREAM_CONN_IDLE))              \
	X(UPSTREAM_CONN_BACKOFF, "backing off",                                        \
	  CONN_BIT(UPSTREAM_CONN_RESOLVING) | CONN_BIT(UPSTREAM_CONN_IDLE))

#define CONN_BIT(state) (1u << (state))

enum upstream_conn_state {
#define X(name, text, next) name,
	UPSTREAM_CONN_STATE_TABLE(X)
#undef X
};

/* A call in the sent list; libnfs' callback gets it as its argument. */
struct upstream_flight {
	TAILQ_ENTRY(upstream_flight) link;
	struct upstream_conn *conn;
	struct upstream_request *request;
	size_t payload_bytes;
	bool on_wire;	 /* handed to the present connection's context */
	mono_us sent_at; /* to it */
	unsigned int bad_replies;
	unsigned int overdue_count; /* connections broken on purpose for its sake */
};

TAILQ_HEAD(upstream_flight_list, upstream_flight);

struct upstream_conn {
	struct upstream *upstream;
	unsigned int index; /* for log lines; the MOUNT connection comes last */
	uint32_t program;   /* PROGRAM_NFS or PROGRAM_MOUNT */
	uint16_t configured_port;
	bool was_up; /* ever */
	/* After a bad record: one call at a time until those out are answered. */
	bool careful;
	enum upstream_conn_state state; /* written by conn_set_state() only */

	struct upstream_link link;		/* CONNECTING, UP */
	struct upstream_resolve *resolve;	/* RESOLVING, else NULL */
	struct upstream_port_query *port_query; /* ASKING_PORT, else NULL */
	char address[INET6_ADDRSTRLEN];
	/* Attempts since the last connection; picks the address among several. */
	unsigned int attempts;
	unsigned int backoff_ms;
	/* By state: the attempt's time limit, the backoff, MOUNT's idle time. */
	struct event *timer;

	struct upstream_request_list queued;
	struct upstream_flight_list sent; /* in order of first sending */
	struct upstream_flight_list unused;
	struct upstream_flight flight[UPSTREAM_FLIGHTS_MAX];
	unsigned int on_wire_count;
	size_t on_wire_bytes;
	struct upstream_cred cred; /* set on the context */
	/* Set by callbacks: break the connection for this once libnfs returned. */
	const char *broken;
	struct event *retry_event; /* calls were submitted, or memory was short */

	/* Silence is watched while calls are out. */
	struct event *check_event;
	mono_us heard_at;
	uint64_t received_bytes;
	bool ping_out;
	mono_us ping_sent_at;
	bool complained;
};

/* NULL when memory is short. */
struct upstream_conn *upstream_conn_new(struct upstream *upstream, unsigned int index,
					uint32_t program, uint16_t port);
/* The calls must be gone (upstream_conn_cancel_all). */
void upstream_conn_free(struct upstream_conn *conn);
const char *upstream_conn_state_name(enum upstream_conn_state state);

/* From IDLE: connects. */
void upstream_conn_start(struct upstream_conn *conn);
void upstream_conn_submit(struct upstream_conn *conn, struct upstream_request *request);
/* Resets the connection and finishes every call with UPSTREAM_CANCELLED. */
void upstream_conn_cancel_all(struct upstream_conn *conn);

/* --- between upstream_conn.c and upstream_flight.c --- */

void upstream_flights_init(struct upstream_conn *conn);
/* In state UP: hands over what the limits allow. May set conn->broken. */
void upstream_flights_pump(struct upstream_conn *conn);
/* The context is gone: all that was on the wire is to be sent again. */
void upstream_flights_lost(struct upstream_conn *conn);
/* In state UP with calls out: has the peer been silent for too long? Sends NULL. */
void upstream_flights_check(struct upstream_conn *conn);
/* After libnfs returned with a failure: was a record that made no sense the reason? */
void upstream_flights_blame(struct upstream_conn *conn, const char *why);
bool upstream_conn_is_quiet(const struct upstream_conn *conn); /* no call held */
/* A reply was received; also from inside libnfs. */
void upstream_conn_heard(struct upstream_conn *conn);
void upstream_conn_retry_later(struct upstream_conn *conn, unsigned int delay_ms);

#endif
