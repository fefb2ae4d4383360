/*
 * What the frontend may ask of an upstream, as a table of functions, so that a test
 * can stand in for the real thing (src/upstream).
 *
 * A call submitted is held for as long as the upstream is away, re-sent in order after a
 * reconnect, and completed exactly once. Only upstream_free() ends it otherwise.
 */
#ifndef NFSGATHER_UPSTREAM_H
#define NFSGATHER_UPSTREAM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "nfsgather/buf.h"
#include "nfsgather/call.h"
#include "nfsgather/clock.h"
#include "nfsgather/invariant.h"

/* Room kept free before the results, for the record mark and the reply header. */
enum { UPSTREAM_REPLY_HEADROOM_BYTES = 28 };

#define UPSTREAM_OUTCOME_TABLE(X)                                                      \
	X(UPSTREAM_ANSWERED, "answered")                                               \
	X(UPSTREAM_PROG_UNAVAIL, "program unavailable")                                \
	X(UPSTREAM_PROG_MISMATCH, "program version mismatch")                          \
	X(UPSTREAM_PROC_UNAVAIL, "procedure unavailable")                              \
	X(UPSTREAM_GARBAGE_ARGS, "garbage arguments")                                  \
	X(UPSTREAM_SYSTEM_ERR, "system error")                                         \
	X(UPSTREAM_DENIED, "call denied")                                              \
	X(UPSTREAM_CANCELLED, "upstream closed")

enum upstream_outcome {
#define X(name, text) name,
	UPSTREAM_OUTCOME_TABLE(X)
#undef X
};

const char *upstream_outcome_name(enum upstream_outcome outcome);

/*
 * One call to send. The submitter owns the memory, keeps it, `call`, `cred` and every
 * byte they point at unchanged until done() runs, and may free it inside done().
 */
struct upstream_request {
	/* set by the submitter */
	const struct nfs_call *call;
	const struct rpc_cred *cred;
	/*
	 * Runs exactly once, from the event loop, never inside submit(). `outcome`,
	 * `results` and `sent_count` are set. The submitter may submit again from here.
	 */
	void (*done)(struct upstream_request *request);

	/* set by the upstream */
	enum upstream_outcome outcome;
	/*
	 * The encoded results (RFC 1813: status first), with
	 * UPSTREAM_REPLY_HEADROOM_BYTES free before them. Set only when `outcome` is
	 * UPSTREAM_ANSWERED; then the reference is the submitter's.
	 */
	struct buf *results;
	/* How often it went out. More than 1: an earlier execution's fate is unknown. */
	unsigned int sent_count;

	/* private to the upstream */
	TAILQ_ENTRY(upstream_request) link;
	void *conn;
	uint32_t xid;
	mono_us first_sent;
	uint64_t first_sent_upstream_ns; /* estimate of the upstream's clock; 0: none */
};

TAILQ_HEAD(upstream_request_list, upstream_request);

struct upstream;

struct upstream_ops {
	/* Takes the request up; done() follows. Never fails: out of memory is waited out. */
	void (*submit)(struct upstream *upstream, struct upstream_request *request);
	/* Largest WRITE the upstream takes (FSINFO wtmax), 0 while not known. */
	uint32_t (*wtmax_bytes)(const struct upstream *upstream);
	/* Largest file every file system seen so far allows, 0 while not known. */
	uint64_t (*maxfilesize_bytes)(const struct upstream *upstream);
	/* "name" of the [upstream NAME] section. */
	const char *(*name)(const struct upstream *upstream);
	/*
	 * fn(arg) runs whenever an established NFS connection has broken (after done()
	 * of the calls that were answered over it) and again when it is made anew
	 * (before done() of any call that is answered over the new one): the upstream
	 * may have restarted before the one, or between the two. It may submit calls,
	 * and must not free the upstream. NULL: no more.
	 */
	void (*set_on_disconnect)(struct upstream *upstream, void (*fn)(void *arg),
				  void *arg);
};

#endif
