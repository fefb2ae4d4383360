/*
 * SETATTR: relayed; when it sets the size it takes its place among the file's WRITEs.
 *
 * The hard case: a size-setting SETATTR that overtakes an earlier WRITE, or is overtaken by a
 * later one, leaves another file behind than the client asked for (P4).
 *
 * Does not check the guard: the upstream sees what the client sent.
 */
#include "call_class.h"
#include "engine_glue.h"
#include "frontend_private.h"
#include "reply.h"

static void call_setattr_done(struct upstream_request *request)
{
	struct call *call = call_of_request(request);

	/* Kept until frontend_free(), as in call_write.c. */
	if (request->outcome == UPSTREAM_CANCELLED)
		return;
	engine_on_truncate_done(call->frontend->engine, &call->op);
	if (request->outcome == UPSTREAM_ANSWERED)
		reply_results(call, request->results);
	else
		reply_outcome(call, request->outcome);
}

void call_setattr_send(void *owner, struct engine_op *op)
{
	(void)owner;
	call_submit(call_of_op(op), call_setattr_done);
}

void call_setattr_start(struct call *call)
{
	const struct nfs3_setattr_args *args = &call->nfs.args.setattr;

	if (!args->sattr.set_size) {
		call_relay_start(call);
		return;
	}
	call->op = (struct engine_op){
		.fh = &args->fh,
		.client_id = call->client->id,
		.offset = args->sattr.size,
	};
	engine_glue_start(call);
}
