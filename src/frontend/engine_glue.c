/*
 * Between calls and the engine: its ops table, and the line of calls it had no memory for.
 *
 * The hard case: once one call waits for memory, every later one must stand behind it,
 * or a newer WRITE of the same bytes could pass an older one (P4).
 *
 * Does not encode or decode: call_write.c, call_commit.c and call_setattr.c do.
 */
#include "engine_glue.h"

#include "call_class.h"
#include "frontend_private.h"

static void engine_glue_on_rotation(void *owner, const char *reason)
{
	const struct frontend *frontend = owner;

	log_warn(
		"upstream %s: write verifier changed, clients will send again what they "
		"have not committed: %s",
		frontend_name(frontend), reason);
}

const struct engine_ops engine_glue_ops = {
	.send_write = call_write_send,
	.send_commit = call_commit_send,
	.send_truncate = call_setattr_send,
	.send_proving_commit = call_write_send_proving_commit,
	.answer_write = call_write_answer,
	.answer_commit = call_commit_answer,
	.on_rotation = engine_glue_on_rotation,
};

static int engine_glue_take(struct call *call)
{
	struct engine *engine = call->frontend->engine;

	switch (call->proc->class) {
	case NFS_CLASS_WRITE:
		return engine_write(engine, &call->op);
	case NFS_CLASS_COMMIT:
		return engine_commit(engine, &call->op);
	case NFS_CLASS_SETATTR:
		return engine_truncate(engine, &call->op);
	case NFS_CLASS_LOCAL:
	case NFS_CLASS_MOUNT:
	case NFS_CLASS_RELAY:
		break;
	}
	UNREACHABLE();
}

void engine_glue_start(struct call *call)
{
	struct call_list *starved = &call->frontend->starved;

	if (TAILQ_EMPTY(starved) && engine_glue_take(call) == 0)
		return;
	TAILQ_INSERT_TAIL(starved, call, starved_link);
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
