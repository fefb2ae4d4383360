/*
 * The engine's own state; only src/coalesce sees it.
 */
#ifndef COALESCE_ENGINE_PRIVATE_H
#define COALESCE_ENGINE_PRIVATE_H

#include "coalesce/file.h"
#include "nfsgather/engine.h"

enum {
	/* Files with answered, uncommitted WRITEs and nothing in progress. */
	ENGINE_IDLE_FILES_MAX = 16384,
	/* Upstream verifiers of files given up; more would be a rotation. */
	ENGINE_SPILLED_MAX = 8,
	/* Times a stable WRITE is sent again until its proving COMMIT agrees with it. */
	ENGINE_PROVING_ROUNDS_MAX = 4,
};

struct engine {
	const struct engine_ops *ops;
	void *owner;
	struct stats *stats;
	struct nfs3_verifier verifier;
	/* Counts answers and sendings, so that "answered before it was sent" is exact. */
	uint64_t sequence;
	struct file_table files;
	/*
	 * Upstream verifiers of ledger entries that found no place: any COMMIT that comes
	 * back with another one rotates.
	 */
	unsigned int spilled_count;
	struct nfs3_verifier spilled[ENGINE_SPILLED_MAX];
};

/* engine.c */
/* The one mover of op states. */
void engine_op_set_state(struct engine_op *op, enum engine_op_state state);
/* Sends a WRITE or TRUNCATE (again). */
void engine_send(struct engine *engine, struct engine_op *op);
/*
 * Lets go of an op; those that waited behind it go out. The caller answers it afterwards,
 * as the last thing it does: answering may bring the next call in.
 */
void engine_op_end(struct engine *engine, struct engine_op *op);
void engine_answer_write(struct engine *engine, struct engine_op *op,
			 struct engine_write_result result);

/* commit.c */
/* Puts a COMMIT, or a WRITE that needs proof, in its file's line and starts what can start. */
void commit_enter(struct engine *engine, struct engine_op *op);
/* The file's COMMIT that was out, for this op, ended without results. */
void commit_on_no_result(struct engine *engine, struct engine_op *op, bool resent);

/* rotation.c */
/* From here on every WRITE answered so far counts as not stable (I2). */
void rotation_make(struct engine *engine, const char *reason);
/* Remembers an upstream verifier for which no ledger entry is left. */
void rotation_spill(struct engine *engine, const struct nfs3_verifier *verifier);
bool rotation_spilled_disproves(const struct engine *engine,
				const struct nfs3_verifier *verifier);
/* Gives up the files longest without an answer when there are too many. */
void rotation_bound_idle_files(struct engine *engine);

#endif
