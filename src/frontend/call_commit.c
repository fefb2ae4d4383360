/*
 * COMMIT: into the engine, upstream as a COMMIT of the whole file, back with the
 * verifier the engine shows.
 *
 * The hard case: some clients' ranges are wrong (32-bit counts that wrapped), and what a
 * partial COMMIT proves is hard to keep account of. Committing more than was asked is
 * legal, so offset and count always go out as 0 (I10).
 *
 * Does not join COMMITs: that is the engine's to decide.
 */
#include <string.h>

#include "call_class.h"
#include "engine_glue.h"
#include "frontend_private.h"
#include "reply.h"
#include "wire/nfs3_result.h"

static void call_commit_refused(struct call *call, enum upstream_outcome outcome)
{
	/* Kept until frontend_free(), as in call_write.c. */
	if (outcome == UPSTREAM_CANCELLED)
		return;
	engine_on_no_result(call->frontend->engine, &call->op,
			    call_was_resent(&call->request));
	reply_outcome(call, outcome);
}

static void call_commit_done(struct upstream_request *request)
{
	struct call *call = call_of_request(request);
	struct engine_commit_result result;
	int err;

	if (request->outcome != UPSTREAM_ANSWERED) {
		call_commit_refused(call, request->outcome);
		return;
	}
	err = nfs3_commit_result_decode(&result, request->results);
	buf_unref(request->results);
	if (err < 0) {
		log_warn("upstream %s: results of COMMIT do not decode",
			 frontend_name(call->frontend));
		call_commit_refused(call, UPSTREAM_SYSTEM_ERR);
		return;
	}
	engine_on_commit_result(call->frontend->engine, &call->op, &result,
				call_was_resent(request));
}

void call_commit_send(void *owner, struct engine_op *op)
{
	(void)owner;
	call_submit(call_of_op(op), call_commit_done);
}

void call_commit_answer(void *owner, struct engine_op *op,
			const struct engine_commit_result *result)
{
	(void)owner;
	reply_results(call_of_op(op), nfs3_commit_result_encode(result));
}

/* Who asks, as far as permission goes: stamp and machine name do not count. */
static uint64_t call_credential_id(const struct rpc_cred *cred)
{
	uint32_t ids[4 + RPC_AUTH_SYS_GIDS_MAX] = { (uint32_t)cred->flavor, cred->uid,
						    cred->gid, cred->gid_count };

	memcpy(ids + 4, cred->gids, cred->gid_count * sizeof(ids[0]));
	return hash_bytes(ids, sizeof(ids));
}

void call_commit_start(struct call *call)
{
	call->nfs.args.commit.offset = 0;
	call->nfs.args.commit.count = 0;
	call->op = (struct engine_op){
		.fh = &call->nfs.args.commit.fh,
		.client_id = call->client->id,
		.credential_id = call_credential_id(&call->header.cred),
	};
	engine_glue_start(call);
}
