/*
 * Order of WRITEs and size changes within one file.
 *
 * Two that touch a common byte never are at the upstream together: the later one waits for
 * the reply of the earlier, in order of arrival, so that no re-send of ours can put older
 * bytes over newer ones. The hard case is a chain: an op waits also behind one that is
 * itself still waiting. Nothing is promised about calls that do not go through here
 * (a CREATE that truncates by name, for one).
 */
#include "coalesce/order.h"

static uint64_t order_end(const struct engine_op *op)
{
	if (op->kind == ENGINE_OP_TRUNCATE || op->offset > UINT64_MAX - op->count)
		return UINT64_MAX;
	return op->offset + op->count;
}

/* Ranges are half open; an empty WRITE touches nothing, two size changes touch always. */
static bool order_overlap(const struct engine_op *a, const struct engine_op *b)
{
	if (a->kind == ENGINE_OP_TRUNCATE && b->kind == ENGINE_OP_TRUNCATE)
		return true;
	return a->offset < order_end(b) && b->offset < order_end(a) &&
	       a->offset < order_end(a) && b->offset < order_end(b);
}

static bool order_blocked(const struct engine_file *file, const struct engine_op *op)
{
	const struct engine_op *earlier;

	TAILQ_FOREACH(earlier, &file->ops, link) {
		if (earlier == op)
			return false;
		if (order_overlap(earlier, op))
			return true;
	}
	return false;
}

bool order_enter(struct engine_op *op)
{
	bool blocked = order_blocked(op->file, op);

	TAILQ_INSERT_TAIL(&op->file->ops, op, link);
	return !blocked;
}

void order_leave(struct engine_op *op)
{
	TAILQ_REMOVE(&op->file->ops, op, link);
}

struct engine_op *order_next_ready(struct engine_file *file)
{
	struct engine_op *op;

	TAILQ_FOREACH(op, &file->ops, link) {
		if (op->state == ENGINE_OP_WAITING && !order_blocked(file, op))
			return op;
	}
	return NULL;
}
