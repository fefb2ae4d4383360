/*
 * The engine decides when WRITEs and COMMITs of one upstream go out and in which order,
 * which WRITEs are acknowledged before that, what a reply proves, and which write
 * verifier clients see (promises P1 to P6).
 *
 * It does no I/O, has no clock and no globals. Calls come in as struct engine_op; it acts
 * through struct engine_ops; what came of an engine_io comes back through engine_on_*();
 * time comes in through engine_set_now() and engine_tick().
 *
 *   call -> engine_op --+--> answer_write, answer_commit, pass
 *                       |
 *                    extents -> engine_io --> send_write, send_commit -> engine_on_*_result
 *
 * send_*() must not come back into the engine. answer_*() and pass() may: the engine runs
 * them last, when it is at rest.
 */
#ifndef NFSGATHER_ENGINE_H
#define NFSGATHER_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "nfsgather/buf.h"
#include "nfsgather/credential.h"
#include "nfsgather/hash.h"
#include "nfsgather/invariant.h"
#include "nfsgather/nfs3.h"
#include "nfsgather/stats.h"

struct engine;
struct engine_file;
struct extent;
struct generation;

/* What an upstream WRITE or COMMIT came back with, and what a client is answered. */
struct engine_write_result {
	/*
	 * Not 0: there were no results (the RPC was refused, or they did not decode), and
	 * the rest is not set. The number is the owner's; the engine passes it on.
	 */
	int refusal;
	uint32_t status; /* enum nfs3_status */
	struct nfs3_wcc wcc;
	uint32_t count; /* these three only with NFS3_OK */
	enum nfs3_stable committed;
	struct nfs3_verifier verifier;
};

struct engine_commit_result {
	int refusal;
	uint32_t status;
	struct nfs3_wcc wcc;
	struct nfs3_verifier verifier; /* only with NFS3_OK */
};

enum engine_op_kind {
	ENGINE_OP_WRITE,
	ENGINE_OP_COMMIT,
	/* Every other call that must see, or be ordered against, buffered bytes. */
	ENGINE_OP_BARRIER,
};

#define ENGINE_BARRIER_TABLE(X)                                                        \
	/* Bytes acked before it are at the upstream when it passes. */                \
	X(ENGINE_BARRIER_FLUSH, "flush")                                               \
	/* The same, and no later WRITE is acked or sent until it is done. */          \
	X(ENGINE_BARRIER_READ, "read")                                                 \
	/* The same, and alone: what changes the file's attributes. */                 \
	X(ENGINE_BARRIER_CHANGE, "change")                                             \
	/* The same, and sets the size: once done well, nothing beyond it is kept. */  \
	X(ENGINE_BARRIER_TRUNCATE, "truncate")

enum engine_barrier {
#define X(name, text) name,
	ENGINE_BARRIER_TABLE(X)
#undef X
};

/*
 * WAITING: a WRITE or COMMIT until it is answered, a barrier until it passes.
 * PASSED: a barrier the owner has sent upstream.
 */
#define ENGINE_OP_STATE_TABLE(X)                                                       \
	X(ENGINE_OP_IDLE, "idle")                                                      \
	X(ENGINE_OP_WAITING, "waiting")                                                \
	X(ENGINE_OP_PASSED, "passed")                                                  \
	X(ENGINE_OP_ANSWERED, "answered")

enum engine_op_state {
#define X(name, text) name,
	ENGINE_OP_STATE_TABLE(X)
#undef X
};

/* A byte range [start, end) in one of a file's trees (coalesce/range_tree.h). Engine's. */
struct range_node {
	uint64_t start;
	uint64_t end;
	uint64_t max_end; /* of this node's subtree */
	uint32_t priority;
	struct range_node *left;
	struct range_node *right;
	struct range_node *parent;
};

/* A place in a file's line: a WRITE on its way upstream, or a barrier. Engine's. */
struct line_entry {
	struct range_node range;
	uint64_t sequence; /* smaller ones go first where ranges overlap */
	bool is_barrier;
	bool is_shared; /* two shared entries do not wait for each other */
	bool is_out;	/* at the upstream */
	bool in_ready;
	bool waits_for_proof;		    /* a barrier whose turn it is otherwise */
	TAILQ_ENTRY(line_entry) ready_link; /* nothing before it any more */
};

/*
 * One call inside the engine. The caller owns the memory and keeps it until answer_*()
 * ran, or for barriers until engine_barrier_done() (FLUSH: until pass()). It fills the
 * first part; the rest is the engine's.
 */
struct engine_op {
	const struct nfs3_fh *fh;
	uint64_t client_id; /* who asks; equal ids are one client; not UINT64_MAX */
	struct credential *credential; /* WRITE, COMMIT; the caller's reference */
	uint64_t offset;	       /* WRITE; TRUNCATE: the new size */
	uint32_t count;		       /* WRITE */
	enum nfs3_stable stable;       /* WRITE */
	/*
	 * WRITE: `count` bytes at `data` inside `payload`. The engine takes its own
	 * reference and may keep it long after the op was answered.
	 */
	struct buf *payload;
	const uint8_t *data;
	enum engine_barrier barrier; /* BARRIER */
	/*
	 * READ: hold back WRITEs of the file also when nothing is buffered, so that the
	 * reply is settled for certain. For a second try.
	 */
	bool insists;

	/* engine's */
	enum engine_op_kind kind;
	enum engine_op_state state;
	struct engine_file *file;
	uint64_t sequence;	       /* of arrival */
	struct generation *generation; /* whose stability it waits for */
	struct line_entry line;	       /* BARRIER */
	struct engine_write_result write_result;
	struct engine_commit_result commit_result;
	TAILQ_ENTRY(engine_op) link;
};

TAILQ_HEAD(engine_op_list, engine_op);

/*
 * A WRITE or COMMIT the engine wants sent; the engine's memory, unchanged until its result
 * is in. `carrier` is the owner's to use. COMMITs are always of the whole file.
 */
struct engine_io {
	const struct nfs3_fh *fh;
	struct credential *credential;
	uint64_t offset;	 /* these four only for WRITE */
	uint32_t count;		 /* more than 0 unless a client's WRITE was empty */
	enum nfs3_stable stable; /* as it must go out */
	const uint8_t *data;
	void *carrier;
};

struct engine_ops {
	/* Send it; engine_on_*_result() follows exactly once, later, never from inside. */
	void (*send_write)(void *owner, struct engine_io *io);
	void (*send_commit)(void *owner, struct engine_io *io);
	/* The engine has let go of the op before it calls. */
	void (*answer_write)(void *owner, struct engine_op *op,
			     const struct engine_write_result *result);
	void (*answer_commit)(void *owner, struct engine_op *op,
			      const struct engine_commit_result *result);
	/*
	 * The barrier may go upstream now. FLUSH: the engine has let go of it. Others:
	 * engine_barrier_done() follows, later or from inside.
	 */
	void (*pass)(void *owner, struct engine_op *op);
	/*
	 * A buffer in which payloads are put together, charged to the memory limit until its
	 * last reference goes; it replaces the buffers it is made of. NULL: no memory, and
	 * the WRITEs will be smaller. The op may be missing: then buf_new() does.
	 */
	struct buf *(*payload_new)(void *owner, size_t bytes);
	/* For the log. The verifier changed (already done). */
	void (*on_rotation)(void *owner, const char *reason);
	/* For the log. Acked bytes of a file are lost; clients are told (doc/semantics.md). */
	void (*on_loss)(void *owner, const struct nfs3_fh *fh, uint64_t offset,
			uint64_t bytes, uint32_t status);
};

/* Thresholds and times; all must be set. */
struct engine_config {
	/* Acked bytes not yet sent: above this, writeback of the oldest starts. */
	uint64_t dirty_background_bytes;
	/* Acked bytes not yet answered by the upstream: above, WRITEs wait for it. */
	uint64_t dirty_bytes;
	/* Written bytes not yet proven stable: above, the file with most is committed. */
	uint64_t retained_bytes;
	uint64_t plug_max_us;	     /* bytes nobody added to for so long are sent */
	uint64_t dirty_expire_us;    /* bytes are sent at this age at the latest */
	uint64_t retained_expire_us; /* written bytes are committed at this age */
	uint64_t grant_us;	     /* how long a proof of permission holds */
	uint64_t shared_us;	     /* no early acks after a second client came */
	uint64_t quarantine_us;	     /* no early acks after an error */
	uint64_t sticky_us;	     /* how long an error waits for its client */
	uint64_t retry_first_us;     /* after JUKEBOX, doubling up to retry_max_us */
	uint64_t retry_max_us;
};

extern const struct engine_config engine_config_default;

/*
 * `first_verifier` must be random per start and is corrected if it is zero. `config` is
 * copied; `stats` outlives the engine. NULL when memory is short.
 */
struct engine *engine_new(const struct engine_ops *ops, void *owner,
			  const struct engine_config *config,
			  struct nfs3_verifier first_verifier, struct stats *stats);
/* Ops still inside are forgotten, not answered; ios at the upstream must be ended. */
void engine_free(struct engine *engine);

/* Monotonic microseconds; before any of the calls below. Time never goes back. */
void engine_set_now(struct engine *engine, uint64_t now_us);
/* Does what is due. The owner calls it when engine_next_deadline_us() has come. */
void engine_tick(struct engine *engine);
/* UINT64_MAX: nothing waits for time. May be early, never late. */
uint64_t engine_next_deadline_us(const struct engine *engine);

/*
 * Largest WRITE the upstream takes and largest file it allows (FSINFO); 0: not known yet,
 * and until then nothing is acked early.
 */
void engine_set_limits(struct engine *engine, uint32_t wtmax_bytes,
		       uint64_t maxfilesize_bytes);

/* Take a call in: 0 and the op's end follows, or -ENOMEM and nothing happened. */
MUST_CHECK int engine_write(struct engine *engine, struct engine_op *op);
MUST_CHECK int engine_commit(struct engine *engine, struct engine_op *op);
MUST_CHECK int engine_barrier(struct engine *engine, struct engine_op *op);
/*
 * A barrier that passed was answered by the upstream. `ok`: it succeeded. Grants of the
 * file end with CHANGE and TRUNCATE, whatever came of them.
 */
void engine_barrier_done(struct engine *engine, struct engine_op *op, bool ok);

/*
 * `resent`: it went out more than once, so the fate of the first is unknown. The owner must
 * have let go of `io` and its carrier before: the engine may free it, or send it again
 * from inside.
 */
void engine_on_write_result(struct engine *engine, struct engine_io *io,
			    const struct engine_write_result *result, bool resent);
void engine_on_commit_result(struct engine *engine, struct engine_io *io,
			     const struct engine_commit_result *result, bool resent);
/*
 * A connection to the upstream broke or was made again: the upstream may have restarted,
 * and then it does not have what was written and not committed. Call it when a break is
 * noticed, and before any result that came over a newer connection.
 */
void engine_on_disconnect(struct engine *engine);

/*
 * May attributes (and, for READ, bytes) of this file be shown that the upstream gave for a
 * call sent after engine_sequence() returned `since`? Not while acked bytes are on their
 * way, nor if some arrived there since, nor if they may be gone with a restart (I7, P5).
 */
bool engine_is_settled(const struct engine *engine, const struct nfs3_fh *fh,
		       uint64_t since);
/* Counts everything that happens; never goes back. */
uint64_t engine_sequence(const struct engine *engine);

/*
 * The last name of this file is gone by a client's wish, as far as is known. If the upstream
 * says STALE to its bytes from now on, nothing is lost.
 */
void engine_on_removed(struct engine *engine, const struct nfs3_fh *fh);
/*
 * Memory is short: writes back what is dirty and commits the file with most written bytes.
 * For as long as that is so, call it again from time to time.
 */
void engine_relieve(struct engine *engine);

/* Write back and commit everything, and ack nothing early any more. */
void engine_drain(struct engine *engine);
/* No acked byte is unproven. */
bool engine_is_clean(const struct engine *engine);

struct nfs3_verifier engine_verifier(const struct engine *engine);
/* Files the engine has a record of now. */
size_t engine_file_count(const struct engine *engine);

#endif
