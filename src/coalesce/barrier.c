/*
 * Calls other than WRITE and COMMIT that touch a file with buffered bytes: they pass when
 * the bytes acked before them are at the upstream, and while they are there nothing of the
 * file is acked or sent that they must not see or that must not see them.
 *
 * The hard case is a restart of the upstream: bytes that were written may be gone, and
 * nothing shows it but a COMMIT. So a barrier on such a file waits until its bytes are
 * proven, as a COMMIT would.
 */
#include <errno.h>

#include "coalesce/engine_private.h"

/* Would the call see the file as it is without waiting? */
static bool barrier_may_pass(const struct engine_op *op, const struct engine_file *file)
{
	if (op->insists || op->barrier == ENGINE_BARRIER_CHANGE ||
	    op->barrier == ENGINE_BARRIER_TRUNCATE)
		return false;
	return file == NULL || (file->acked_unwritten == 0 && !file->is_suspect);
}

static bool barrier_holds_writes(const struct engine_op *op)
{
	return op->barrier != ENGINE_BARRIER_FLUSH;
}

static void barrier_enter(struct engine_op *op, struct engine_file *file)
{
	INVARIANT(file != NULL);
	op->file = file;
	file->op_count++;
	buffer_close_all(file, WRITE_REASON_BARRIER);
	if (barrier_holds_writes(op))
		file->held_barriers++;
	op->line = (struct line_entry){
		.range = { .start = 0, .end = UINT64_MAX },
		.sequence = ++file->engine->sequence,
		.is_barrier = true,
		.is_shared = op->barrier == ENGINE_BARRIER_READ,
	};
	line_enter(file, &op->line);
}

static void barrier_leave(struct engine_op *op)
{
	struct engine_file *file = op->file;

	line_leave(file, &op->line);
	if (barrier_holds_writes(op))
		file->held_barriers--;
	file->op_count--;
	op->file = NULL;
	file_mark_work(file);
}

void barrier_on_turn(struct engine_op *op)
{
	struct engine_file *file = op->file;

	if (file->is_suspect) {
		/* What has to be written again first is older and will go before it. */
		op->line.is_out = false;
		op->line.waits_for_proof = true;
		TAILQ_INSERT_TAIL(&file->unproven_barriers, &op->line, ready_link);
		file_mark_work(file);
		return;
	}
	if (op->barrier == ENGINE_BARRIER_FLUSH)
		barrier_leave(op);
	engine_end_barrier(file->engine, op);
}

void barrier_end_suspicion(struct engine_file *file)
{
	struct line_entry *entry;

	while ((entry = TAILQ_FIRST(&file->unproven_barriers)) != NULL) {
		TAILQ_REMOVE(&file->unproven_barriers, entry, ready_link);
		entry->waits_for_proof = false;
		line_back(file, entry);
	}
}

int engine_barrier(struct engine *engine, struct engine_op *op)
{
	struct engine_file *file = file_find(&engine->files, op->fh);

	op->kind = ENGINE_OP_BARRIER;
	op->state = ENGINE_OP_IDLE;
	op->file = NULL;
	op->sequence = ++engine->sequence;
	if (file == NULL && !barrier_may_pass(op, NULL)) {
		file = file_get(engine, op->fh);
		if (file == NULL)
			return -ENOMEM;
	}
	if (file != NULL && op->barrier != ENGINE_BARRIER_FLUSH)
		admit_note_client(file, op->client_id);
	engine_op_set_state(op, ENGINE_OP_WAITING);
	if (barrier_may_pass(op, file))
		engine_end_barrier(engine, op);
	else
		barrier_enter(op, file);
	engine_rest(engine);
	return 0;
}

void engine_barrier_done(struct engine *engine, struct engine_op *op, bool ok)
{
	struct engine_file *file = op->file;

	engine_op_set_state(op, ENGINE_OP_ANSWERED);
	if (file == NULL)
		return;
	if (op->barrier != ENGINE_BARRIER_READ)
		admit_void_grants(file);
	if (op->barrier == ENGINE_BARRIER_TRUNCATE && ok)
		commit_forget_beyond(file, op->offset);
	barrier_leave(op);
	engine_rest(engine);
}
