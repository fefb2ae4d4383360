/*
 * Acked bytes come together: extents that grow, until the policy or somebody who waits
 * sends them on their way.
 *
 * The hard case is bytes written twice. Newer ones may replace older ones here only while
 * nobody waits for the older (they are DIRTY) and the same credential wrote both; else
 * the older go first, by themselves (I5, P6).
 */
#include <errno.h>

#include "coalesce/engine_private.h"
#include "coalesce/policy.h"

static struct extent *buffer_first_overlap(const struct engine_file *file,
					   uint64_t start, uint64_t end)
{
	struct range_node *node = range_tree_first_overlap(&file->dirty, start, end);

	return node == NULL ? NULL : extent_from_range(node);
}

/* The DIRTY extent that ends at (begins at) this byte and may grow by it, or NULL. */
static struct extent *buffer_neighbour(const struct engine_file *file, uint64_t byte,
				       uint64_t at, const struct credential *credential)
{
	struct extent *extent = buffer_first_overlap(file, byte, byte + 1);

	if (extent == NULL || extent->credential != credential)
		return NULL;
	return extent_end(extent) == at || extent_start(extent) == at ? extent : NULL;
}

static void buffer_join_lists(struct engine_file *file)
{
	struct engine *engine = file->engine;

	if (file->in_dirty_lists) {
		TAILQ_REMOVE(&engine->plugged_files, file, plug_link);
	} else {
		file->dirty_since_us = engine->now_us;
		TAILQ_INSERT_TAIL(&engine->dirty_files, file, dirty_link);
		file->in_dirty_lists = true;
	}
	file->added_us = engine->now_us;
	TAILQ_INSERT_TAIL(&engine->plugged_files, file, plug_link);
}

static void buffer_leave_lists(struct engine_file *file)
{
	if (!file->in_dirty_lists || !range_tree_is_empty(&file->dirty))
		return;
	TAILQ_REMOVE(&file->engine->dirty_files, file, dirty_link);
	TAILQ_REMOVE(&file->engine->plugged_files, file, plug_link);
	file->in_dirty_lists = false;
}

/* Sends it on its way in pieces the upstream takes. */
static void buffer_close(struct extent *extent, enum write_reason reason)
{
	struct engine_file *file = extent->file;
	uint32_t wtmax = file->engine->wtmax_bytes;

	while (extent_bytes(extent) > wtmax) {
		uint64_t at = policy_piece_end(extent_start(extent), wtmax);
		struct extent *tail = extent_split(extent, at);

		writeback_enter(extent, reason);
		extent = tail;
	}
	writeback_enter(extent, reason);
	buffer_leave_lists(file);
}

void buffer_close_overlap(struct engine_file *file, uint64_t start, uint64_t end,
			  enum write_reason reason)
{
	struct extent *extent;

	while ((extent = buffer_first_overlap(file, start, end)) != NULL)
		buffer_close(extent, reason);
}

void buffer_close_all(struct engine_file *file, enum write_reason reason)
{
	struct range_node *node;

	while ((node = range_tree_first(&file->dirty)) != NULL)
		buffer_close(extent_from_range(node), reason);
}

/* Makes place for newer bytes of this credential. */
static void buffer_make_place(struct engine_file *file, const struct engine_op *op)
{
	uint64_t end = op->offset + op->count;
	struct range_node *node =
		range_tree_first_overlap(&file->dirty, op->offset, end);

	for (; node != NULL; node = range_tree_next_overlap(node, op->offset, end)) {
		if (extent_from_range(node)->credential != op->credential) {
			buffer_close_overlap(file, op->offset, end,
					     WRITE_REASON_OVERLAP);
			return;
		}
	}
	while ((node = range_tree_first_overlap(&file->dirty, op->offset, end)) != NULL)
		extent_cut(extent_from_range(node), op->offset, end);
}

static void buffer_close_full(struct extent *extent)
{
	uint32_t wtmax = extent->file->engine->wtmax_bytes;

	while (policy_is_full(extent_start(extent), extent_end(extent), wtmax)) {
		uint64_t at = policy_piece_end(extent_start(extent), wtmax);
		struct extent *tail = NULL;

		if (at < extent_end(extent))
			tail = extent_split(extent, at);
		writeback_enter(extent, WRITE_REASON_FULL);
		if (tail == NULL)
			return;
		extent = tail;
	}
}

/* Joins it with what lies directly before and behind it. */
static struct extent *buffer_join(struct extent *extent)
{
	struct engine_file *file = extent->file;
	uint64_t start = extent_start(extent);
	uint64_t end = extent_end(extent);
	struct extent *before = NULL;
	struct extent *behind;

	if (start > 0)
		before = buffer_neighbour(file, start - 1, start, extent->credential);
	behind = buffer_neighbour(file, end, end, extent->credential);
	if (behind != NULL)
		extent_join(extent, behind);
	if (before == NULL)
		return extent;
	extent_join(before, extent);
	return before;
}

int buffer_add(struct engine_file *file, const struct engine_op *op)
{
	struct extent *extent =
		extent_new(file, op->credential, op->offset, op->offset + op->count);

	if (extent == NULL)
		return -ENOMEM;
	if (extent_add_payload(extent, op->payload, op->data, op->count) != 0) {
		extent_free(extent);
		return -ENOMEM;
	}
	extent->acked = true;
	extent->stable = NFS3_UNSTABLE;
	buffer_make_place(file, op);
	extent_set_state(extent, EXTENT_DIRTY);
	buffer_join_lists(file);
	buffer_close_full(buffer_join(extent));
	buffer_leave_lists(file);
	return 0;
}
