/*
 * Calls that must see, or be ordered against, buffered bytes of the file they name by its
 * handle: READ, GETATTR, SETATTR, NFSACL SETACL. They wait in the engine until those
 * bytes are at the upstream, then they are relayed.
 *
 *   engine_barrier() --> passes --> upstream --> settled? --> reply
 *          ^                                        |
 *          `---- once more, and it insists ---------'  READ, GETATTR
 *
 * The hard case is a reply that tells of a moment before the last acknowledged WRITE: READ
 * and GETATTR of a file without buffered bytes do not hold WRITEs back, so one may have been
 * acked while they were out, or the upstream may have lost bytes with a restart. Then they
 * are asked again, as often as it takes: each time the upstream has answered first.
 *
 * Does not check SETATTR's guard: the upstream sees what the client sent.
 */
#include "call_class.h"
#include "engine_clock.h"
#include "engine_glue.h"
#include "frontend_private.h"
#include "reply.h"
#include "wire/nfs3_result.h"

static enum engine_barrier call_barrier_kind(const struct call *call)
{
	if (call->nfs.program == PROGRAM_NFSACL)
		return ENGINE_BARRIER_CHANGE;
	if (call->nfs.proc != NFS3_PROC_SETATTR)
		return ENGINE_BARRIER_READ;
	return call->nfs.args.setattr.sattr.set_size ? ENGINE_BARRIER_TRUNCATE
						     : ENGINE_BARRIER_CHANGE;
}

static void call_barrier_enter(struct call *call, bool insists)
{
	enum engine_barrier kind = call_barrier_kind(call);

	call->op = (struct engine_op){
		.fh = nfs_call_fh(&call->nfs),
		.client_id = call->client->id,
		.barrier = kind,
		.insists = insists,
	};
	if (kind == ENGINE_BARRIER_TRUNCATE)
		call->op.offset = call->nfs.args.setattr.sattr.size;
	engine_glue_start(call, engine_barrier);
}

/* The results tell of the file as it is after all that was acked. */
static bool call_barrier_is_settled(const struct call *call)
{
	return call->op.barrier != ENGINE_BARRIER_READ ||
	       engine_is_settled(call->frontend->engine, call->op.fh, call->since);
}

static void call_barrier_done(struct upstream_request *request)
{
	struct call *call = call_of_request(request);
	struct buf *results = request->results;
	bool ok;

	/*
	 * Stays in the engine until frontend_free(): letting the engine go on would make
	 * it submit to a closing upstream.
	 */
	if (request->outcome == UPSTREAM_CANCELLED)
		return;
	if (request->outcome != UPSTREAM_ANSWERED) {
		engine_glue_barrier_done(call, false);
		reply_outcome(call, request->outcome);
		return;
	}
	ok = nfs3_result_status(results) == NFS3_OK;
	/* All questions before the engine lets go on what this one held back. */
	if (ok && !call_barrier_is_settled(call)) {
		buf_unref(results);
		engine_glue_barrier_done(call, false);
		call_barrier_enter(call, true);
		return;
	}
	call_hide_unsettled(call, results);
	engine_glue_barrier_done(call, ok);
	call_relay_adjust(call, results);
	reply_results(call, results);
}

static void call_barrier_passed(struct call *call)
{
	call_submit(call, call_barrier_done);
}

void call_barrier_start(struct call *call)
{
	call->on_pass = call_barrier_passed;
	call_barrier_enter(call, false);
}
