/*
 * The engine decides the order in which WRITEs and COMMITs of one upstream go out, what
 * they prove, and which write verifier clients see (promises P1 to P4).
 *
 * It does no I/O, has no clock and no globals: calls come in through engine_write(),
 * engine_commit() and engine_truncate(); it acts through struct engine_ops; what came of
 * an action comes back through the engine_on_*() functions. It may call its ops from
 * inside any of its own functions; an op must never call back into the engine.
 *
 * Today it relays: nothing is acknowledged before the upstream answered. So it keeps no
 * payload, only what it needs to notice that acknowledged data may be gone
 * (doc/semantics.md, I10).
 */
#ifndef NFSGATHER_ENGINE_H
#define NFSGATHER_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "nfsgather/hash.h"
#include "nfsgather/invariant.h"
#include "nfsgather/nfs3.h"
#include "nfsgather/stats.h"

struct engine;
struct engine_file;

/* What an upstream WRITE or COMMIT came back with. */
struct engine_write_result {
	uint32_t status; /* enum nfs3_status */
	struct nfs3_wcc wcc;
	uint32_t count; /* these three only with NFS3_OK */
	enum nfs3_stable committed;
	struct nfs3_verifier verifier;
};

struct engine_commit_result {
	uint32_t status;
	struct nfs3_wcc wcc;
	struct nfs3_verifier verifier; /* only with NFS3_OK */
};

enum engine_op_kind {
	ENGINE_OP_WRITE,
	ENGINE_OP_COMMIT,
	ENGINE_OP_TRUNCATE, /* SETATTR that sets the size: ordered like a WRITE to the end */
};

/*
 * WAITING: behind an overlapping op, or a COMMIT behind the one that is out.
 * SENT: upstream has it. UNPROVEN: a stable WRITE came back with less than was asked and
 * stands in line for our own COMMIT. PROVING: that COMMIT is out.
 */
#define ENGINE_OP_STATE_TABLE(X)                                                       \
	X(ENGINE_OP_IDLE, "idle")                                                      \
	X(ENGINE_OP_WAITING, "waiting")                                                \
	X(ENGINE_OP_SENT, "sent")                                                      \
	X(ENGINE_OP_UNPROVEN, "unproven")                                              \
	X(ENGINE_OP_PROVING, "proving")                                                \
	X(ENGINE_OP_ANSWERED, "answered")

enum engine_op_state {
#define X(name, text) name,
	ENGINE_OP_STATE_TABLE(X)
#undef X
};

/*
 * One call inside the engine. The caller owns the memory and keeps it until its answer_*
 * op ran. It fills the first part; the rest is the engine's.
 */
struct engine_op {
	const struct nfs3_fh *fh;
	uint64_t client_id;	/* who asks; equal ids are one client; not UINT64_MAX */
	uint64_t credential_id; /* COMMIT: equal ids are one credential */
	uint64_t offset;	/* WRITE; TRUNCATE: the new size */
	uint32_t count;		/* WRITE */
	enum nfs3_stable stable;

	/* engine's */
	enum engine_op_kind kind;
	enum engine_op_state state;
	struct engine_file *file;
	unsigned int proving_rounds;
	bool in_doubt; /* SENT, UNPROVEN: a COMMIT of the file failed meanwhile */
	uint64_t arrival_sequence;
	uint64_t sent_sequence;
	struct engine_write_result write_result;
	TAILQ_ENTRY(engine_op) link; /* WRITE, TRUNCATE: order within the file */
	TAILQ_ENTRY(engine_op)
	commit_link; /* COMMIT; UNPROVEN: the file's COMMIT line */
};

struct engine_ops {
	/* Send this call upstream as it is; engine_on_*_result() follows, later, once. */
	void (*send_write)(void *owner, struct engine_op *op);
	void (*send_commit)(void *owner, struct engine_op *op);
	void (*send_truncate)(void *owner, struct engine_op *op);
	/*
	 * Send a COMMIT of the whole file of this WRITE, with its credential;
	 * engine_on_commit_result() follows for the same op.
	 */
	void (*send_proving_commit)(void *owner, struct engine_op *op);
	/* Answer the client. The engine has let go of the op before it calls. */
	void (*answer_write)(void *owner, struct engine_op *op,
			     const struct engine_write_result *result);
	void (*answer_commit)(void *owner, struct engine_op *op,
			      const struct engine_commit_result *result);
	/* The verifier changed (already done): for the log. */
	void (*on_rotation)(void *owner, const char *reason);
};

/*
 * `first_verifier` must be random per start and is corrected if it is zero. `stats`
 * outlives the engine. NULL when memory is short.
 */
struct engine *engine_new(const struct engine_ops *ops, void *owner,
			  struct nfs3_verifier first_verifier, struct stats *stats);
/* Ops still inside are forgotten, not answered. */
void engine_free(struct engine *engine);

/* Take a call in: 0 and an answer_* op follows, or -ENOMEM and nothing happened. */
MUST_CHECK int engine_write(struct engine *engine, struct engine_op *op);
MUST_CHECK int engine_commit(struct engine *engine, struct engine_op *op);
/* A TRUNCATE is let go of with engine_on_truncate_done(), not answered. */
MUST_CHECK int engine_truncate(struct engine *engine, struct engine_op *op);

/* `resent`: it went out more than once, so the fate of the first is unknown (I10). */
void engine_on_write_result(struct engine *engine, struct engine_op *op,
			    const struct engine_write_result *result);
void engine_on_commit_result(struct engine *engine, struct engine_op *op,
			     const struct engine_commit_result *result, bool resent);
void engine_on_truncate_done(struct engine *engine, struct engine_op *op);
/*
 * The upstream refused the RPC itself (no results): the op leaves the engine
 * unanswered by it; the caller answers its client.
 */
void engine_on_no_result(struct engine *engine, struct engine_op *op, bool resent);

struct nfs3_verifier engine_verifier(const struct engine *engine);
/* Files the engine has a record of now. */
size_t engine_file_count(const struct engine *engine);

#endif
