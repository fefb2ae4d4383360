/*
 * COMMITs of one file: at most one is out, and it covers what was written when it was sent;
 * those that arrive meanwhile share the next one. What it does not prove is written again
 * from the copies kept, and clients do not notice (I3).
 *
 * The hard cases:
 * - a server that tells a write error once, and loses what was applied before. So a failed
 *   COMMIT puts all unproven bytes of the file in doubt, those on the way included; they
 *   are written again as FILE_SYNC, and only what fails then is lost;
 * - a COMMIT that was cut off and sent again: its first answer may have been such an error,
 *   so it proves nothing;
 * - bytes written over while their COMMIT is out: it may still prove the older version, and
 *   if it does not, the newer one takes over what was waited for (I5).
 */
#include "coalesce/engine_private.h"
#include "coalesce/verifier.h"

/* It waits for WRITEs on their way that are not acked, too: harmless, and simpler. */
void commit_wait(struct engine_file *file, struct engine_op *op)
{
	buffer_close_all(file, WRITE_REASON_CLIENT_COMMIT);
	op->generation = file_freeze(file);
	TAILQ_INSERT_TAIL(&op->generation->waiters, op, link);
	file_mark_work(file);
}

void commit_want(struct engine_file *file, enum commit_reason reason)
{
	if (file->commit_wanted)
		return;
	file->commit_wanted = true;
	file->commit_wanted_reason = reason;
	file_mark_work(file);
}

static enum commit_reason commit_reason_for(const struct engine_op *op)
{
	return op->kind == ENGINE_OP_COMMIT ? COMMIT_REASON_CLIENT_COMMIT
					    : COMMIT_REASON_STABLE_WRITE;
}

/* Only the upstream can answer it (I11). */
static bool commit_needs_upstream(const struct engine_op *op)
{
	return op->kind == ENGINE_OP_COMMIT && !op->file->is_proven;
}

static struct engine_op *commit_find_asker(const struct generation *generation)
{
	struct engine_op *op;

	TAILQ_FOREACH(op, &generation->waiters, link) {
		if (commit_needs_upstream(op))
			return op;
	}
	return NULL;
}

/* Does somebody need a COMMIT that can go out now? */
static bool commit_is_due(struct engine_file *file, enum commit_reason *reason,
			  struct engine_op **asker)
{
	struct generation *generation;
	size_t unproven = 0;

	*asker = NULL;
	TAILQ_FOREACH(generation, &file->generations, link) {
		if (generation->unwritten > 0)
			break;
		unproven += generation->unproven;
		if (TAILQ_EMPTY(&generation->waiters))
			continue;
		*reason = commit_reason_for(TAILQ_FIRST(&generation->waiters));
		if (unproven > 0)
			return true;
		*asker = commit_find_asker(generation);
		*reason = COMMIT_REASON_UNKNOWN_FILE;
		if (*asker != NULL)
			return true;
	}
	*reason = file->commit_wanted_reason;
	return file->commit_wanted && !range_tree_is_empty(&file->unstable);
}

static void commit_send(struct engine_file *file, enum commit_reason reason,
			struct engine_op *asker)
{
	struct engine *engine = file->engine;
	struct range_node *node = range_tree_first(&file->unstable);
	struct credential *credential;

	INVARIANT(node != NULL || asker != NULL);
	credential = node == NULL ? asker->credential
				  : extent_from_range(node)->credential;
	credential_unref(file->commit_io.credential);
	file->commit_io = (struct engine_io){
		.fh = &file->fh,
		.credential = credential_ref(credential),
	};
	file->commit_asker = node == NULL ? asker : NULL;
	for (; node != NULL; node = range_tree_first(&file->unstable))
		extent_set_state(extent_from_range(node), EXTENT_COMMITTING);
	file->commit_out = true;
	if (file->in_retained_list)
		tick_restart_age(file);
	file->commit_wanted = false;
	file->commit_sent = ++engine->sequence;
	engine->stats->commit_reason[reason]++;
	engine->stats->gauge[GAUGE_COMMITS_OUT]++;
	stats_observe(engine->stats, HISTOGRAM_UPSTREAM_WRITES_PER_COMMIT,
		      file->upstream_writes);
	file->upstream_writes = 0;
	engine->ops->send_commit(engine->owner, &file->commit_io);
}

/* Takes out of the waiters those that have what they waited for. */
static void commit_collect_ready(struct engine_file *file, struct engine_op_list *ready)
{
	struct generation *generation;

	TAILQ_FOREACH(generation, &file->generations, link) {
		struct engine_op *op;
		struct engine_op *next;

		if (generation->unwritten > 0 || generation->unproven > 0)
			return;
		for (op = TAILQ_FIRST(&generation->waiters); op != NULL; op = next) {
			next = TAILQ_NEXT(op, link);
			if (op == file->commit_asker || commit_needs_upstream(op))
				continue;
			TAILQ_REMOVE(&generation->waiters, op, link);
			TAILQ_INSERT_TAIL(ready, op, link);
		}
	}
}

/* `wcc`: what the upstream said of the file just now, or NULL. */
static void commit_answer_ready(struct engine_file *file, const struct nfs3_wcc *wcc)
{
	struct engine *engine = file->engine;
	struct engine_op_list ready = TAILQ_HEAD_INITIALIZER(ready);
	struct nfs3_wcc shown = { 0 };
	unsigned int commits = 0;
	struct engine_op *op;

	if (wcc != NULL)
		shown = engine_shown_wcc(file, wcc, file->commit_sent);
	commit_collect_ready(file, &ready);
	while ((op = TAILQ_FIRST(&ready)) != NULL) {
		struct engine_commit_result committed = { .status = NFS3_OK };

		TAILQ_REMOVE(&ready, op, link);
		/* Who came after it was sent may have seen newer ones. */
		if (op->sequence < file->commit_sent)
			committed.wcc = shown;
		if (op->kind == ENGINE_OP_COMMIT) {
			if (wcc != NULL && commits++ > 0)
				stats_count(engine->stats, STAT_COMMITS_SHARED);
			engine_end_commit(engine, op, committed);
		} else {
			op->write_result.committed = op->stable;
			op->write_result.wcc = committed.wcc;
			engine_end_write(engine, op, op->write_result);
		}
	}
}

void commit_pump(struct engine_file *file)
{
	enum commit_reason reason;
	struct engine_op *asker;

	commit_answer_ready(file, NULL);
	if (file->is_suspect && !TAILQ_EMPTY(&file->unproven_barriers) &&
	    !range_tree_is_empty(&file->unstable))
		commit_want(file, COMMIT_REASON_BARRIER);
	if (range_tree_is_empty(&file->unstable)) {
		file->commit_wanted = false;
		if (file->is_suspect && range_tree_is_empty(&file->committing)) {
			/* It was all written anew: nothing from before that may be shown. */
			file->is_suspect = false;
			file->unsettled = ++file->engine->sequence;
		}
	}
	if (!file->is_suspect)
		barrier_end_suspicion(file);
	if (!file->commit_out && file->retry_at_us == 0 &&
	    commit_is_due(file, &reason, &asker))
		commit_send(file, reason, asker);
}

void commit_doubt_writes(struct engine_file *file)
{
	struct range_node *node = range_tree_first(&file->line);

	for (; node != NULL; node = range_tree_next(node)) {
		struct line_entry *entry = container_of(node, struct line_entry, range);

		if (!entry->is_barrier && entry->is_out)
			extent_from_line(entry)->in_doubt = true;
	}
}

/*
 * What newer, written bytes lie over it needs no more of it, and takes over what waits for it.
 * Returns the part before the first of them (still COMMITTING), and in *rest what is left
 * behind it; either may be NULL.
 */
static struct extent *commit_uncovered(struct extent *extent, struct extent **rest)
{
	struct engine_file *file = extent->file;
	struct range_node *node = range_tree_first_overlap(
		&file->unstable, extent_start(extent), extent_end(extent));
	struct extent *newer;
	struct extent *before = NULL;

	*rest = NULL;
	if (node == NULL)
		return extent;
	newer = extent_from_range(node);
	writeback_inherit(newer, extent);
	if (extent_start(newer) > extent_start(extent)) {
		before = extent;
		extent = extent_split(extent, extent_start(newer));
	}
	if (extent_end(newer) < extent_end(extent)) {
		*rest = extent;
		extent_cut(extent, extent_start(extent), extent_end(newer));
	} else {
		extent_free(extent);
	}
	return before;
}

/* Runs then() for every part of the COMMITTING extent under no newer, written bytes. */
static void commit_return(struct extent *extent,
			  void (*then)(struct extent *extent, uint32_t status),
			  uint32_t status)
{
	while (extent != NULL) {
		struct extent *rest;
		struct extent *part = commit_uncovered(extent, &rest);

		if (part != NULL)
			then(part, status);
		extent = rest;
	}
}

static void commit_replay(struct extent *extent, uint32_t status)
{
	(void)status;
	writeback_replay(extent, NFS3_UNSTABLE);
}

/* After a failed COMMIT: once more as FILE_SYNC, so that the error lands where it belongs. */
static void commit_repair(struct extent *extent, uint32_t status)
{
	if (extent->repaired) {
		loss_declare(extent, status);
		return;
	}
	extent->repaired = true;
	writeback_replay(extent, NFS3_FILE_SYNC);
}

static void commit_put_back(struct extent *extent, uint32_t status)
{
	(void)status;
	extent_set_state(extent, EXTENT_UNSTABLE);
}

static struct extent *commit_first_committing(const struct engine_file *file)
{
	struct range_node *node = range_tree_first(&file->committing);

	return node == NULL ? NULL : extent_from_range(node);
}

/* All bytes the COMMIT covered, and then those written since. */
static void commit_return_all(struct engine_file *file,
			      void (*then)(struct extent *extent, uint32_t status),
			      uint32_t status)
{
	struct extent *extent;
	struct range_node *node;

	while ((extent = commit_first_committing(file)) != NULL)
		commit_return(extent, then, status);
	while ((node = range_tree_first(&file->unstable)) != NULL)
		then(extent_from_range(node), status);
}

/* Its first answer may have been an error, told once. */
static void commit_cut_off(struct engine_file *file)
{
	commit_doubt_writes(file);
	commit_return_all(file, commit_replay, NFS3_OK);
}

static void commit_jukebox(struct engine_file *file)
{
	struct extent *extent;

	while ((extent = commit_first_committing(file)) != NULL)
		commit_return(extent, commit_put_back, NFS3ERR_JUKEBOX);
	writeback_back_off(file);
}

/* Nothing of ours was at stake: the client that asked gets the answer as it came. */
static void commit_fail_asker(struct engine_file *file, struct engine_op *asker,
			      const struct engine_commit_result *result)
{
	struct engine_commit_result answer = *result;

	answer.wcc = engine_shown_wcc(file, &result->wcc, file->commit_sent);
	file->commit_asker = NULL;
	TAILQ_REMOVE(&asker->generation->waiters, asker, link);
	engine_end_commit(file->engine, asker, answer);
}

static void commit_failed(struct engine_file *file, struct engine_op *asker,
			  const struct engine_commit_result *result, bool resent)
{
	uint32_t status = result->refusal != 0 ? NFS3ERR_IO : result->status;

	if (resent)
		commit_cut_off(file);
	if (asker != NULL)
		commit_fail_asker(file, asker, result);
	if (status == NFS3ERR_JUKEBOX) {
		/* Later; it is as good as never sent. */
		if (asker == NULL)
			commit_jukebox(file);
		return;
	}
	commit_doubt_writes(file);
	commit_return_all(file, commit_repair, status);
}

void commit_suspect(struct engine_file *file)
{
	file->is_suspect = true;
	file->suspect_since = ++file->engine->sequence;
	file->unsettled = file->suspect_since;
	commit_want(file, COMMIT_REASON_DISCONNECT);
}

/* What is under the verifier just seen needs no proof that it is still there. */
static void commit_suspect_others(struct engine_file *seen)
{
	struct engine_file *file;

	seen->engine->last_suspicion = ++seen->engine->sequence;
	TAILQ_FOREACH(file, &seen->engine->retained_files, retained_link) {
		if (file != seen)
			commit_suspect(file);
	}
}

void commit_suspect_all(struct engine *engine)
{
	struct engine_file *file;

	engine->last_suspicion = ++engine->sequence;
	TAILQ_FOREACH(file, &engine->retained_files, retained_link)
		commit_suspect(file);
}

/* What came back DATA_SYNC only lacked the attributes; its verifier means nothing. */
static bool commit_proves(const struct extent *extent,
			  const struct engine_commit_result *result)
{
	return extent->least_committed == NFS3_DATA_SYNC ||
	       verifier_equal(&extent->upstream_verifier, &result->verifier);
}

static void commit_settle(struct engine_file *file,
			  const struct engine_commit_result *result)
{
	struct engine *engine = file->engine;
	bool has_restarted = false;
	struct extent *extent;

	while ((extent = commit_first_committing(file)) != NULL) {
		if (commit_proves(extent, result)) {
			extent_free(extent);
			continue;
		}
		has_restarted = true;
		commit_return(extent, commit_replay, NFS3_OK);
	}
	/* Once for each restart: the others find out for themselves by now. */
	if (has_restarted &&
	    !verifier_equal(&engine->restarted_as, &result->verifier)) {
		engine->restarted_as = result->verifier;
		commit_suspect_others(file);
	}
	if (file->commit_sent > file->suspect_since)
		file->is_suspect = false;
}

static void commit_succeeded(struct engine_file *file,
			     const struct engine_commit_result *result, bool resent)
{
	file->commit_asker = NULL;
	file->retry_delay_us = 0;
	file->is_proven = true;
	if (resent)
		commit_cut_off(file);
	else
		commit_settle(file, result);
	commit_answer_ready(file, &result->wcc);
}

void engine_on_commit_result(struct engine *engine, struct engine_io *io,
			     const struct engine_commit_result *result, bool resent)
{
	struct engine_file *file = container_of(io, struct engine_file, commit_io);
	struct engine_op *asker = file->commit_asker;

	INVARIANT(file->commit_out);
	file->commit_out = false;
	engine->stats->gauge[GAUGE_COMMITS_OUT]--;
	file_mark_work(file);
	if (result->refusal != 0 || result->status != NFS3_OK)
		commit_failed(file, asker, result, resent);
	else
		commit_succeeded(file, result, resent);
	engine_rest(engine);
}

static void commit_forget_in(struct range_tree *tree, uint64_t size)
{
	struct range_node *node;

	while ((node = range_tree_first_overlap(tree, size, UINT64_MAX)) != NULL)
		extent_cut(extent_from_range(node), size, UINT64_MAX);
}

void commit_forget_beyond(struct engine_file *file, uint64_t size)
{
	struct range_node *node;

	commit_forget_in(&file->unstable, size);
	commit_forget_in(&file->committing, size);
	/* Rewrites from before the truncation; it is still in the line, alone, and out. */
	node = range_tree_first_overlap(&file->line, size, UINT64_MAX);
	while (node != NULL) {
		struct line_entry *entry = container_of(node, struct line_entry, range);

		node = range_tree_next_overlap(node, size, UINT64_MAX);
		if (!entry->is_barrier && extent_from_line(entry)->op == NULL)
			extent_cut(extent_from_line(entry), size, UINT64_MAX);
	}
}
