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
	X(WRITES_ACKED_EARLY, writes_acked_early,                                      \
	  "WRITEs answered before the upstream had them")                              \
	X(COMMITS_SHARED, commits_shared,                                              \
	  "COMMITs answered by an upstream COMMIT that answered another too")          \
	X(COMMITS_LOCAL, commits_local,                                                \
	  "COMMITs answered at once, everything being stable already")                 \
	X(REPLAYED_BYTES, replayed_bytes,                                              \
	  "payload bytes written again because the upstream may have lost them")       \
	X(LOST_BYTES, lost_bytes, "acked payload bytes lost to upstream errors")       \
	X(STICKY_ERRORS, sticky_errors,                                                \
	  "errors kept for a client's next COMMIT of the file")                        \
	X(QUARANTINES, quarantines, "times early acks were turned off by an error")    \
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

/* What is so now, beside what was counted. */
#define STATS_GAUGE_TABLE(X)                                                           \
	X(DIRTY_BYTES, dirty_bytes, "acked bytes the upstream has not answered for")   \
	X(RETAINED_BYTES, retained_bytes, "written bytes not yet proven stable")       \
	X(WRITES_OUT, writes_out, "WRITEs of the engine at the upstream")              \
	X(COMMITS_OUT, commits_out, "COMMITs of the engine at the upstream")           \
	X(FILES, files, "files the engine has a record of")

enum stats_gauge {
#define X(upper, lower, help) GAUGE_##upper,
	STATS_GAUGE_TABLE(X)
#undef X
		GAUGE_COUNT
};

/* Why the engine sent a WRITE. */
#define WRITE_REASON_TABLE(X)                                                          \
	X(PASSED, passed, "a client waits: its WRITE could not be acked early")        \
	X(STABLE, stable, "a client waits: DATA_SYNC or FILE_SYNC was asked for")      \
	X(FULL, full, "the largest WRITE the upstream takes is together")              \
	X(PLUG_EXPIRED, plug_expired, "nothing was added for plug_max")                \
	X(AGE, age, "dirty_expire has passed")                                         \
	X(DIRTY_BACKGROUND, dirty_background, "more than dirty_background_bytes")      \
	X(MEMORY, memory, "calls wait for memory")                                     \
	X(CLIENT_COMMIT, client_commit, "a COMMIT waits for it")                       \
	X(BARRIER, barrier, "another call waits for it")                               \
	X(OVERLAP, overlap, "a WRITE that cannot be merged lies on top of it")         \
	X(SHARED, shared, "another client uses the file")                              \
	X(DRAIN, drain, "the proxy is stopping")                                       \
	X(REPLAY, replay, "the upstream may have lost it")                             \
	X(RETRY, retry, "the rest of a short WRITE, or once more after JUKEBOX")

enum write_reason {
#define X(upper, lower, help) WRITE_REASON_##upper,
	WRITE_REASON_TABLE(X)
#undef X
		WRITE_REASON_COUNT
};

/* Why the engine sent a COMMIT. */
#define COMMIT_REASON_TABLE(X)                                                         \
	X(CLIENT_COMMIT, client_commit, "a client's COMMIT waits for it")              \
	X(UNKNOWN_FILE, unknown_file,                                                  \
	  "a client's COMMIT of a file of which nothing is known")                     \
	X(STABLE_WRITE, stable_write, "a stable WRITE came back less stable")          \
	X(BARRIER, barrier, "a call waits to know that nothing was lost")              \
	X(AGE, age, "written bytes were not committed by any client")                  \
	X(MEMORY, memory, "written bytes take more than their part of memory")         \
	X(DISCONNECT, disconnect, "the upstream may have restarted")                   \
	X(DRAIN, drain, "the proxy is stopping")

enum commit_reason {
#define X(upper, lower, help) COMMIT_REASON_##upper,
	COMMIT_REASON_TABLE(X)
#undef X
		COMMIT_REASON_COUNT
};

/* Bucket i counts values of up to 2^i that are above 2^(i-1); the last one all above. */
#define STATS_HISTOGRAM_TABLE(X)                                                       \
	X(CLIENT_WRITE_SIZE, client_write_size, "payload bytes of WRITEs received")    \
	X(UPSTREAM_WRITE_SIZE, upstream_write_size, "payload bytes of WRITEs sent")    \
	X(CLIENT_WRITES_PER_COMMIT, client_writes_per_commit,                          \
	  "WRITEs of a file received between two of its COMMITs")                      \
	X(UPSTREAM_WRITES_PER_COMMIT, upstream_writes_per_commit,                      \
	  "WRITEs of a file sent between two of its COMMITs")

enum stats_histogram {
#define X(upper, lower, help) HISTOGRAM_##upper,
	STATS_HISTOGRAM_TABLE(X)
#undef X
		HISTOGRAM_COUNT
};

enum { STATS_HISTOGRAM_BUCKETS = 32 };

struct stats {
	uint64_t value[STAT_COUNT];
	uint64_t gauge[GAUGE_COUNT];
	uint64_t write_reason[WRITE_REASON_COUNT];
	uint64_t commit_reason[COMMIT_REASON_COUNT];
	uint64_t histogram[HISTOGRAM_COUNT][STATS_HISTOGRAM_BUCKETS];
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

void stats_observe(struct stats *stats, enum stats_histogram histogram, uint64_t value);

/* "client_writes"; the name used in every output. */
const char *stats_name(enum stats_counter counter);
const char *stats_help(enum stats_counter counter);
const char *stats_gauge_name(enum stats_gauge gauge);
const char *stats_gauge_help(enum stats_gauge gauge);
const char *stats_histogram_name(enum stats_histogram histogram);
const char *stats_histogram_help(enum stats_histogram histogram);
const char *write_reason_name(enum write_reason reason);
const char *write_reason_help(enum write_reason reason);
const char *commit_reason_name(enum commit_reason reason);
const char *commit_reason_help(enum commit_reason reason);

#endif
