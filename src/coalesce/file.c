/*
 * File records: found by handle, and by what the upstream says a handle stands for.
 *
 * The hard cases: two handles of one file (bytes buffered under one of them must not hide
 * from the other, so neither is acked early any more), and a client that writes many
 * files and comes back to none (records that are only worth remembering are bounded).
 * Generations are made when needed: a file nobody commits has one, or none.
 */
#include "coalesce/file.h"

#include <stdlib.h>
#include <string.h>

#include "coalesce/engine_private.h"

static bool file_match(const struct hash_node *node, const void *key)
{
	const struct engine_file *file = container_of(
		(struct hash_node *)(uintptr_t)node, struct engine_file, node);

	return nfs3_fh_equal(&file->fh, key);
}

static bool file_match_identity(const struct hash_node *node, const void *key)
{
	const struct engine_file *file = container_of(
		(struct hash_node *)(uintptr_t)node, struct engine_file, identity_node);
	const struct file_identity *identity = key;

	return file->identity.fsid == identity->fsid &&
	       file->identity.fileid == identity->fileid;
}

static uint64_t file_hash_identity(const struct file_identity *identity)
{
	const uint64_t key[2] = { identity->fsid, identity->fileid };

	return hash_bytes(key, sizeof(key));
}

void file_table_init(struct file_table *table)
{
	hash_init(&table->by_fh);
	hash_init(&table->by_identity);
	TAILQ_INIT(&table->idle);
	table->idle_count = 0;
}

struct engine_file *file_find(const struct file_table *table, const struct nfs3_fh *fh)
{
	struct hash_node *node =
		hash_find(&table->by_fh, hash_bytes(fh->data, fh->len), file_match, fh);

	return node == NULL ? NULL : container_of(node, struct engine_file, node);
}

static void file_leave_idle(struct engine_file *file)
{
	struct file_table *table = &file->engine->files;

	if (!file->in_idle_list)
		return;
	TAILQ_REMOVE(&table->idle, file, idle_link);
	table->idle_count--;
	file->in_idle_list = false;
}

struct engine_file *file_get(struct engine *engine, const struct nfs3_fh *fh)
{
	struct engine_file *file = file_find(&engine->files, fh);

	if (file != NULL)
		return file;
	file = calloc(1, sizeof(*file));
	if (file == NULL)
		return NULL;
	file->engine = engine;
	file->fh = *fh;
	file->user = UINT64_MAX;
	range_tree_init(&file->dirty);
	range_tree_init(&file->line);
	range_tree_init(&file->unstable);
	range_tree_init(&file->committing);
	TAILQ_INIT(&file->ready);
	TAILQ_INIT(&file->retry);
	TAILQ_INIT(&file->unproven_barriers);
	TAILQ_INIT(&file->generations);
	if (hash_insert(&engine->files.by_fh, hash_bytes(fh->data, fh->len),
			&file->node) != 0) {
		free(file);
		return NULL;
	}
	engine->stats->gauge[GAUGE_FILES]++;
	return file;
}

static void file_free_tree(struct range_tree *tree)
{
	struct range_node *node;

	while ((node = range_tree_first(tree)) != NULL)
		extent_free(extent_from_range(node));
}

/* Extents only; barriers are their owners'. */
static void file_free_line(struct engine_file *file)
{
	struct range_node *node;

	while ((node = range_tree_first(&file->line)) != NULL) {
		struct line_entry *entry = container_of(node, struct line_entry, range);

		if (entry->is_barrier)
			range_tree_remove(&file->line, node);
		else
			extent_free(extent_from_line(entry));
	}
}

static void file_unlist(struct engine_file *file)
{
	struct engine *engine = file->engine;

	if (file->in_dirty_lists) {
		TAILQ_REMOVE(&engine->dirty_files, file, dirty_link);
		TAILQ_REMOVE(&engine->plugged_files, file, plug_link);
	}
	if (file->in_retained_list)
		TAILQ_REMOVE(&engine->retained_files, file, retained_link);
	if (file->in_retry_list)
		TAILQ_REMOVE(&engine->retry_files, file, retry_link);
	if (file->in_sticky_list)
		TAILQ_REMOVE(&engine->sticky_files, file, sticky_link);
	if (file->in_work)
		TAILQ_REMOVE(&engine->work, file, work_link);
	file_leave_idle(file);
}

static void file_free(struct engine_file *file)
{
	struct engine *engine = file->engine;
	struct generation *generation;

	file_free_tree(&file->dirty);
	file_free_line(file);
	file_free_tree(&file->unstable);
	file_free_tree(&file->committing);
	while ((generation = TAILQ_FIRST(&file->generations)) != NULL) {
		TAILQ_REMOVE(&file->generations, generation, link);
		free(generation);
	}
	admit_void_grants(file);
	credential_unref(file->commit_io.credential);
	file_unlist(file);
	if (file->identity.known)
		hash_remove(&engine->files.by_identity, &file->identity_node);
	hash_remove(&engine->files.by_fh, &file->node);
	engine->stats->gauge[GAUGE_FILES]--;
	if (file->unsettled > engine->unsettled_forgotten)
		engine->unsettled_forgotten = file->unsettled;
	free(file);
}

void file_table_fini(struct file_table *table)
{
	size_t i;

	for (i = 0; i < table->by_fh.bucket_count; i++) {
		struct hash_node *node = table->by_fh.buckets[i];
		struct hash_node *next;

		for (; node != NULL; node = next) {
			next = node->next;
			file_free(container_of(node, struct engine_file, node));
		}
	}
	hash_fini(&table->by_fh);
	hash_fini(&table->by_identity);
}

static bool file_is_needed(const struct engine_file *file)
{
	return file->op_count > 0 || file->commit_out || !file_is_clean(file) ||
	       !range_tree_is_empty(&file->line) || file->sticky_count > 0 ||
	       file->in_work;
}

static bool file_is_worth_remembering(const struct engine_file *file)
{
	unsigned int i;

	if (file->is_removed)
		return false;
	for (i = 0; i < FILE_GRANTS; i++)
		if (file->grant[i].credential != NULL)
			return true;
	return file->is_proven || file->is_quarantined;
}

void file_reap(struct engine_file *file)
{
	struct file_table *table = &file->engine->files;

	file_leave_idle(file);
	if (file_is_needed(file))
		return;
	if (!file_is_worth_remembering(file)) {
		file_free(file);
		return;
	}
	TAILQ_INSERT_TAIL(&table->idle, file, idle_link);
	file->in_idle_list = true;
	if (++table->idle_count > ENGINE_IDLE_FILES_MAX)
		file_free(TAILQ_FIRST(&table->idle));
}

void file_mark_work(struct engine_file *file)
{
	if (file->in_work)
		return;
	file_leave_idle(file);
	TAILQ_INSERT_TAIL(&file->engine->work, file, work_link);
	file->in_work = true;
}

static void file_note_alias(struct engine_file *file, struct engine_file *other)
{
	/* A handle nobody uses any more, or that of a removed file. */
	if (other->in_idle_list) {
		file_free(other);
		return;
	}
	file->is_aliased = true;
	other->is_aliased = true;
	buffer_close_all(file, WRITE_REASON_SHARED);
	buffer_close_all(other, WRITE_REASON_SHARED);
}

void file_learn(struct engine_file *file, const struct nfs3_attr *attr)
{
	struct file_table *table = &file->engine->files;
	struct file_identity identity = {
		.known = true,
		.fsid = attr->fsid,
		.fileid = attr->fileid,
		.type = attr->type,
		.mode = attr->mode,
		.uid = attr->uid,
	};
	uint64_t hash = file_hash_identity(&identity);
	struct hash_node *node;

	if (file->identity.known && (file->identity.fsid != identity.fsid ||
				     file->identity.fileid != identity.fileid)) {
		hash_remove(&table->by_identity, &file->identity_node);
		file->identity.known = false;
	}
	if (!file->identity.known) {
		node = hash_find(&table->by_identity, hash, file_match_identity,
				 &identity);
		if (node != NULL)
			file_note_alias(file, container_of(node, struct engine_file,
							   identity_node));
		/* Without memory for it the file stays unknown and is not acked early. */
		if (hash_insert(&table->by_identity, hash, &file->identity_node) != 0)
			return;
	}
	file->identity = identity;
	file->is_removed = false;
}

struct generation *file_open_generation(struct engine_file *file)
{
	struct generation *generation = TAILQ_LAST(&file->generations, generation_list);

	if (generation != NULL && TAILQ_EMPTY(&generation->waiters))
		return generation;
	generation = calloc(1, sizeof(*generation));
	if (generation == NULL)
		return NULL;
	TAILQ_INIT(&generation->waiters);
	generation->number = ++file->engine->sequence;
	TAILQ_INSERT_TAIL(&file->generations, generation, link);
	return generation;
}

struct generation *file_freeze(struct engine_file *file)
{
	struct generation *generation = TAILQ_LAST(&file->generations, generation_list);

	if (generation == NULL)
		generation = file_open_generation(file);
	INVARIANT(generation != NULL);
	return generation;
}

void file_prune_generations(struct engine_file *file)
{
	struct generation *generation;
	struct generation *next;

	for (generation = TAILQ_FIRST(&file->generations); generation != NULL;
	     generation = next) {
		next = TAILQ_NEXT(generation, link);
		if (generation->unwritten > 0 || generation->unproven > 0 ||
		    !TAILQ_EMPTY(&generation->waiters))
			continue;
		TAILQ_REMOVE(&file->generations, generation, link);
		free(generation);
	}
}

bool file_is_clean(const struct engine_file *file)
{
	return file->acked_unwritten == 0 && range_tree_is_empty(&file->unstable) &&
	       range_tree_is_empty(&file->committing);
}
