/*
 * Calls in progress and the memory they live in.
 *
 * The hard case: a call may end deep inside a function of the engine or the upstream, on
 * a session that is closed in the same turn; so everything it holds is given back
 * here, and nothing here calls back (admission only takes note, sessions act later).
 *
 * Does not answer: reply.c does, and then frees the call.
 */
#include "call.h"

#include <stdlib.h>

#include "frontend_private.h"
#include "session.h"

enum { CALL_SPARE_MAX = 256 };

void call_pool_init(struct call_pool *pool)
{
	*pool = (struct call_pool){ 0 };
	TAILQ_INIT(&pool->live);
	TAILQ_INIT(&pool->spare);
}

void call_pool_fini(struct call_pool *pool)
{
	struct call *call;
	struct call *next;

	INVARIANT(pool->live_count == 0);
	for (call = TAILQ_FIRST(&pool->spare); call; call = next) {
		next = TAILQ_NEXT(call, link);
		free(call);
	}
	call_pool_init(pool);
}

struct call *call_new(struct frontend *frontend, struct session *session)
{
	struct call_pool *pool = &frontend->calls;
	struct call *call = TAILQ_FIRST(&pool->spare);

	if (call) {
		TAILQ_REMOVE(&pool->spare, call, link);
		pool->spare_count--;
	} else {
		call = malloc(sizeof(*call));
		if (!call)
			return NULL;
	}
	*call = (struct call){ .frontend = frontend, .rule = session->rule };
	TAILQ_INSERT_TAIL(&pool->live, call, link);
	pool->live_count++;
	call_set_session(call, session);
	return call;
}

void call_set_session(struct call *call, struct session *session)
{
	struct session *old = call->session;

	if (old) {
		TAILQ_REMOVE(&old->calls, call, session_link);
		old->call_count--;
		old->expected_bytes -= call->reply_charge_bytes;
	}
	call->session = session;
	if (session) {
		TAILQ_INSERT_TAIL(&session->calls, call, session_link);
		session->call_count++;
		session->expected_bytes += call->reply_charge_bytes;
	}
	if (old)
		session_on_call_gone(old);
}

void call_set_reply_charge(struct call *call, size_t charge_bytes)
{
	INVARIANT(call->reply_charge_bytes == 0);
	call->reply_charge_bytes = charge_bytes;
	if (call->session)
		call->session->expected_bytes += charge_bytes;
}

size_t call_take_reply_charge(struct call *call)
{
	size_t charge_bytes = call->reply_charge_bytes;

	call->reply_charge_bytes = 0;
	if (call->session)
		call->session->expected_bytes -= charge_bytes;
	return charge_bytes;
}

void call_free(struct call *call)
{
	struct call_pool *pool = &call->frontend->calls;
	struct admission_share *share = call->frontend->share;

	INVARIANT(!call->entry);
	/* The engine has let go of it, or has gone itself. */
	INVARIANT(!call->frontend->engine || call->op.state == ENGINE_OP_IDLE ||
		  call->op.state == ENGINE_OP_ANSWERED);
	call_set_session(call, NULL);
	client_unref(call->client);
	buf_unref(call->record);
	credential_unref(call->credential);
	if (call->copy_charge_bytes > 0)
		admission_release(share, call->copy_charge_bytes);
	if (call->reply_charge_bytes > 0)
		admission_release(share, call->reply_charge_bytes);
	TAILQ_REMOVE(&pool->live, call, link);
	pool->live_count--;
	if (pool->spare_count >= CALL_SPARE_MAX) {
		free(call);
		return;
	}
	TAILQ_INSERT_HEAD(&pool->spare, call, link);
	pool->spare_count++;
}
