/*
 * Counters: one table gives the enum, the name (JSON now, other outputs later) and what
 * it counts. Each upstream has one struct stats; forced writes = COMMITs + DATA_SYNC and
 * FILE_SYNC WRITEs, the number this project exists to bring down.
 */
#ifndef NFSGATHER_STATS_H
#define NFSGATHER_STATS_H

#include <stdint.h>

#define STATS_TABLE(X)                                                                 \
	X(CLIENT_CALLS, client_calls, "calls received from clients")                   \
	X(CLIENT_WRITES, client_writes, "WRITE calls received")                        \
	X(CLIENT_WRITES_STABLE, client_writes_stable,                                  \
	  "of these DATA_SYNC or FILE_SYNC")                                           \
	X(CLIENT_COMMITS, client_commits, "COMMIT calls received")                     \
	X(CLIENT_FORCED_WRITES, client_forced_writes,                                  \
	  "COMMIT and stable WRITE calls received")                                    \
	X(CLIENT_WRITE_BYTES, client_write_bytes, "payload bytes of WRITEs received")  \
	X(CLIENT_READ_BYTES, client_read_bytes, "payload bytes of READs answered")     \
	X(UPSTREAM_CALLS, upstream_calls, "calls sent upstream, re-sends included")    \
	X(UPSTREAM_WRITES, upstream_writes, "WRITE calls sent upstream")               \
	X(UPSTREAM_WRITES_STABLE, upstream_writes_stable,                              \
	  "of these DATA_SYNC or FILE_SYNC")                                           \
	X(UPSTREAM_COMMITS, upstream_commits, "COMMIT calls sent upstream")            \
	X(UPSTREAM_FORCED_WRITES, upstream_forced_writes,                              \
	  "COMMIT and stable WRITE calls sent upstream")                               \
	X(UPSTREAM_WRITE_BYTES, upstream_write_bytes, "payload bytes sent upstream")   \
	X(UPSTREAM_READ_BYTES, upstream_read_bytes,                                    \
	  "READ payload bytes from upstream")                                          \
	X(UPSTREAM_RESENDS, upstream_resends, "calls sent again after a reconnect")    \
	X(UPSTREAM_RECONNECTS, upstream_reconnects, "connections made again")          \
	X(VERIFIER_ROTATIONS, verifier_rotations, "write verifier changes")            \
	X(REPLIES_REPEATED, replies_repeated,                                          \
	  "retransmitted calls answered from the reply cache")                         \
	X(CALLS_ATTACHED, calls_attached,                                              \
	  "retransmitted calls attached to one in progress")                           \
	X(SESSIONS_ACCEPTED, sessions_accepted, "client connections accepted")         \
	X(SESSIONS_REFUSED, sessions_refused,                                          \
	  "client connections refused by the access rules")                            \
	X(SESSIONS_REPLACED, sessions_replaced,                                        \
	  "connections closed because the client replaced them")                       \
	X(RECORDS_MALFORMED, records_malformed, "connections closed for a bad record") \
	X(RPC_ERRORS_SENT, rpc_errors_sent, "RPC-level error replies sent to clients") \
	X(CALLS_DENIED, calls_denied, "calls refused by the access rules")

enum stats_counter {
#define X(upper, lower, help) STAT_##upper,
	STATS_TABLE(X)
#undef X
		STAT_COUNT
};

struct stats {
	uint64_t value[STAT_COUNT];
};

static inline void stats_add(struct stats *stats, enum stats_counter counter,
			     uint64_t amount)
{
	stats->value[counter] += amount;
}

static inline void stats_count(struct stats *stats, enum stats_counter counter)
{
	stats->value[counter]++;
}

/* "client_writes"; the name used in every output. */
const char *stats_name(enum stats_counter counter);
const char *stats_help(enum stats_counter counter);

#endif
