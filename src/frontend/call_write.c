/*
 * WRITE: into the engine, out to the upstream when the engine says so, back with the
 * verifier the engine shows.
 *
 * The hard case is a result that is no result (an RPC error, bytes that do not decode): the
 * engine must hear of it, since the bytes may have been written all the same, and the
 * client gets an RPC error, never an OK.
 *
 * Does not judge verifiers or stability: the engine does.
 */
#include "call_class.h"
#include "engine_glue.h"
#include "frontend_private.h"
#include "reply.h"
#include "wire/nfs3_result.h"

/*
 * True: the op leaves the engine unanswered. A cancelled call stays in both until
 * frontend_free(): letting the engine go on would make it submit to a closing upstream.
 */
static bool call_write_has_no_result(struct call *call,
				     struct upstream_request *request)
{
	if (request->outcome == UPSTREAM_ANSWERED)
		return false;
	if (request->outcome == UPSTREAM_CANCELLED)
		return true;
	engine_on_no_result(call->frontend->engine, &call->op,
			    call_was_resent(request));
	reply_outcome(call, request->outcome);
	return true;
}

static void call_write_garbled(struct call *call, struct upstream_request *request)
{
	log_warn("upstream %s: results of %s do not decode",
		 frontend_name(call->frontend), call->proc->name);
	engine_on_no_result(call->frontend->engine, &call->op,
			    call_was_resent(request));
	reply_accept_error(call, RPC_ACCEPT_SYSTEM_ERR);
}

static void call_write_done(struct upstream_request *request)
{
	struct call *call = call_of_request(request);
	struct engine_write_result result;
	int err;

	if (call_write_has_no_result(call, request))
		return;
	err = nfs3_write_result_decode(&result, request->results);
	buf_unref(request->results);
	if (err < 0)
		call_write_garbled(call, request);
	else
		engine_on_write_result(call->frontend->engine, &call->op, &result);
}

void call_write_send(void *owner, struct engine_op *op)
{
	(void)owner;
	call_submit(call_of_op(op), call_write_done);
}

static void call_write_proving_done(struct upstream_request *request)
{
	struct call *call = call_of_proving_request(request);
	struct engine_commit_result result;
	int err;

	if (call_write_has_no_result(call, request))
		return;
	err = nfs3_commit_result_decode(&result, request->results);
	buf_unref(request->results);
	if (err < 0)
		call_write_garbled(call, request);
	else
		engine_on_commit_result(call->frontend->engine, &call->op, &result,
					call_was_resent(request));
}

void call_write_send_proving_commit(void *owner, struct engine_op *op)
{
	struct frontend *frontend = owner;
	struct call *call = call_of_op(op);

	call->proving_nfs = (struct nfs_call){
		.program = PROGRAM_NFS,
		.version = call->nfs.version,
		.proc = NFS3_PROC_COMMIT,
		.args.commit = { .fh = call->nfs.args.write.fh },
	};
	call->proving_request = (struct upstream_request){
		.call = &call->proving_nfs,
		.cred = &call->header.cred,
		.done = call_write_proving_done,
	};
	frontend->upstream_ops->submit(frontend->upstream, &call->proving_request);
}

void call_write_answer(void *owner, struct engine_op *op,
		       const struct engine_write_result *result)
{
	(void)owner;
	reply_results(call_of_op(op), nfs3_write_result_encode(result));
}

void call_write_start(struct call *call)
{
	const struct nfs3_write_args *args = &call->nfs.args.write;

	call->op = (struct engine_op){
		.fh = &args->fh,
		.client_id = call->client->id,
		.offset = args->offset,
		.count = args->count,
		.stable = args->stable,
	};
	engine_glue_start(call);
}
