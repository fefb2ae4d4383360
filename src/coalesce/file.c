/*
 * File records: found by handle, alive while something needs them.
 *
 * The hard case is a client that writes many files and never commits: its records would
 * stay for ever, so idle ones are listed oldest first for the engine to give up. Two
 * handles of one file are two records here; that is harmless as long as nothing is buffered.
 */
#include "coalesce/file.h"

#include <stdlib.h>
#include <string.h>

static struct engine_file *file_from_node(struct hash_node *node)
{
	return container_of(node, struct engine_file, node);
}

static bool file_match(const struct hash_node *node, const void *key)
{
	const struct engine_file *file = container_of(
		(struct hash_node *)(uintptr_t)node, struct engine_file, node);

	return nfs3_fh_equal(&file->fh, key);
}

void file_table_init(struct file_table *table)
{
	hash_init(&table->by_fh);
	TAILQ_INIT(&table->idle);
	table->idle_count = 0;
}

void file_table_fini(struct file_table *table)
{
	size_t i;

	for (i = 0; i < table->by_fh.bucket_count; i++) {
		struct hash_node *node = table->by_fh.buckets[i];

		while (node != NULL) {
			struct hash_node *next = node->next;

			free(file_from_node(node));
			node = next;
		}
	}
	hash_fini(&table->by_fh);
}

static struct engine_file *file_new(struct file_table *table, const struct nfs3_fh *fh,
				    uint64_t hash)
{
	struct engine_file *file = calloc(1, sizeof(*file));

	if (file == NULL)
		return NULL;
	file->fh = *fh;
	TAILQ_INIT(&file->ops);
	TAILQ_INIT(&file->commits);
	if (hash_insert(&table->by_fh, hash, &file->node) != 0) {
		free(file);
		return NULL;
	}
	return file;
}

static void file_leave_idle(struct file_table *table, struct engine_file *file)
{
	INVARIANT(file->in_idle_list);
	TAILQ_REMOVE(&table->idle, file, idle_link);
	table->idle_count--;
	file->in_idle_list = false;
}

static void file_free(struct file_table *table, struct engine_file *file)
{
	hash_remove(&table->by_fh, &file->node);
	free(file);
}

struct engine_file *file_pin(struct file_table *table, const struct nfs3_fh *fh)
{
	uint64_t hash = hash_bytes(fh->data, fh->len);
	struct hash_node *node = hash_find(&table->by_fh, hash, file_match, fh);
	struct engine_file *file;

	if (node != NULL) {
		file = file_from_node(node);
		if (file->in_idle_list)
			file_leave_idle(table, file);
	} else {
		file = file_new(table, fh, hash);
		if (file == NULL)
			return NULL;
	}
	file->op_count++;
	return file;
}

void file_unpin(struct file_table *table, struct engine_file *file)
{
	INVARIANT(file->op_count > 0);
	if (--file->op_count > 0)
		return;
	INVARIANT(TAILQ_EMPTY(&file->ops) && TAILQ_EMPTY(&file->commits));
	INVARIANT(file->commit_out == NULL);
	if (file->ledger.count == 0) {
		file_free(table, file);
		return;
	}
	TAILQ_INSERT_TAIL(&table->idle, file, idle_link);
	table->idle_count++;
	file->in_idle_list = true;
}

void file_drop_idle(struct file_table *table, struct engine_file *file)
{
	file_leave_idle(table, file);
	file_free(table, file);
}

void file_table_clear_ledgers(struct file_table *table)
{
	struct engine_file *idle;
	size_t i;

	while ((idle = TAILQ_FIRST(&table->idle)) != NULL)
		file_drop_idle(table, idle);
	for (i = 0; i < table->by_fh.bucket_count; i++) {
		struct hash_node *node;

		for (node = table->by_fh.buckets[i]; node != NULL; node = node->next)
			file_from_node(node)->ledger.count = 0;
	}
}
