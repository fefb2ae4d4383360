/*
 * Answers calls: header, reply cache, session, release, in this order and nowhere else.
 *
 * The hard case: the session that asked is gone, or another one asked again meanwhile.
 * The call knows who asked last; the cache keeps what must not run twice even when nobody
 * is there to read the answer.
 *
 * Does not decide what the answer is.
 */
#include "reply.h"

#include "duplicate.h"
#include "frontend_private.h"
#include "nfsgather/invariant.h"
#include "session.h"
#include "upstream_io.h"
#include "wire/nfs3_result.h"

static void reply_settle_entry(struct call *call, struct buf *reply, bool ok)
{
	struct reply_cache *cache = call->frontend->replies;
	enum reply_keep keep;

	if (!call->entry)
		return;
	keep = reply ? duplicate_keep(call->proc, ok) : REPLY_KEEP_NOT;
	if (keep == REPLY_KEEP_NOT)
		reply_cache_forget(cache, call->entry);
	else
		reply_cache_answer(cache, call->entry, reply, keep,
				   call->session ? call->session->seq : 0);
	call->entry = NULL;
}

/* Takes the reference to a whole reply; NULL: short of memory. */
static void reply_finish(struct call *call, struct buf *reply, bool ok)
{
	struct session *session = call->session;

	if (!reply)
		reply = rpc_reply_accept_error(call->header.xid, RPC_ACCEPT_SYSTEM_ERR);
	reply_settle_entry(call, reply, ok);
	if (session && reply) {
		session_send(session, reply, call_take_reply_charge(call));
	} else {
		buf_unref(reply);
		/* The client will ask again on another connection. */
		if (session)
			session_close(session, SESSION_END_MEMORY);
	}
	call_free(call);
}

static void reply_trace(const struct call *call, const char *text)
{
	log_debug("upstream %s: session %s client %s xid 0x%08x %s: %s",
		  frontend_name(call->frontend),
		  call->session ? call->session->peer : "gone",
		  call->client ? call->client->text : "?", call->header.xid,
		  call->proc ? call->proc->name : "call", text);
}

static void reply_finish_error(struct call *call, struct buf *reply, const char *text)
{
	reply_trace(call, text);
	stats_count(call->frontend->stats, STAT_RPC_ERRORS_SENT);
	reply_finish(call, reply, false);
}

void reply_results(struct call *call, struct buf *results)
{
	bool ok;

	if (!results) {
		reply_finish_error(call, NULL, "no memory for the reply");
		return;
	}
	ok = call->proc->fail_shape == NFS_FAIL_VOID ||
	     nfs3_result_status(results) == NFS3_OK;
	reply_trace(call, ok ? "ok" : nfs3_status_name(nfs3_result_status(results)));
	rpc_reply_prepend(results, call->header.xid);
	reply_finish(call, results, ok);
}

void reply_failure(struct call *call, uint32_t status)
{
	reply_results(call, nfs3_failure_encode(call->proc->fail_shape, status));
}

void reply_accept_error(struct call *call, enum rpc_accept accept)
{
	static const char *const text[] = {
		[RPC_ACCEPT_SUCCESS] = "success",
		[RPC_ACCEPT_PROG_UNAVAIL] = "program unavailable",
		[RPC_ACCEPT_PROG_MISMATCH] = "program version mismatch",
		[RPC_ACCEPT_PROC_UNAVAIL] = "procedure unavailable",
		[RPC_ACCEPT_GARBAGE_ARGS] = "garbage arguments",
		[RPC_ACCEPT_SYSTEM_ERR] = "system error",
	};

	reply_finish_error(call, rpc_reply_accept_error(call->header.xid, accept),
			   text[accept]);
}

void reply_prog_mismatch(struct call *call, uint32_t low, uint32_t high)
{
	reply_finish_error(call, rpc_reply_prog_mismatch(call->header.xid, low, high),
			   "program version mismatch");
}

void reply_rpc_mismatch(struct call *call)
{
	reply_finish_error(call, rpc_reply_rpc_mismatch(call->header.xid),
			   "RPC version is not 2");
}

void reply_auth_error(struct call *call, enum rpc_auth_error error)
{
	reply_finish_error(call, rpc_reply_auth_error(call->header.xid, error),
			   "credential refused");
}

static void reply_log_denied(const struct call *call)
{
	struct frontend *frontend = call->frontend;

	if (call->session &&
	    frontend_peer_may_log(frontend, (const void *)&call->session->addr))
		log_warn(
			"upstream %s: denied %s of session %s client %s: its rules must "
			"admit this host, and may ask for a privileged source port",
			frontend_name(frontend), call->proc->name, call->session->peer,
			call->client->text);
}

void reply_outcome(struct call *call, enum upstream_outcome outcome)
{
	switch (outcome) {
	case UPSTREAM_PROG_UNAVAIL:
		reply_accept_error(call, RPC_ACCEPT_PROG_UNAVAIL);
		return;
	case UPSTREAM_PROG_MISMATCH:
		reply_prog_mismatch(call, 3, 3);
		return;
	case UPSTREAM_PROC_UNAVAIL:
		reply_accept_error(call, RPC_ACCEPT_PROC_UNAVAIL);
		return;
	case UPSTREAM_GARBAGE_ARGS:
		reply_accept_error(call, RPC_ACCEPT_GARBAGE_ARGS);
		return;
	case UPSTREAM_SYSTEM_ERR:
		reply_accept_error(call, RPC_ACCEPT_SYSTEM_ERR);
		return;
	case UPSTREAM_DENIED:
		reply_log_denied(call);
		reply_auth_error(call, RPC_AUTH_TOOWEAK);
		return;
	case UPSTREAM_CANCELLED:
		reply_drop(call);
		return;
	case UPSTREAM_ANSWERED:
		break;
	}
	UNREACHABLE();
}

void reply_refusal(struct call *call, int refusal)
{
	if (refusal == UPSTREAM_IO_GARBLED)
		reply_accept_error(call, RPC_ACCEPT_SYSTEM_ERR);
	else
		reply_outcome(call, (enum upstream_outcome)refusal);
}

void reply_drop(struct call *call)
{
	if (call->entry)
		reply_cache_forget(call->frontend->replies, call->entry);
	call->entry = NULL;
	call_free(call);
}
