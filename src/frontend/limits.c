/*
 * Learns wtmax and maxfilesize, from FSINFO of clients or by one of our own.
 *
 * The hard case is a client that mounted before this process started: it does not ask for
 * FSINFO again, so its first WRITE makes us ask. Until the answer is there the engine
 * passes WRITEs through.
 *
 * Not promised: limits of each file system by itself. Where one has a smaller wtmax than
 * was seen, the upstream writes less than it was sent, and the engine sends the rest.
 */
#include "limits.h"

#include "engine_clock.h"
#include "frontend_private.h"
#include "wire/nfs3_result.h"

#define LIMITS_ASK_AGAIN_US ((mono_us)10 * 1000 * 1000)

void limits_on_fsinfo(struct frontend *frontend, uint32_t wtmax_bytes)
{
	uint64_t maxfilesize_bytes =
		frontend->upstream_ops->maxfilesize_bytes(frontend->upstream);
	struct limits *limits = &frontend->limits;

	if (wtmax_bytes == 0 || maxfilesize_bytes == 0)
		return;
	if (limits->wtmax_bytes == 0 || wtmax_bytes < limits->wtmax_bytes)
		limits->wtmax_bytes = wtmax_bytes;
	limits->maxfilesize_bytes = maxfilesize_bytes;
	engine_set_limits(engine_clock_enter(frontend), limits->wtmax_bytes,
			  limits->maxfilesize_bytes);
	engine_clock_leave(frontend);
}

static void limits_on_answer(struct upstream_request *request)
{
	struct limits *limits = container_of(request, struct limits, request);
	struct frontend *frontend = container_of(limits, struct frontend, limits);
	uint32_t wtmax_bytes;

	limits->is_asking = false;
	if (request->outcome != UPSTREAM_ANSWERED)
		return;
	wtmax_bytes = nfs3_fsinfo_wtmax(request->results);
	buf_unref(request->results);
	limits_on_fsinfo(frontend, wtmax_bytes);
}

void limits_want(const struct call *call)
{
	struct frontend *frontend = call->frontend;
	struct limits *limits = &frontend->limits;
	mono_us now;

	if (limits->wtmax_bytes != 0 || limits->is_asking)
		return;
	limits_on_fsinfo(frontend,
			 frontend->upstream_ops->wtmax_bytes(frontend->upstream));
	now = clock_now(frontend->clock);
	if (limits->wtmax_bytes != 0 ||
	    (limits->has_asked && now - limits->asked < LIMITS_ASK_AGAIN_US))
		return;
	limits->is_asking = true;
	limits->has_asked = true;
	limits->asked = now;
	limits->cred = call->header.cred;
	limits->call = (struct nfs_call){
		.program = PROGRAM_NFS,
		.version = 3,
		.proc = NFS3_PROC_FSINFO,
		.args.fh = call->nfs.args.write.fh,
	};
	limits->request = (struct upstream_request){
		.call = &limits->call,
		.cred = &limits->cred,
		.done = limits_on_answer,
	};
	frontend->upstream_ops->submit(frontend->upstream, &limits->request);
}
