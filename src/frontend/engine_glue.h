/*
 * The engine's ops, and how calls get into the engine.
 */
#ifndef FRONTEND_ENGINE_GLUE_H
#define FRONTEND_ENGINE_GLUE_H

#include "call.h"

extern const struct engine_ops engine_glue_ops; /* owner: struct frontend */

/*
 * Hands call->op to the engine by the call's class. When the engine is short of
 * memory the call waits, in order of arrival, for engine_glue_retry(). The call may be
 * answered and gone on return.
 */
void engine_glue_start(struct call *call);
void engine_glue_retry(struct frontend *frontend);

/* The ops themselves, beside the class of call they belong to. */
void call_write_send(void *owner, struct engine_op *op);
void call_write_send_proving_commit(void *owner, struct engine_op *op);
void call_write_answer(void *owner, struct engine_op *op,
		       const struct engine_write_result *result);
void call_commit_send(void *owner, struct engine_op *op);
void call_commit_answer(void *owner, struct engine_op *op,
			const struct engine_commit_result *result);
void call_setattr_send(void *owner, struct engine_op *op);

#endif
