/*
 * One client TCP connection: records in, replies out. session.c has its life and its
 * events, session_input.c reads, session_output.c writes.
 *
 *   accepted -> [reading <-> paused] -> closed -> freed at the end of the turn
 *
 * A closed session (fd < 0) may still be pointed at until the turn ends; nothing is
 * sent on it and nothing is read from it any more.
 */
#ifndef FRONTEND_SESSION_H
#define FRONTEND_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "nfsgather/access.h"
#include "nfsgather/buf.h"
#include "nfsgather/clock.h"
#include "nfsgather/invariant.h"
#include "nfsgather/log.h"

#include "admission.h"
#include "call.h"
#include "client.h"
#include "peer.h"
#include "wire/record.h"

struct event;
struct frontend;
struct session_set;

/* One row gives enum, text and log level. */
#define SESSION_END_TABLE(X)                                                           \
	X(SESSION_END_EOF, "closed by the client", LOG_LEVEL_DEBUG)                    \
	X(SESSION_END_ERROR, "connection failed", LOG_LEVEL_INFO)                      \
	X(SESSION_END_MALFORMED, "malformed record", LOG_LEVEL_WARN)                   \
	X(SESSION_END_REPLACED, "replaced by a newer connection of its client",        \
	  LOG_LEVEL_INFO)                                                              \
	X(SESSION_END_STALLED_RECORD,                                                  \
	  "record not completed in time while others wait for memory", LOG_LEVEL_WARN) \
	X(SESSION_END_STALLED_REPLIES,                                                 \
	  "replies not read in time while others wait for memory", LOG_LEVEL_WARN)     \
	X(SESSION_END_MEMORY, "out of memory", LOG_LEVEL_ERROR)                        \
	X(SESSION_END_SHUTDOWN, "shutdown", LOG_LEVEL_DEBUG)

enum session_end {
#define X(name, text, level) name,
	SESSION_END_TABLE(X)
#undef X
		SESSION_END_COUNT
};

const char *session_end_name(enum session_end end);

enum {
	SESSION_LIMIT = 4096, /* of one frontend */
	SESSION_CALLS_MAX = 1024,
	SESSION_REPLIES_MAX = 512,
	SESSION_UNSENT_MAX_BYTES = 4 * 1024 * 1024,
	/* Unsent, and READ data that is still to come. */
	SESSION_EXPECTED_MAX_BYTES = 16 * 1024 * 1024,
	/* One read of small records; leftovers of a waiting session are at most this. */
	SESSION_STAGING_BYTES = 16 * 1024,
};
#define SESSION_STALL_US ((mono_us)30 * 1000 * 1000)

/* Reasons for not reading, as bits of session->paused_for. */
enum session_pause {
	SESSION_PAUSE_OUTPUT = 1, /* too much is unsent, or will be */
	SESSION_PAUSE_CALLS = 2,  /* too many calls are in progress */
	SESSION_PAUSE_ROOM = 4,	  /* in line with admission */
	SESSION_PAUSE_MEMORY = 8, /* malloc failed; tried again at the next tick */
	SESSION_PAUSE_DRAIN = 16, /* for good: the proxy is stopping */
};

/* A reply that was not sent whole yet, and what its data is charged with. */
struct session_reply {
	struct buf *buf;
	size_t charge_bytes;
};

struct session {
	struct session_set *set;
	struct frontend *frontend;
	TAILQ_ENTRY(session) link;	  /* set->open; set->closed once fd < 0 */
	TAILQ_ENTRY(session) client_link; /* client->sessions while `client` is set */
	TAILQ_ENTRY(session) ready_link;  /* set->ready while is_ready */
	TAILQ_ENTRY(session) flush_link;  /* set->flush while is_flushing */
	int fd;				  /* -1: closed */
	unsigned int paused_for;	  /* bits of enum session_pause; 0: reading */
	bool is_ready;			  /* goes on reading in the next turn */
	bool is_flushing;		  /* writes at the end of this turn */
	bool is_blocked;		  /* the socket takes no more now */
	/* A newer session of its client outran it: closed instead of resumed. */
	bool is_outrun;
	struct peer_address address;
	uint64_t seq; /* order of accept, from 1 */
	struct event *event;
	struct sockaddr_storage addr;
	char peer[PEER_TEXT_BYTES];
	const struct access_rule *rule; /* the frontend's */
	struct client *client;	/* of the last call, with a reference; or NULL */
	struct call_list calls; /* in progress that answer here */
	size_t call_count;

	/* input */
	/* The latest accepted from this address while this one was paused; 0: none. */
	uint64_t newer_seq;
	struct record_reader reader;
	size_t record_charge_bytes; /* reserved for the record being read */
	mono_us room_since;	    /* when that, or the parked call's, was given */
	struct admission_waiter waiter;
	struct call *parked;  /* waits for room for its reply */
	struct buf *leftover; /* read, not consumed: there was no room */

	/* output: a ring, oldest first */
	struct session_reply *replies;
	size_t reply_capacity; /* 0 or a power of two */
	size_t reply_first;
	size_t reply_count;
	size_t first_sent_bytes; /* of the oldest */
	size_t unsent_bytes;
	size_t unsent_charge_bytes;
	size_t expected_bytes;	 /* sum of reply_charge_bytes of `calls`; call.c */
	mono_us output_progress; /* last time the socket took something, or all was out */
};

/* session.c */
struct session_set *session_set_new(struct frontend *frontend);
/* Closes all sessions (shutdown). NULL is allowed. */
void session_set_free(struct session_set *set);
/* A connected, non-blocking socket: 0 and it is taken, or a negative errno. */
MUST_CHECK int session_accept(struct session_set *set, int fd,
			      const struct sockaddr *addr, socklen_t addr_bytes,
			      const struct access_rule *rule);
/* Closes the connection now and lets its calls go on; again: does nothing. */
void session_close(struct session *session, enum session_end end);
/* A read or write failed: a reset is how some clients hang up. */
void session_close_failed(struct session *session, int error);
void session_close_malformed(struct session *session, const char *what);
/* How many sessions of the set ended so, for tests and the log. */
uint64_t session_set_ended(const struct session_set *set, enum session_end end);
size_t session_set_count(const struct session_set *set);
/* No session of the set is read from any more. */
void session_set_pause(struct session_set *set);
/*
 * Of `live_count` calls, are all that were started answered, and the answers taken by the
 * sockets?
 */
bool session_set_is_answered(const struct session_set *set, size_t live_count);
/*
 * The client a call with this credential belongs to, with a reference, and NULL when
 * memory is short. Makes it the session's client, which may outrun older sessions of it.
 */
struct client *session_client(struct session *session, const struct rpc_cred *cred);
/* The open session of this client with that seq, or NULL. */
struct session *session_find(const struct client *client, uint64_t seq);
/* Reading stops for one more reason, or for one less. */
void session_pause(struct session *session, enum session_pause why);
void session_unpause(struct session *session, enum session_pause why);
/* A call no longer answers here (call.c). */
void session_on_call_gone(struct session *session);
/* Where small records are received; shared, so empty it before anybody else reads. */
uint8_t *session_staging(struct session *session);

/* For session_input.c and session_output.c: another turn, a flush at the end of this one. */
void session_schedule_ready(struct session *session);
void session_schedule_flush(struct session *session);

/* session_input.c */
void session_input_init(struct session *session);
/* Gives back what it holds; the parked call is dropped. */
void session_input_fini(struct session *session);
/* Reads for one turn. May close the session. */
void session_read(struct session *session);
/* Goes on after a pause or another turn. May close the session. */
void session_resume(struct session *session);
/* Did the client hang up, though unread input may be left? */
bool session_is_hung_up(const struct session *session);
/* Waits, paused, for room for the reply of `call`: admission_reserve() said no. */
void session_park(struct session *session, struct call *call);
/* Has it held memory for a record for too long? */
bool session_input_is_stalled(const struct session *session, mono_us now);

/* session_output.c */
void session_output_fini(struct session *session);
/*
 * Queues a whole reply. Takes the reference and the charge, which is given back to
 * admission when the reply is sent or the session closes. May close the session.
 */
void session_send(struct session *session, struct buf *reply, size_t charge_bytes);
/* Writes as much as the socket takes. May close the session. */
void session_flush(struct session *session);
/* Stops or goes on reading by how much the client still has to read. */
void session_check_output(struct session *session);
/* The same for replies that its client does not take, sent or still to come. */
bool session_output_is_stalled(const struct session *session, mono_us now);

#endif
