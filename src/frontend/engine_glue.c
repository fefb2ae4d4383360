/*
 * Between calls and the engine: its ops table, and the line of calls there was no memory
 * for.
 *
 * The hard case: once one call waits for memory, every later one must stand behind it,
 * or a newer WRITE of the same bytes could pass an older one (P4).
 *
 * Does not encode or decode: call_write.c, call_commit.c and upstream_io.c do.
 */
#include "engine_glue.h"

#include <errno.h>
#include <inttypes.h>

#include "call_class.h"
#include "engine_clock.h"
#include "frontend_private.h"
#include "upstream_io.h"

static void engine_glue_pass(void *owner, struct engine_op *op)
{
	struct call *call = call_of_op(op);

	(void)owner;
	if (op->barrier == ENGINE_BARRIER_FLUSH)
		*op = (struct engine_op){ 0 }; /* the engine has let go of it */
	call->on_pass(call);
}

static struct buf *engine_glue_payload_new(void *owner, size_t bytes)
{
	struct frontend *frontend = owner;
	struct buf *payload = buf_new(bytes);

	if (!payload)
		return NULL;
	admission_charge(frontend->share, bytes);
	frontend_attach_charge(frontend, payload, bytes);
	return payload;
}

static void engine_glue_on_rotation(void *owner, const char *reason)
{
	const struct frontend *frontend = owner;

	log_warn(
		"upstream %s: write verifier changed, clients will send again what they "
		"have not committed: %s",
		frontend_name(frontend), reason);
}

static void engine_glue_on_loss(void *owner, const struct nfs3_fh *fh, uint64_t offset,
				uint64_t bytes, uint32_t status)
{
	struct frontend *frontend = owner;

	if (log_limit_allows(&frontend->loss_limit, clock_now(frontend->clock)))
		log_error("upstream %s: file %08x: %" PRIu64 " bytes at %" PRIu64
			  " that clients were told are written are lost: %s",
			  frontend_name(frontend),
			  (unsigned int)hash_bytes(fh->data, fh->len), bytes, offset,
			  nfs3_status_name(status));
}

const struct engine_ops engine_glue_ops = {
	.send_write = upstream_io_send_write,
	.send_commit = upstream_io_send_commit,
	.answer_write = call_write_answer,
	.answer_commit = call_commit_answer,
	.pass = engine_glue_pass,
	.payload_new = engine_glue_payload_new,
	.on_rotation = engine_glue_on_rotation,
	.on_loss = engine_glue_on_loss,
};

static int engine_glue_take(struct call *call)
{
	struct frontend *frontend = call->frontend;
	int err;

	if (call->enter != engine_barrier && !call->credential) {
		call->credential =
			credential_get(&frontend->credentials, &call->header.cred);
		if (!call->credential)
			return -ENOMEM;
	}
	call->op.credential = call->credential;
	err = call->enter(engine_clock_enter(frontend), &call->op);
	engine_clock_leave(frontend); /* the call may be gone */
	return err;
}

void engine_glue_start(struct call *call,
		       int (*enter)(struct engine *engine, struct engine_op *op))
{
	struct call_list *starved = &call->frontend->starved;

	call->enter = enter;
	if (TAILQ_EMPTY(starved) && engine_glue_take(call) == 0)
		return;
	TAILQ_INSERT_TAIL(starved, call, starved_link);
}

void engine_glue_barrier_done(struct call *call, bool ok)
{
	struct frontend *frontend = call->frontend;

	engine_barrier_done(engine_clock_enter(frontend), &call->op, ok);
	call->op = (struct engine_op){ 0 };
	engine_clock_leave(frontend);
}

void engine_glue_removed(struct call *call, const struct nfs3_fh *fh)
{
	engine_on_removed(engine_clock_enter(call->frontend), fh);
	engine_clock_leave(call->frontend);
}

void engine_glue_retry(struct frontend *frontend)
{
	struct call *call;

	while ((call = TAILQ_FIRST(&frontend->starved)) != NULL) {
		TAILQ_REMOVE(&frontend->starved, call, starved_link);
		if (engine_glue_take(call) == 0)
			continue;
		TAILQ_INSERT_HEAD(&frontend->starved, call, starved_link);
		return;
	}
}
