/*
 * Calls that name a file with buffered bytes by directory and name: REMOVE, RENAME, and
 * CREATE when it cuts an existing file.
 *
 *   REMOVE   LOOKUP name --> flush --> relay
 *   RENAME   LOOKUP source --> flush --> LOOKUP target --> flush --> relay
 *   CREATE   LOOKUP name --> truncate barrier --> relay --> done
 *
 * The hard case is what must not happen first: WRITEs that reach the upstream after the
 * name is gone may meet another file there, those after a rename leave the new name empty
 * for a while, and those after a cut undo it. The file itself is never given up by its
 * name: others may lead to it.
 *
 * Not promised: that nobody else changes the name between LOOKUP and call. While nothing
 * is buffered anywhere, none of this happens.
 */
#include "call_class.h"
#include "engine_glue.h"
#include "frontend_private.h"
#include "reply.h"
#include "wire/nfs3_result.h"

static void call_name_lookup(struct call *call, const struct nfs3_dirop *where,
			     void (*done)(struct upstream_request *request))
{
	struct frontend *frontend = call->frontend;

	call->lookup = (struct nfs_call){
		.program = PROGRAM_NFS,
		.version = call->nfs.version,
		.proc = NFS3_PROC_LOOKUP,
		.args.dirop = *where,
	};
	call->request = (struct upstream_request){
		.call = &call->lookup,
		.cred = &call->header.cred,
		.done = done,
	};
	frontend->upstream_ops->submit(frontend->upstream, &call->request);
}

/*
 * True: found, and found_fh is set. Else the call is not this function's any more: it was
 * answered, or `otherwise` went on with it, there being no such file or none to be seen
 * with this credential, which the upstream will say again.
 */
static bool call_name_was_found(struct call *call, void (*otherwise)(struct call *call))
{
	struct upstream_request *request = &call->request;
	struct nfs3_wcc attr;
	uint32_t status;
	int err;

	if (request->outcome != UPSTREAM_ANSWERED) {
		reply_outcome(call, request->outcome);
		return false;
	}
	status = nfs3_result_status(request->results);
	err = nfs3_lookup_result_decode(&call->found_fh, &attr, request->results);
	buf_unref(request->results);
	if (err == 0) {
		call->found_last_name = attr.has_after && attr.after.nlink == 1;
		return true;
	}
	/* The name may be there. The upstream's own words, not ours. */
	if (status == NFS3ERR_JUKEBOX)
		reply_failure(call, status);
	else if (status == NFS3_OK)
		reply_accept_error(call, RPC_ACCEPT_SYSTEM_ERR);
	else
		otherwise(call);
	return false;
}

static void call_name_barrier(struct call *call, enum engine_barrier kind,
			      void (*passed)(struct call *call))
{
	call->on_pass = passed;
	call->op = (struct engine_op){
		.fh = &call->found_fh,
		.client_id = call->client->id,
		.barrier = kind,
	};
	if (kind == ENGINE_BARRIER_TRUNCATE)
		call->op.offset = call->nfs.args.create.sattr.size;
	engine_glue_start(call, engine_barrier);
}

/* What was found under the name is gone from there; unless it was renamed to itself. */
static void call_name_gone(struct upstream_request *request)
{
	struct call *call = call_of_request(request);

	if (request->outcome == UPSTREAM_ANSWERED && call->found_last_name &&
	    nfs3_result_status(request->results) == NFS3_OK &&
	    !nfs3_fh_equal(&call->found_fh, &call->source_fh))
		engine_glue_removed(call, &call->found_fh);
	call_relay_done(request);
}

static void call_name_remove(struct call *call)
{
	call_submit(call, call_name_gone);
}

/* REMOVE, and RENAME's second name. */
static void call_name_last_found(struct upstream_request *request)
{
	struct call *call = call_of_request(request);

	if (call_name_was_found(call, call_relay_start))
		call_name_barrier(call, ENGINE_BARRIER_FLUSH, call_name_remove);
}

static void call_name_look_for_target(struct call *call)
{
	call_name_lookup(call, &call->nfs.args.rename.to, call_name_last_found);
}

static void call_name_source_found(struct upstream_request *request)
{
	struct call *call = call_of_request(request);

	/* Without a source RENAME does nothing. */
	if (!call_name_was_found(call, call_relay_start))
		return;
	call->source_fh = call->found_fh;
	call_name_barrier(call, ENGINE_BARRIER_FLUSH, call_name_look_for_target);
}

/* Was it the file that was found which CREATE cut? */
static bool call_name_has_cut(const struct call *call, const struct buf *results)
{
	struct nfs3_fh fh;

	if (nfs3_result_status(results) != NFS3_OK)
		return false;
	return !nfs3_create_result_has_fh(&fh, results) ||
	       nfs3_fh_equal(&fh, &call->found_fh);
}

static void call_name_create_done(struct upstream_request *request)
{
	struct call *call = call_of_request(request);

	/* Stays in the engine until frontend_free(), as in call_barrier.c. */
	if (request->outcome == UPSTREAM_CANCELLED)
		return;
	if (request->outcome != UPSTREAM_ANSWERED) {
		engine_glue_barrier_done(call, false);
		reply_outcome(call, request->outcome);
		return;
	}
	call_hide_unsettled(call, request->results);
	engine_glue_barrier_done(call, call_name_has_cut(call, request->results));
	reply_results(call, request->results);
}

static void call_name_create_passed(struct call *call)
{
	call_submit(call, call_name_create_done);
}

static void call_name_create_found(struct upstream_request *request)
{
	struct call *call = call_of_request(request);

	if (call_name_was_found(call, call_relay_start))
		call_name_barrier(call, ENGINE_BARRIER_TRUNCATE,
				  call_name_create_passed);
}

static bool call_name_is_anything_buffered(const struct frontend *frontend)
{
	const uint64_t *gauge = frontend->stats->gauge;

	return gauge[GAUGE_DIRTY_BYTES] + gauge[GAUGE_RETAINED_BYTES] > 0;
}

void call_name_start(struct call *call)
{
	const struct nfs3_create_args *create = &call->nfs.args.create;

	if (!call_name_is_anything_buffered(call->frontend)) {
		call_relay_start(call);
		return;
	}
	if (call->nfs.proc == NFS3_PROC_REMOVE)
		call_name_lookup(call, &call->nfs.args.dirop, call_name_last_found);
	else if (call->nfs.proc == NFS3_PROC_RENAME)
		call_name_lookup(call, &call->nfs.args.rename.from,
				 call_name_source_found);
	else if (create->mode == NFS3_UNCHECKED && create->sattr.set_size)
		call_name_lookup(call, &create->where, call_name_create_found);
	else
		call_relay_start(call);
}
