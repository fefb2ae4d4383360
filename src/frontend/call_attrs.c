/*
 * Attributes that the upstream gave of files with buffered bytes do not reach clients (I7):
 * where the protocol lets a reply go without them, they are taken out.
 *
 * The hard case is the moment: not only files with buffered bytes now count, but also those
 * in which bytes were acked since the call was sent, for the upstream may have
 * answered before it had them.
 *
 * Not for READ and GETATTR, which must tell (call_barrier.c).
 */
#include "call_class.h"
#include "frontend_private.h"
#include "wire/nfs3_attrs.h"

static bool call_attrs_keep(void *arg, const struct nfs3_attrs *attrs)
{
	const struct call *call = arg;
	const struct frontend *frontend = call->frontend;

	if (attrs->role == NFS3_ATTRS_OF_DIR)
		return true;
	if (attrs->fh)
		return engine_is_settled(frontend->engine, attrs->fh, call->since);
	/* Which file it is cannot be told. */
	return attrs->wcc.has_after && attrs->wcc.after.type != NFS3_REG;
}

void call_hide_unsettled(struct call *call, struct buf *results)
{
	/* No file has ever had a record: nothing to ask about. */
	if (engine_file_count(call->frontend->engine) == 0)
		return;
	if (nfs3_attrs_filter(&call->nfs, results, call_attrs_keep, call) < 0)
		log_debug("upstream %s: results of %s do not decode",
			  frontend_name(call->frontend), call->proc->name);
}
