/*
 * The engine's entry points, and how every one of them ends: engine_rest() looks at the
 * files something happened to until nothing is left to do, and then gives the answers.
 *
 * The hard case is being entered again from an answer: a client's next call may come in while
 * the answers of the last one are given. By then the engine is at rest, the inner entry
 * only adds answers, and the outer one goes on giving them.
 *
 *   WRITE   admit.c says yes: buffer.c, answered at once; else writeback.c
 *   COMMIT  commit.c
 *   others  barrier.c
 */
#include <errno.h>
#include <stdlib.h>

#include "coalesce/engine_private.h"
#include "coalesce/verifier.h"

enum {
	ENGINE_MILLISECOND_US = 1000,
	ENGINE_SECOND_US = 1000 * 1000,
};

const struct engine_config engine_config_default = {
	.dirty_background_bytes = 64u << 20,
	.dirty_bytes = 128u << 20,
	.retained_bytes = 256u << 20,
	.plug_max_us = 2ull * ENGINE_MILLISECOND_US,
	.dirty_expire_us = ENGINE_SECOND_US,
	.retained_expire_us = 5ull * ENGINE_SECOND_US,
	.grant_us = 30ull * ENGINE_SECOND_US,
	.shared_us = 30ull * ENGINE_SECOND_US,
	.quarantine_us = 30ull * ENGINE_SECOND_US,
	.sticky_us = 600ull * ENGINE_SECOND_US,
	.retry_first_us = 100ull * ENGINE_MILLISECOND_US,
	.retry_max_us = 5ull * ENGINE_SECOND_US,
};

struct engine *engine_new(const struct engine_ops *ops, void *owner,
			  const struct engine_config *config,
			  struct nfs3_verifier first_verifier, struct stats *stats)
{
	struct engine *engine = calloc(1, sizeof(*engine));

	if (engine == NULL)
		return NULL;
	engine->ops = ops;
	engine->owner = owner;
	engine->config = *config;
	engine->stats = stats;
	engine->verifier = verifier_first(first_verifier);
	engine->is_resting = true;
	file_table_init(&engine->files);
	TAILQ_INIT(&engine->dirty_files);
	TAILQ_INIT(&engine->plugged_files);
	TAILQ_INIT(&engine->retained_files);
	TAILQ_INIT(&engine->retry_files);
	TAILQ_INIT(&engine->sticky_files);
	TAILQ_INIT(&engine->work);
	TAILQ_INIT(&engine->answers);
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

uint64_t engine_sequence(const struct engine *engine)
{
	return engine->sequence;
}

void engine_set_now(struct engine *engine, uint64_t now_us)
{
	INVARIANT(now_us >= engine->now_us);
	engine->now_us = now_us;
}

void engine_set_limits(struct engine *engine, uint32_t wtmax_bytes,
		       uint64_t maxfilesize_bytes)
{
	/* Bytes may be buffered by what was known before. */
	if (wtmax_bytes > 0)
		engine->wtmax_bytes = wtmax_bytes;
	/* Far enough from where offsets wrap. */
	engine->maxfilesize_bytes = maxfilesize_bytes < INT64_MAX ? maxfilesize_bytes
								  : INT64_MAX;
}

/*
 * WRITE, COMMIT   IDLE -> WAITING -> ANSWERED
 * barrier         IDLE -> WAITING -> PASSED -> ANSWERED
 */
void engine_op_set_state(struct engine_op *op, enum engine_op_state state)
{
	static const unsigned int may_follow[] = {
		[ENGINE_OP_IDLE] = 1u << ENGINE_OP_WAITING,
		[ENGINE_OP_WAITING] = 1u << ENGINE_OP_PASSED | 1u << ENGINE_OP_ANSWERED,
		[ENGINE_OP_PASSED] = 1u << ENGINE_OP_ANSWERED,
		[ENGINE_OP_ANSWERED] = 0,
	};

	INVARIANT(may_follow[op->state] & 1u << state);
	op->state = state;
}

static void engine_end(struct engine *engine, struct engine_op *op)
{
	struct engine_file *file = op->file;

	file->op_count--;
	op->file = NULL;
	file_mark_work(file);
	engine_op_set_state(op, ENGINE_OP_ANSWERED);
	TAILQ_INSERT_TAIL(&engine->answers, op, link);
}

void engine_end_write(struct engine *engine, struct engine_op *op,
		      struct engine_write_result result)
{
	result.verifier = engine->verifier;
	op->write_result = result;
	engine_end(engine, op);
}

void engine_end_commit(struct engine *engine, struct engine_op *op,
		       struct engine_commit_result result)
{
	result.verifier = engine->verifier;
	op->commit_result = result;
	engine_end(engine, op);
}

void engine_end_barrier(struct engine *engine, struct engine_op *op)
{
	engine_op_set_state(op, op->barrier == ENGINE_BARRIER_FLUSH ? ENGINE_OP_ANSWERED
								    : ENGINE_OP_PASSED);
	TAILQ_INSERT_TAIL(&engine->answers, op, link);
}

static void engine_answer(struct engine *engine, struct engine_op *op)
{
	switch (op->kind) {
	case ENGINE_OP_WRITE:
		engine->ops->answer_write(engine->owner, op, &op->write_result);
		return;
	case ENGINE_OP_COMMIT:
		engine->ops->answer_commit(engine->owner, op, &op->commit_result);
		return;
	case ENGINE_OP_BARRIER:
		break;
	}
	engine->ops->pass(engine->owner, op);
}

static void engine_pump_file(struct engine_file *file)
{
	struct line_entry *entry;

	while (file->retry_at_us == 0 && (entry = line_next_ready(file)) != NULL) {
		if (entry->is_barrier)
			barrier_on_turn(container_of(entry, struct engine_op, line));
		else
			writeback_send(extent_from_line(entry));
	}
	commit_pump(file);
	tick_list_file(file);
	if (file->engine->is_draining && file->in_retained_list && !file->commit_out)
		commit_want(file, COMMIT_REASON_DRAIN);
	if (file_is_clean(file))
		file->owner_count = 0;
	file_prune_generations(file);
	file_reap(file);
}

void engine_rest(struct engine *engine)
{
	struct engine_file *file;
	struct engine_op *op;

	do {
		while ((file = TAILQ_FIRST(&engine->work)) != NULL) {
			TAILQ_REMOVE(&engine->work, file, work_link);
			file->in_work = false;
			engine_pump_file(file);
		}
		tick_apply_policy(engine);
	} while (!TAILQ_EMPTY(&engine->work));
	if (!engine->is_resting)
		return;
	engine->is_resting = false;
	while ((op = TAILQ_FIRST(&engine->answers)) != NULL) {
		TAILQ_REMOVE(&engine->answers, op, link);
		engine_answer(engine, op);
	}
	engine->is_resting = true;
}

static int engine_take(struct engine *engine, struct engine_op *op,
		       enum engine_op_kind kind)
{
	struct engine_file *file = file_get(engine, op->fh);

	if (file == NULL)
		return -ENOMEM;
	op->kind = kind;
	op->state = ENGINE_OP_IDLE;
	op->generation = NULL;
	op->file = file;
	file->op_count++;
	op->sequence = ++engine->sequence;
	engine_op_set_state(op, ENGINE_OP_WAITING);
	admit_note_client(file, op->client_id);
	return 0;
}

/* Nothing of the op stays behind. */
static int engine_give_back(struct engine_op *op)
{
	struct engine_file *file = op->file;

	op->state = ENGINE_OP_IDLE;
	op->file = NULL;
	file->op_count--;
	file_mark_work(file);
	engine_rest(file->engine);
	return -ENOMEM;
}

int engine_write(struct engine *engine, struct engine_op *op)
{
	static const struct engine_write_result too_big = { .status = NFS3ERR_FBIG };
	int error = engine_take(engine, op, ENGINE_OP_WRITE);
	struct engine_file *file;

	if (error != 0)
		return error;
	file = op->file;
	if (op->offset > UINT64_MAX - op->count) {
		engine_end_write(engine, op, too_big);
	} else if (admit_early(file, op)) {
		struct engine_write_result acked = { .status = NFS3_OK,
						     .count = op->count,
						     .committed = NFS3_UNSTABLE };

		if (buffer_add(file, op) != 0)
			return engine_give_back(op);
		loss_note_owner(file, op->client_id);
		stats_count(engine->stats, STAT_WRITES_ACKED_EARLY);
		engine_end_write(engine, op, acked);
	} else if (writeback_pass(file, op) != 0) {
		return engine_give_back(op);
	}
	file->client_writes++;
	stats_observe(engine->stats, HISTOGRAM_CLIENT_WRITE_SIZE, op->count);
	engine_rest(engine);
	return 0;
}

int engine_commit(struct engine *engine, struct engine_op *op)
{
	int error = engine_take(engine, op, ENGINE_OP_COMMIT);
	struct engine_file *file;
	struct engine_commit_result sticky = { 0 };

	if (error != 0)
		return error;
	file = op->file;
	stats_observe(engine->stats, HISTOGRAM_CLIENT_WRITES_PER_COMMIT,
		      file->client_writes);
	file->client_writes = 0;
	sticky.status = loss_take_sticky(file, op);
	if (sticky.status != NFS3_OK) {
		engine_end_commit(engine, op, sticky);
	} else {
		commit_wait(file, op);
		commit_pump(file);
		if (op->state == ENGINE_OP_ANSWERED)
			stats_count(engine->stats, STAT_COMMITS_LOCAL);
	}
	engine_rest(engine);
	return 0;
}

bool engine_file_is_settled(const struct engine_file *file, uint64_t since)
{
	return file->acked_unwritten == 0 && !file->is_suspect &&
	       file->unsettled <= since;
}

struct nfs3_wcc engine_shown_wcc(const struct engine_file *file,
				 const struct nfs3_wcc *wcc, uint64_t since)
{
	return engine_file_is_settled(file, since) ? *wcc : (struct nfs3_wcc){ 0 };
}

bool engine_is_settled(const struct engine *engine, const struct nfs3_fh *fh,
		       uint64_t since)
{
	const struct engine_file *file = file_find(&engine->files, fh);

	return file == NULL ? engine->unsettled_forgotten <= since
			    : engine_file_is_settled(file, since);
}

void engine_on_disconnect(struct engine *engine)
{
	commit_suspect_all(engine);
	engine_rest(engine);
}

void engine_on_removed(struct engine *engine, const struct nfs3_fh *fh)
{
	struct engine_file *file = file_find(&engine->files, fh);

	if (file == NULL)
		return;
	file->is_removed = true;
	file_mark_work(file);
	engine_rest(engine);
}

void engine_drain(struct engine *engine)
{
	struct engine_file *file;

	engine->is_draining = true;
	TAILQ_FOREACH(file, &engine->retained_files, retained_link)
		file_mark_work(file);
	engine_rest(engine);
}

bool engine_is_clean(const struct engine *engine)
{
	return engine->stats->gauge[GAUGE_DIRTY_BYTES] == 0 &&
	       engine->stats->gauge[GAUGE_RETAINED_BYTES] == 0;
}
