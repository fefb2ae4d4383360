/*
 * What time and amounts bring: writeback of what is old or too much, COMMITs nobody asked for,
 * retries after JUKEBOX, errors that wait too long.
 *
 * Every list is kept in order of time, so only its head is looked at. The hard case is that
 * the policy must come to an end in one call: whatever it starts leaves the list that made
 * it start.
 */
#include "coalesce/engine_private.h"
#include "coalesce/policy.h"

static struct policy_dirty tick_dirty(const struct engine_file *file)
{
	const struct engine *engine = file->engine;

	return (struct policy_dirty){
		.now_us = engine->now_us,
		.dirty_since_us = file->dirty_since_us,
		.added_us = file->added_us,
		.unsent_bytes = engine->unsent_bytes,
		.is_draining = engine->is_draining,
	};
}

static bool tick_write(struct engine_file *file)
{
	struct policy_dirty dirty;
	enum write_reason reason;

	if (file == NULL)
		return false;
	dirty = tick_dirty(file);
	if (!policy_should_write(&dirty, &file->engine->config, &reason))
		return false;
	buffer_close_all(file, reason);
	return true;
}

void tick_list_file(struct engine_file *file)
{
	struct engine *engine = file->engine;
	bool is_retained = !range_tree_is_empty(&file->unstable) ||
			   !range_tree_is_empty(&file->committing);

	if (is_retained == file->in_retained_list)
		return;
	if (is_retained) {
		file->retained_since_us = engine->now_us;
		TAILQ_INSERT_TAIL(&engine->retained_files, file, retained_link);
	} else {
		TAILQ_REMOVE(&engine->retained_files, file, retained_link);
	}
	file->in_retained_list = is_retained;
}

void tick_restart_age(struct engine_file *file)
{
	struct engine *engine = file->engine;

	TAILQ_REMOVE(&engine->retained_files, file, retained_link);
	TAILQ_INSERT_TAIL(&engine->retained_files, file, retained_link);
	file->retained_since_us = engine->now_us;
}

/* Once, and then again only after as long a time. */
static void tick_commit_old(struct engine *engine)
{
	uint64_t expire_us = engine->config.retained_expire_us;
	struct engine_file *file;

	while ((file = TAILQ_FIRST(&engine->retained_files)) != NULL &&
	       engine->now_us - file->retained_since_us >= expire_us) {
		tick_restart_age(file);
		if (!file->commit_out)
			commit_want(file, COMMIT_REASON_AGE);
	}
}

/* The file with most of what is not proven and not on its way to be. */
static void tick_commit_largest(struct engine *engine)
{
	struct engine_file *largest = NULL;
	struct engine_file *file;

	TAILQ_FOREACH(file, &engine->retained_files, retained_link) {
		if (!file->commit_out && !file->commit_wanted &&
		    (largest == NULL || file->unstable_bytes > largest->unstable_bytes))
			largest = file;
	}
	if (largest != NULL)
		commit_want(largest, COMMIT_REASON_MEMORY);
}

void tick_apply_policy(struct engine *engine)
{
	while (tick_write(TAILQ_FIRST(&engine->dirty_files)) ||
	       tick_write(TAILQ_FIRST(&engine->plugged_files)))
		;
	tick_commit_old(engine);
	if (engine->unstable_bytes > engine->config.retained_bytes)
		tick_commit_largest(engine);
}

void engine_relieve(struct engine *engine)
{
	struct engine_file *file;

	while ((file = TAILQ_FIRST(&engine->dirty_files)) != NULL)
		buffer_close_all(file, WRITE_REASON_MEMORY);
	tick_commit_largest(engine);
	engine_rest(engine);
}

static void tick_retry(struct engine *engine)
{
	struct engine_file *file = TAILQ_FIRST(&engine->retry_files);
	struct engine_file *next;

	for (; file != NULL; file = next) {
		next = TAILQ_NEXT(file, retry_link);
		if (file->retry_at_us > engine->now_us)
			continue;
		TAILQ_REMOVE(&engine->retry_files, file, retry_link);
		file->in_retry_list = false;
		file->retry_at_us = 0;
		writeback_retry(file);
		file_mark_work(file);
	}
}

static void tick_sticky(struct engine *engine)
{
	struct engine_file *file = TAILQ_FIRST(&engine->sticky_files);
	struct engine_file *next;

	for (; file != NULL; file = next) {
		next = TAILQ_NEXT(file, sticky_link);
		loss_expire_sticky(file);
	}
}

void engine_tick(struct engine *engine)
{
	tick_retry(engine);
	tick_sticky(engine);
	engine_rest(engine);
}

static void tick_sooner(uint64_t *deadline, uint64_t at)
{
	if (at < *deadline)
		*deadline = at;
}

uint64_t engine_next_deadline_us(const struct engine *engine)
{
	uint64_t deadline = UINT64_MAX;
	const struct engine_file *file;
	struct policy_dirty dirty;

	file = TAILQ_FIRST(&engine->dirty_files);
	if (file != NULL) {
		dirty = tick_dirty(file);
		tick_sooner(&deadline, policy_write_deadline(&dirty, &engine->config));
		file = TAILQ_FIRST(&engine->plugged_files);
		dirty = tick_dirty(file);
		tick_sooner(&deadline, policy_write_deadline(&dirty, &engine->config));
	}
	file = TAILQ_FIRST(&engine->retained_files);
	if (file != NULL)
		tick_sooner(&deadline, file->retained_since_us +
					       engine->config.retained_expire_us);
	TAILQ_FOREACH(file, &engine->retry_files, retry_link)
		tick_sooner(&deadline, file->retry_at_us);
	TAILQ_FOREACH(file, &engine->sticky_files, sticky_link) {
		unsigned int i;

		for (i = 0; i < file->sticky_count; i++)
			tick_sooner(&deadline, file->sticky[i].since_us +
						       engine->config.sticky_us);
	}
	return deadline;
}
