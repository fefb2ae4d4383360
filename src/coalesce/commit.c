/*
 * COMMITs of one file: at most one is out, those that arrived meanwhile share the next.
 *
 * The hard case is a server that tells a write error once. If two COMMITs of a file were out
 * together, one could take the error and the other say OK over lost bytes, before we have
 * read the error. So they go one after the other, and a failed one puts in doubt
 * everything that was applied before it: what was answered (rotation), what is on the way
 * (sent once more). Only COMMITs with the same credential share, and only success is
 * shared. Our own COMMITs, which prove a stable WRITE that came back unstable, stand in
 * the same line.
 */
#include "coalesce/engine_private.h"
#include "coalesce/verifier.h"

/* Starts the first of the line, if nothing is out. */
static void commit_start_next(struct engine *engine, struct engine_file *file)
{
	struct engine_op *op;

	while (file->commit_out == NULL && (op = TAILQ_FIRST(&file->commits)) != NULL) {
		TAILQ_REMOVE(&file->commits, op, commit_link);
		if (op->in_doubt) {
			engine_send(engine, op);
			continue;
		}
		file->commit_out = op;
		op->sent_sequence = ++engine->sequence;
		if (op->kind == ENGINE_OP_COMMIT) {
			engine_op_set_state(op, ENGINE_OP_SENT);
			engine->ops->send_commit(engine->owner, op);
		} else {
			engine_op_set_state(op, ENGINE_OP_PROVING);
			engine->ops->send_proving_commit(engine->owner, op);
		}
	}
}

void commit_enter(struct engine *engine, struct engine_op *op)
{
	op->arrival_sequence = ++engine->sequence;
	engine_op_set_state(op, op->kind == ENGINE_OP_COMMIT ? ENGINE_OP_WAITING
							     : ENGINE_OP_UNPROVEN);
	TAILQ_INSERT_TAIL(&op->file->commits, op, commit_link);
	commit_start_next(engine, op->file);
}

/* The COMMIT that was out is back. */
static void commit_leave(struct engine *engine, struct engine_op *op)
{
	INVARIANT(op->file->commit_out == op);
	op->file->commit_out = NULL;
	commit_start_next(engine, op->file);
}

/*
 * Refusals after which the upstream has written nothing back and consumed no error: the
 * data is where it was. Any other error may have been reported for this one time only.
 */
static bool commit_error_keeps_data(uint32_t status)
{
	return status == NFS3ERR_JUKEBOX || status == NFS3ERR_ACCES ||
	       status == NFS3ERR_PERM || status == NFS3ERR_BADHANDLE;
}

/*
 * A failed COMMIT may have thrown away bytes that were applied before it ran, also those
 * of WRITEs whose replies are still on the way, or that were to be proven next.
 */
static void commit_doubt_writes(struct engine_file *file)
{
	struct engine_op *op;

	TAILQ_FOREACH(op, &file->ops, link) {
		if (op->state == ENGINE_OP_UNPROVEN ||
		    (op->kind == ENGINE_OP_WRITE && op->state == ENGINE_OP_SENT))
			op->in_doubt = true;
	}
}

/*
 * The client is told about its WRITEs answered before it asked; whoever else has data in the
 * file, and whatever was answered since, only a rotation tells. A client whose stable WRITE
 * we tried to prove does not connect the error with its other WRITEs either.
 */
static void commit_settle_failure(struct engine *engine, const struct engine_op *op)
{
	uint64_t told = op->kind == ENGINE_OP_COMMIT ? op->client_id
						     : LEDGER_SEVERAL_CLIENTS;

	commit_doubt_writes(op->file);
	if (engine->spilled_count > 0 ||
	    ledger_holds_more_than(&op->file->ledger, told, op->arrival_sequence))
		rotation_make(engine, "a COMMIT failed and more data was in the file");
	else
		ledger_settle(&op->file->ledger, op->sent_sequence);
}

/* The first execution may have failed, and its reply been lost. */
static void commit_settle_cut_off(struct engine *engine, const struct engine_op *op)
{
	commit_doubt_writes(op->file);
	rotation_make(engine, "a COMMIT was cut off and sent again");
}

/* What a COMMIT of op's file says about the WRITEs answered before it was sent (I10). */
static void commit_settle(struct engine *engine, const struct engine_op *op,
			  const struct engine_commit_result *result, bool resent)
{
	struct ledger *ledger = &op->file->ledger;

	if (resent)
		commit_settle_cut_off(engine, op);
	if (result->status != NFS3_OK) {
		if (!commit_error_keeps_data(result->status))
			commit_settle_failure(engine, op);
	} else if (ledger_disproves(ledger, &result->verifier, op->sent_sequence) ||
		   rotation_spilled_disproves(engine, &result->verifier)) {
		rotation_make(engine, "the upstream's write verifier changed");
	} else {
		ledger_settle(ledger, op->sent_sequence);
	}
}

/* Moves the waiting COMMITs that this success answers too from the line to `shared`. */
static void commit_collect_shared(struct engine_op *op, struct engine_op_list *shared)
{
	struct engine_op *next;
	struct engine_op *rider;

	for (rider = TAILQ_FIRST(&op->file->commits); rider != NULL; rider = next) {
		next = TAILQ_NEXT(rider, commit_link);
		if (rider->kind != ENGINE_OP_COMMIT ||
		    rider->credential_id != op->credential_id ||
		    rider->arrival_sequence > op->sent_sequence)
			continue;
		TAILQ_REMOVE(&op->file->commits, rider, commit_link);
		TAILQ_INSERT_TAIL(shared, rider, commit_link);
	}
}

static void commit_answer(struct engine *engine, struct engine_op *op,
			  const struct engine_commit_result *result)
{
	struct engine_commit_result answer = *result;
	struct engine_op_list answered = TAILQ_HEAD_INITIALIZER(answered);
	struct engine_op *each;

	if (result->status == NFS3_OK)
		commit_collect_shared(op, &answered);
	TAILQ_INSERT_HEAD(&answered, op, commit_link);
	answer.verifier = engine->verifier;
	commit_leave(engine, op);
	TAILQ_FOREACH(each, &answered, commit_link)
		engine_op_end(engine, each);
	while ((each = TAILQ_FIRST(&answered)) != NULL) {
		TAILQ_REMOVE(&answered, each, commit_link);
		engine->ops->answer_commit(engine->owner, each, &answer);
	}
}

/*
 * Our own COMMIT for a stable WRITE is back. Only an upstream verifier equal to that of the
 * WRITE's reply proves it; DATA_SYNC data was stable already, whatever its verifier.
 */
static void commit_prove(struct engine *engine, struct engine_op *op,
			 const struct engine_commit_result *result, bool resent)
{
	struct engine_write_result answer = op->write_result;
	bool proven = !resent && (answer.committed == NFS3_DATA_SYNC ||
				  verifier_equal(&answer.verifier, &result->verifier));

	commit_leave(engine, op);
	if (result->status != NFS3_OK) {
		answer = (struct engine_write_result){ .status = result->status,
						       .wcc = result->wcc };
	} else if (proven) {
		answer.committed = op->stable;
		if (result->wcc.has_after)
			answer.wcc.after = result->wcc.after;
		answer.wcc.has_after |= result->wcc.has_after;
	} else if (++op->proving_rounds < ENGINE_PROVING_ROUNDS_MAX) {
		engine_send(engine, op);
		return;
	} else {
		answer = (struct engine_write_result){ .status = NFS3ERR_IO };
	}
	engine_answer_write(engine, op, answer);
}

void engine_on_commit_result(struct engine *engine, struct engine_op *op,
			     const struct engine_commit_result *result, bool resent)
{
	INVARIANT(op->file->commit_out == op);
	commit_settle(engine, op, result, resent);
	if (op->kind == ENGINE_OP_COMMIT)
		commit_answer(engine, op, result);
	else
		commit_prove(engine, op, result, resent);
}

void commit_on_no_result(struct engine *engine, struct engine_op *op, bool resent)
{
	if (resent)
		commit_settle_cut_off(engine, op);
	commit_leave(engine, op);
}
