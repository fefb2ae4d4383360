/*
 * WRITE: into the engine with its bytes, back with the verifier the engine shows.
 *
 * The hard case is memory: an answered WRITE's bytes live on in the engine. So they stay
 * in the record they came in, and what that is charged with goes with the record.
 *
 * Does not send: the engine does, in pieces of its own (upstream_io.c).
 */
#include "call_class.h"
#include "engine_glue.h"
#include "frontend_private.h"
#include "reply.h"
#include "wire/nfs3_result.h"

void call_write_answer(void *owner, struct engine_op *op,
		       const struct engine_write_result *result)
{
	struct call *call = call_of_op(op);

	(void)owner;
	if (result->refusal != 0)
		reply_refusal(call, result->refusal);
	else
		reply_results(call, nfs3_write_result_encode(result));
}

void call_write_start(struct call *call)
{
	const struct nfs3_write_args *args = &call->nfs.args.write;

	limits_want(call);
	call->op = (struct engine_op){
		.fh = &args->fh,
		.client_id = call->client->id,
		.offset = args->offset,
		.count = args->count,
		.stable = args->stable,
		.payload = call->record,
		.data = args->payload.data,
	};
	engine_glue_start(call, engine_write);
}
