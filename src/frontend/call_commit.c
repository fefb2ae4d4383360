/*
 * COMMIT: into the engine, back with the verifier the engine shows.
 *
 * The hard case: some clients' ranges are wrong (32-bit counts that wrapped), and what a
 * partial COMMIT proves is hard to keep account of. Committing more than was asked is
 * legal, so a COMMIT always means the whole file.
 *
 * Does not join COMMITs and does not send them: that is the engine's to decide.
 */
#include "call_class.h"
#include "engine_glue.h"
#include "frontend_private.h"
#include "reply.h"
#include "wire/nfs3_result.h"

void call_commit_answer(void *owner, struct engine_op *op,
			const struct engine_commit_result *result)
{
	struct call *call = call_of_op(op);

	(void)owner;
	if (result->refusal != 0)
		reply_refusal(call, result->refusal);
	else
		reply_results(call, nfs3_commit_result_encode(result));
}

void call_commit_start(struct call *call)
{
	call->op = (struct engine_op){
		.fh = &call->nfs.args.commit.fh,
		.client_id = call->client->id,
	};
	engine_glue_start(call, engine_commit);
}
