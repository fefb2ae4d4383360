/*
 * struct upstream, for the files of this folder.
 */
#ifndef UPSTREAM_UPSTREAM_CORE_H
#define UPSTREAM_UPSTREAM_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include "nfsgather/clock.h"
#include "nfsgather/log.h"
#include "nfsgather/stats.h"
#include "nfsgather/upstream.h"
#include "upstream/upstream_conn.h"
#include "upstream/upstream_replay.h"
#include "upstream/upstream_resolve.h"
#include "upstream/upstream_tuning.h"

enum { UPSTREAM_CONNECTIONS_MAX = 16 };

/* What the log was last told about the upstream as a whole. */
enum upstream_announced {
	UPSTREAM_ANNOUNCED_NOTHING,
	UPSTREAM_ANNOUNCED_UP,
	UPSTREAM_ANNOUNCED_DOWN,
};

struct upstream {
	struct event_base *base;
	struct evdns_base *dns;
	const struct clock *clock;
	struct stats *stats;
	char *name;
	char *server;
	struct upstream_tuning tuning;

	/* nfs_conn[0] carries no bulk if there are more. */
	unsigned int nfs_conn_count;
	struct upstream_conn *nfs_conn[UPSTREAM_CONNECTIONS_MAX];
	struct upstream_conn *mount_conn;
	/* Where the last connection was made: all use one address while it works. */
	char address[INET6_ADDRSTRLEN];

	uint32_t next_xid;
	uint32_t wtmax_bytes;
	uint64_t maxfilesize_bytes; /* the smallest seen; 0: none yet */
	void (*on_disconnect)(void *arg);
	void *on_disconnect_arg;
	uint64_t newest_ctime_ns; /* 0: none seen */
	mono_us newest_ctime_at;

	/* Answered, in order; done() runs from done_event only. */
	struct upstream_request_list done;
	struct event *done_event;
	bool running_done; /* done() is on the stack */
	bool closing;

	/* Re-sent calls whose error is looked into once there is memory for it. */
	struct upstream_request_list replay_waiting;
	struct event *replay_event;

	enum upstream_announced announced;
	mono_us down_since;
	unsigned int silent_conns; /* that have complained of an unanswered NULL */
	struct log_limit state_limit;
	struct log_limit bad_reply_limit;
	struct log_limit mount_limit;
};

uint32_t upstream_next_xid(struct upstream *upstream);
/* The upstream's clock, never ahead of it; 0 while nothing is known of it. */
uint64_t upstream_clock_estimate_ns(const struct upstream *upstream);
void upstream_clock_learn(struct upstream *upstream, uint64_t ctime_ns);

/*
 * The call has its answer (takes `results`, NULL unless ANSWERED). Only notes it:
 * done() runs later, from the loop, after a look into it if it is one of our own
 * re-sends.
 */
void upstream_finish(struct upstream *upstream, struct upstream_request *request,
		     enum upstream_outcome outcome, struct buf *results);
/* Calls like upstream_libnfs_ops.submit(), also for the folder's own calls. */
void upstream_submit(struct upstream *upstream, struct upstream_request *request);

/*
 * An established NFS connection broke, with its calls taken off the wire; or one was made
 * again, and nothing was sent over it yet. Runs done() of what was answered so far.
 */
void upstream_note_disconnect(struct upstream *upstream);
/* Connections tell what happened to them; the log hears of the upstream as a whole. */
void upstream_note_up(struct upstream *upstream);
void upstream_note_down(struct upstream *upstream, const char *why);

#endif
