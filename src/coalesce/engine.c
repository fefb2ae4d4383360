/*
 * The engine's entry points: what becomes of a WRITE, a COMMIT and a size change, and when
 * the verifier must change.
 *
 * The hard case is knowing that acknowledged data is gone when nobody says so: the
 * upstream restarts, and only the verifier in a later COMMIT reply tells. Each answered
 * UNSTABLE WRITE is in its file's ledger with the upstream verifier it came with; a COMMIT
 * that does not match what it should have covered, one whose first execution may have
 * swallowed an error, and one that failed while there was more data in that file, all rotate
 * our verifier before they are answered. The clients then see that their WRITEs and the
 * COMMIT disagree, and send the data again.
 *
 * It does not promise to repair anything: without kept payload only the clients can.
 * COMMITs are in commit.c, order within a file in order.c, the verifier in rotation.c.
 */
#include <errno.h>
#include <stdlib.h>

#include "coalesce/engine_private.h"
#include "coalesce/order.h"
#include "coalesce/verifier.h"

struct engine *engine_new(const struct engine_ops *ops, void *owner,
			  struct nfs3_verifier first_verifier, struct stats *stats)
{
	struct engine *engine = calloc(1, sizeof(*engine));

	if (engine == NULL)
		return NULL;
	engine->ops = ops;
	engine->owner = owner;
	engine->stats = stats;
	engine->verifier = verifier_first(first_verifier);
	file_table_init(&engine->files);
	return engine;
}

void engine_free(struct engine *engine)
{
	if (engine == NULL)
		return;
	file_table_fini(&engine->files);
	free(engine);
}

struct nfs3_verifier engine_verifier(const struct engine *engine)
{
	return engine->verifier;
}

size_t engine_file_count(const struct engine *engine)
{
	return engine->files.by_fh.node_count;
}

/*
 * COMMIT:    IDLE -> WAITING -> SENT -> ANSWERED
 *                       `-- shares another's ->'
 *
 * WRITE,     IDLE -> WAITING -> SENT -> ANSWERED       SENT -> SENT: in doubt, once more
 * TRUNCATE:    `------------->'  | ^ ^
 *                                v |  `-- proof does not match
 *                          UNPROVEN -> PROVING -> ANSWERED
 */
void engine_op_set_state(struct engine_op *op, enum engine_op_state state)
{
	static const unsigned int may_follow[] = {
		[ENGINE_OP_IDLE] = 1u << ENGINE_OP_WAITING | 1u << ENGINE_OP_SENT,
		[ENGINE_OP_WAITING] = 1u << ENGINE_OP_SENT | 1u << ENGINE_OP_ANSWERED,
		[ENGINE_OP_SENT] = 1u << ENGINE_OP_SENT | 1u << ENGINE_OP_UNPROVEN |
				   1u << ENGINE_OP_ANSWERED,
		[ENGINE_OP_UNPROVEN] = 1u << ENGINE_OP_SENT | 1u << ENGINE_OP_PROVING,
		[ENGINE_OP_PROVING] = 1u << ENGINE_OP_SENT | 1u << ENGINE_OP_ANSWERED,
		[ENGINE_OP_ANSWERED] = 0,
	};

	INVARIANT(may_follow[op->state] & 1u << state);
	op->state = state;
}

void engine_send(struct engine *engine, struct engine_op *op)
{
	op->sent_sequence = ++engine->sequence;
	op->in_doubt = false;
	engine_op_set_state(op, ENGINE_OP_SENT);
	switch (op->kind) {
	case ENGINE_OP_WRITE:
		engine->ops->send_write(engine->owner, op);
		break;
	case ENGINE_OP_TRUNCATE:
		engine->ops->send_truncate(engine->owner, op);
		break;
	case ENGINE_OP_COMMIT:
		UNREACHABLE(); /* commit.c sends those */
	}
}

static int engine_take(struct engine *engine, struct engine_op *op,
		       enum engine_op_kind kind)
{
	op->kind = kind;
	op->state = ENGINE_OP_IDLE;
	op->proving_rounds = 0;
	op->file = file_pin(&engine->files, op->fh);
	return op->file == NULL ? -ENOMEM : 0;
}

static int engine_take_ordered(struct engine *engine, struct engine_op *op,
			       enum engine_op_kind kind)
{
	int error = engine_take(engine, op, kind);

	if (error)
		return error;
	if (order_enter(op))
		engine_send(engine, op);
	else
		engine_op_set_state(op, ENGINE_OP_WAITING);
	return 0;
}

int engine_write(struct engine *engine, struct engine_op *op)
{
	return engine_take_ordered(engine, op, ENGINE_OP_WRITE);
}

int engine_truncate(struct engine *engine, struct engine_op *op)
{
	return engine_take_ordered(engine, op, ENGINE_OP_TRUNCATE);
}

int engine_commit(struct engine *engine, struct engine_op *op)
{
	int error = engine_take(engine, op, ENGINE_OP_COMMIT);

	if (error)
		return error;
	commit_enter(engine, op);
	return 0;
}

void engine_op_end(struct engine *engine, struct engine_op *op)
{
	struct engine_file *file = op->file;
	struct engine_op *next;

	engine_op_set_state(op, ENGINE_OP_ANSWERED);
	if (op->kind != ENGINE_OP_COMMIT)
		order_leave(op);
	op->file = NULL;
	while ((next = order_next_ready(file)) != NULL)
		engine_send(engine, next);
	file_unpin(&engine->files, file);
	rotation_bound_idle_files(engine);
}

/*
 * Notes an UNSTABLE WRITE that is about to be answered. Making room may rotate, and a
 * rotation empties the ledger, so it comes first.
 */
static void engine_note_unstable(struct engine *engine, struct engine_op *op,
				 const struct nfs3_verifier *upstream_verifier)
{
	struct ledger *ledger = &op->file->ledger;
	struct nfs3_verifier spilled;

	if (ledger_make_room(ledger, upstream_verifier, &spilled))
		rotation_spill(engine, &spilled);
	ledger_note(ledger, upstream_verifier, op->client_id, ++engine->sequence);
}

/* The verifier is read before the op ends: ending it may rotate (I4). */
void engine_answer_write(struct engine *engine, struct engine_op *op,
			 struct engine_write_result result)
{
	result.verifier = engine->verifier;
	engine_op_end(engine, op);
	engine->ops->answer_write(engine->owner, op, &result);
}

static bool engine_write_needs_proof(const struct engine_op *op,
				     const struct engine_write_result *result)
{
	return result->status == NFS3_OK && result->committed < op->stable;
}

void engine_on_write_result(struct engine *engine, struct engine_op *op,
			    const struct engine_write_result *result)
{
	INVARIANT(op->kind == ENGINE_OP_WRITE && op->state == ENGINE_OP_SENT);
	if (op->in_doubt && result->status == NFS3_OK &&
	    result->committed == NFS3_UNSTABLE) {
		engine_send(engine, op);
		return;
	}
	if (engine_write_needs_proof(op, result)) {
		op->write_result = *result;
		commit_enter(engine, op);
		return;
	}
	if (result->status == NFS3_OK && result->committed == NFS3_UNSTABLE)
		engine_note_unstable(engine, op, &result->verifier);
	engine_answer_write(engine, op, *result);
}

void engine_on_truncate_done(struct engine *engine, struct engine_op *op)
{
	INVARIANT(op->kind == ENGINE_OP_TRUNCATE && op->state == ENGINE_OP_SENT);
	engine_op_end(engine, op);
}

void engine_on_no_result(struct engine *engine, struct engine_op *op, bool resent)
{
	if (op->file->commit_out == op)
		commit_on_no_result(engine, op, resent);
	engine_op_end(engine, op);
}
