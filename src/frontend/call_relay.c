/*
 * Relayed calls: the arguments go upstream as decoded, the results come back as bytes.
 *
 * The hard case is what must not pass unchanged: sizes in FSINFO of READs that libnfs does
 * not carry and of WRITEs that our share of the memory does not hold, write bits in ACCESS
 * for a client that may only read, attributes of files with buffered bytes (call_attrs.c).
 *
 * Does not look into other results, and promises nothing about their contents.
 */
#include "call_class.h"
#include "frontend_private.h"
#include "reply.h"
#include "wire/nfs3_result.h"
#include "wire/xdr.h"

struct call *call_of_request(struct upstream_request *request)
{
	return container_of(request, struct call, request);
}

struct call *call_of_op(struct engine_op *op)
{
	return container_of(op, struct call, op);
}

void call_submit(struct call *call, void (*done)(struct upstream_request *request))
{
	struct frontend *frontend = call->frontend;

	call->since = engine_sequence(frontend->engine);
	call->request = (struct upstream_request){
		.call = &call->nfs,
		.cred = &call->header.cred,
		.done = done,
	};
	frontend->upstream_ops->submit(frontend->upstream, &call->request);
}

/* RFC 1813 s3.3.6: status, attributes, then how many bytes were read. */
static uint32_t call_read_count(struct buf *results)
{
	enum { ATTR_BYTES = 84 };
	struct xdr_in in;
	uint32_t count;

	xdr_in_init(&in, buf_start(results), results->len_bytes);
	if (xdr_in_u32(&in) != NFS3_OK)
		return 0;
	if (xdr_in_bool(&in))
		xdr_in_fixed(&in, ATTR_BYTES);
	count = xdr_in_u32(&in);
	return xdr_in_ok(&in) ? count : 0;
}

/* The largest record grows with the wtmax that was seen, so that is noted first. */
static void call_adjust_fsinfo(struct frontend *frontend, struct buf *results)
{
	uint32_t wtmax_bytes = nfs3_fsinfo_wtmax(results);

	if (wtmax_bytes > frontend->wtmax_seen_bytes)
		frontend->wtmax_seen_bytes = wtmax_bytes;
	nfs3_fsinfo_cap_sizes(results, FRONTEND_READ_MAX_BYTES,
			      frontend_record_max_bytes(frontend) -
				      FRONTEND_RECORD_EXTRA_BYTES);
	limits_on_fsinfo(frontend, wtmax_bytes);
}

void call_relay_adjust(const struct call *call, struct buf *results)
{
	struct frontend *frontend = call->frontend;

	if (call->nfs.program != PROGRAM_NFS)
		return;
	switch (call->nfs.proc) {
	case NFS3_PROC_READ:
		stats_add(frontend->stats, STAT_CLIENT_READ_BYTES,
			  call_read_count(results));
		break;
	case NFS3_PROC_ACCESS:
		if (!call->rule->read_write)
			nfs3_access_clear(results, NFS3_ACCESS_MODIFY |
							   NFS3_ACCESS_EXTEND |
							   NFS3_ACCESS_DELETE);
		break;
	case NFS3_PROC_FSINFO:
		call_adjust_fsinfo(frontend, results);
		break;
	default:
		break;
	}
}

void call_relay_done(struct upstream_request *request)
{
	struct call *call = call_of_request(request);

	if (request->outcome != UPSTREAM_ANSWERED) {
		reply_outcome(call, request->outcome);
		return;
	}
	call_hide_unsettled(call, request->results);
	call_relay_adjust(call, request->results);
	reply_results(call, request->results);
}

void call_relay_start(struct call *call)
{
	call_submit(call, call_relay_done);
}
