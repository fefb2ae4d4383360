/*
 * The engine's ops, and how calls get into the engine.
 */
#ifndef FRONTEND_ENGINE_GLUE_H
#define FRONTEND_ENGINE_GLUE_H

#include "call.h"

extern const struct engine_ops engine_glue_ops; /* owner: struct frontend */

/*
 * Hands call->op to the engine by `enter` (engine_write, engine_commit, engine_barrier;
 * then on_pass() runs when the barrier passes). When memory is short the call waits, in
 * order of arrival, for engine_glue_retry(). The call may be answered and gone on return.
 */
void engine_glue_start(struct call *call,
		       int (*enter)(struct engine *engine, struct engine_op *op));
/* A barrier that passed was answered. */
void engine_glue_barrier_done(struct call *call, bool ok);
/* The last name of this file is gone by the call. */
void engine_glue_removed(struct call *call, const struct nfs3_fh *fh);
void engine_glue_retry(struct frontend *frontend);

/* The ops themselves, beside the class of call they belong to. */
void call_write_answer(void *owner, struct engine_op *op,
		       const struct engine_write_result *result);
void call_commit_answer(void *owner, struct engine_op *op,
			const struct engine_commit_result *result);

#endif
