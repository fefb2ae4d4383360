/*
 * Extents on their way to the upstream and back.
 *
 * The hard case is what a reply takes away. A WRITE that succeeded stands for its bytes
 * from then on: older copies of them, retained in case the upstream restarts, must never be
 * written again, or they would lie over newer ones (I9). But a COMMIT that waits for the
 * older ones has not been satisfied yet, so its claim passes on to the newer.
 */
#include <errno.h>

#include "coalesce/engine_private.h"
#include "coalesce/verifier.h"

int writeback_pass(struct engine_file *file, struct engine_op *op)
{
	uint64_t end = op->offset + op->count;
	struct extent *extent = extent_new(file, op->credential, op->offset, end);

	if (extent == NULL)
		return -ENOMEM;
	if (op->count > 0 &&
	    extent_add_payload(extent, op->payload, op->data, op->count) != 0) {
		extent_free(extent);
		return -ENOMEM;
	}
	extent->op = op;
	extent->stable = op->stable;
	if (op->stable == NFS3_UNSTABLE && quarantine_holds(file, op->credential))
		extent->stable = NFS3_FILE_SYNC;
	buffer_close_overlap(file, op->offset, end, WRITE_REASON_OVERLAP);
	writeback_enter(extent, op->stable == NFS3_UNSTABLE ? WRITE_REASON_PASSED
							    : WRITE_REASON_STABLE);
	return 0;
}

void writeback_enter(struct extent *extent, enum write_reason reason)
{
	extent_gather(extent);
	extent->reason = reason;
	if (extent->line.sequence == 0)
		extent->line.sequence = ++extent->file->engine->sequence;
	extent_set_state(extent, EXTENT_WAITING);
}

void writeback_send(struct extent *extent)
{
	struct engine_file *file = extent->file;
	struct engine *engine = file->engine;
	const struct fragment *fragment = TAILQ_FIRST(&extent->fragments);
	uint32_t written = extent->written_bytes;

	extent->io = (struct engine_io){
		.fh = &file->fh,
		.credential = extent->credential,
		.offset = extent_start(extent) + written,
		.count = fragment == NULL ? 0 : fragment->len - written,
		.stable = extent->stable,
		.data = fragment == NULL ? NULL : fragment->data + written,
	};
	if (written == 0)
		extent->sent_sequence = ++engine->sequence;
	extent->in_doubt = false;
	extent_set_state(extent, EXTENT_SENT);
	file->upstream_writes++;
	engine->stats->write_reason[extent->reason]++;
	engine->stats->gauge[GAUGE_WRITES_OUT]++;
	stats_observe(engine->stats, HISTOGRAM_UPSTREAM_WRITE_SIZE, extent->io.count);
	engine->ops->send_write(engine->owner, &extent->io);
}

void writeback_back_off(struct engine_file *file)
{
	struct engine *engine = file->engine;
	uint64_t delay = file->retry_delay_us * 2;

	/* One more reply of the same round. */
	if (file->in_retry_list)
		return;
	if (delay < engine->config.retry_first_us)
		delay = engine->config.retry_first_us;
	if (delay > engine->config.retry_max_us)
		delay = engine->config.retry_max_us;
	file->retry_delay_us = delay;
	file->retry_at_us = engine->now_us + delay;
	TAILQ_INSERT_TAIL(&engine->retry_files, file, retry_link);
	file->in_retry_list = true;
}

void writeback_retry(struct engine_file *file)
{
	struct extent *extent;

	while ((extent = TAILQ_FIRST(&file->retry)) != NULL) {
		TAILQ_REMOVE(&file->retry, extent, retry_link);
		extent->in_retry = false;
		writeback_send(extent);
	}
}

void writeback_inherit(struct extent *newer, const struct extent *older)
{
	if (older->generation->number < newer->generation->number)
		extent_set_generation(newer, older->generation);
	if (older->acked && !newer->acked)
		extent_set_acked(newer);
}

static void writeback_supersede_in(struct range_tree *tree, struct extent *newer,
				   bool newer_is_stable)
{
	uint64_t start = extent_start(newer);
	uint64_t end = extent_end(newer);
	struct range_node *node;

	while ((node = range_tree_first_overlap(tree, start, end)) != NULL) {
		struct extent *older = extent_from_range(node);

		if (!newer_is_stable)
			writeback_inherit(newer, older);
		extent_cut(older, start, end);
	}
}

/* An older rewrite that has not gone out yet, or NULL. */
static struct extent *writeback_older_waiting(const struct extent *newer)
{
	const struct engine_file *file = newer->file;
	uint64_t start = extent_start(newer);
	uint64_t end = extent_end(newer);
	struct range_node *node = range_tree_first_overlap(&file->line, start, end);

	for (; node != NULL; node = range_tree_next_overlap(node, start, end)) {
		struct line_entry *entry = container_of(node, struct line_entry, range);

		if (!entry->is_barrier && !entry->is_out &&
		    entry->sequence < newer->line.sequence)
			return extent_from_line(entry);
	}
	return NULL;
}

void writeback_supersede(struct extent *newer, bool newer_is_stable)
{
	struct engine_file *file = newer->file;
	struct extent *older;

	writeback_supersede_in(&file->unstable, newer, newer_is_stable);
	/*
	 * What a COMMIT on its way covers stays until that is back: it may prove it. Only
	 * stable bytes need not wait for that.
	 */
	if (newer_is_stable)
		writeback_supersede_in(&file->committing, newer, true);
	while ((older = writeback_older_waiting(newer)) != NULL) {
		if (!newer_is_stable)
			writeback_inherit(newer, older);
		extent_cut(older, extent_start(newer), extent_end(newer));
	}
}

/* False: it was tried too often, and the extent is gone. */
static bool writeback_prepare_replay(struct extent *extent, enum nfs3_stable stable)
{
	struct engine *engine = extent->file->engine;

	if (++extent->replays > ENGINE_REPLAYS_MAX) {
		loss_declare(extent, NFS3ERR_IO);
		return false;
	}
	extent->stable = extent->replays > ENGINE_REPLAYS_UNSTABLE ? NFS3_FILE_SYNC
								   : stable;
	extent->reason = WRITE_REASON_REPLAY;
	extent_forget_written(extent);
	stats_add(engine->stats, STAT_REPLAYED_BYTES, extent_bytes(extent));
	return true;
}

void writeback_replay(struct extent *extent, enum nfs3_stable stable)
{
	if (writeback_prepare_replay(extent, stable))
		extent_set_state(extent, EXTENT_WAITING);
}

/* The client's WRITE is at the upstream: answered now, or when it is stable enough. */
static void writeback_finish_op(struct engine_file *file, struct engine_op *op,
				const struct extent *extent,
				const struct engine_write_result *result)
{
	struct engine_write_result answer = *result;

	answer.wcc = engine_shown_wcc(file, &result->wcc, extent->sent_sequence);
	answer.count = op->count;
	answer.committed = extent->least_committed;
	if (answer.committed >= op->stable) {
		engine_end_write(file->engine, op, answer);
		return;
	}
	op->write_result = answer;
	commit_wait(file, op);
}

static bool writeback_is_stable(const struct extent *extent)
{
	return extent->least_committed == NFS3_FILE_SYNC ||
	       (extent->least_committed == NFS3_DATA_SYNC &&
		extent->stable != NFS3_FILE_SYNC);
}

/* Acked bytes on their way that are not those of this extent, which is on its way. */
static size_t writeback_acked_others(const struct extent *extent)
{
	return extent->file->acked_unwritten - (extent->acked ? 1 : 0);
}

/* All of the extent is written. */
static void writeback_done(struct extent *extent,
			   const struct engine_write_result *result)
{
	struct engine_file *file = extent->file;
	struct engine_op *op = extent->op;
	bool is_stable = writeback_is_stable(extent);
	bool was_acked = extent->acked;
	size_t others_before = writeback_acked_others(extent);

	writeback_supersede(extent, is_stable);
	/* Its own bytes, or older ones that need not go any more. */
	if (was_acked || writeback_acked_others(extent) < others_before)
		file->unsettled = ++file->engine->sequence;
	if (extent->least_committed == NFS3_FILE_SYNC)
		file->is_proven = true;
	else if (is_stable)
		file->is_proven = false;
	extent->op = NULL;
	if (op != NULL && !is_stable && extent_bytes(extent) > 0 &&
	    extent->least_committed >= op->stable) {
		extent_set_acked(extent);
		loss_note_owner(file, op->client_id);
	}
	/* What is kept must be so before anybody waits for it. */
	if (!is_stable && extent_bytes(extent) > 0) {
		extent_set_state(extent, EXTENT_UNSTABLE);
		if (extent->sent_sequence < file->engine->last_suspicion)
			commit_suspect(file);
	}
	if (op != NULL)
		writeback_finish_op(file, op, extent, result);
	if (extent->state != EXTENT_UNSTABLE)
		extent_free(extent);
}

/*
 * Takes note of what the upstream has accepted. False: it changed its verifier between two
 * parts of one extent, so that nothing of it counts.
 */
static bool writeback_add_part(struct extent *extent,
			       const struct engine_write_result *result)
{
	bool is_unstable = result->committed == NFS3_UNSTABLE;

	if (is_unstable && extent->least_committed == NFS3_UNSTABLE &&
	    !verifier_equal(&extent->upstream_verifier, &result->verifier))
		return false;
	if (is_unstable)
		extent->upstream_verifier = result->verifier;
	if (result->committed < extent->least_committed)
		extent->least_committed = result->committed;
	extent->written_bytes += result->count;
	return true;
}

static void writeback_succeeded(struct extent *extent,
				const struct engine_write_result *result)
{
	struct engine_file *file = extent->file;

	file->retry_delay_us = 0;
	if (result->wcc.has_after)
		file_learn(file, &result->wcc.after);
	/*
	 * A COMMIT that failed meanwhile, or a restart, may have thrown it away. It keeps its
	 * place: older bytes that wait for it must not come in between.
	 */
	if (!writeback_add_part(extent, result) ||
	    (extent->in_doubt && extent->least_committed == NFS3_UNSTABLE)) {
		if (writeback_prepare_replay(extent, extent->stable))
			writeback_send(extent);
		return;
	}
	if (result->count < extent->io.count) {
		extent->reason = WRITE_REASON_RETRY;
		writeback_send(extent);
		return;
	}
	admit_grant(file, extent->credential);
	quarantine_note_clean(file, extent->credential);
	writeback_done(extent, result);
}

/* Nobody was told OK: the error goes to the client that waits. */
static void writeback_fail_op(struct extent *extent, struct engine_write_result result)
{
	struct engine_file *file = extent->file;
	struct engine_op *op = extent->op;

	result.wcc = engine_shown_wcc(file, &result.wcc, extent->sent_sequence);
	if (result.refusal == 0 && result.status != NFS3ERR_JUKEBOX) {
		admit_void_grants(file);
		if (result.status != NFS3ERR_ACCES && result.status != NFS3ERR_PERM)
			quarantine_impose(file, extent->credential, result.status);
	}
	extent_free(extent);
	engine_end_write(file->engine, op, result);
}

static void writeback_failed(struct extent *extent,
			     const struct engine_write_result *result)
{
	if (extent->op != NULL) {
		writeback_fail_op(extent, *result);
	} else if (result->refusal == 0 && result->status == NFS3ERR_JUKEBOX) {
		extent->reason = WRITE_REASON_RETRY;
		extent_forget_written(extent);
		/* It keeps its place, or older bytes might get over what is there of it. */
		TAILQ_INSERT_TAIL(&extent->file->retry, extent, retry_link);
		extent->in_retry = true;
		writeback_back_off(extent->file);
	} else {
		loss_declare(extent,
			     result->refusal != 0 ? NFS3ERR_IO : result->status);
	}
}

/* A server may not accept nothing of a WRITE, and still call it OK. */
static bool writeback_is_void(const struct extent *extent,
			      const struct engine_write_result *result)
{
	return result->count == 0 && extent->io.count > 0;
}

void engine_on_write_result(struct engine *engine, struct engine_io *io,
			    const struct engine_write_result *result, bool resent)
{
	static const struct engine_write_result io_error = { .status = NFS3ERR_IO };
	struct extent *extent = container_of(io, struct extent, io);

	/* A WRITE may run twice; nothing of it is consumed by the first time. */
	(void)resent;
	INVARIANT(extent->state == EXTENT_SENT);
	engine->stats->gauge[GAUGE_WRITES_OUT]--;
	if (result->refusal != 0 || result->status != NFS3_OK)
		writeback_failed(extent, result);
	else if (writeback_is_void(extent, result))
		writeback_failed(extent, &io_error);
	else
		writeback_succeeded(extent, result);
	engine_rest(engine);
}
