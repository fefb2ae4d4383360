/*
 * The line of a file: which WRITEs and barriers may be at the upstream together (P4, I6).
 *
 * Two that overlap never are; the one with the smaller sequence goes first. The hard case is
 * a rewrite of older bytes: it enters with its old sequence while newer WRITEs over the same
 * bytes may be out already. It waits for those, and those that have not gone wait for it.
 *
 * An entry is on the ready list when nothing stood before it at the time it was put
 * there; that is looked at again when it is taken.
 */
#include "coalesce/engine_private.h"

static struct line_entry *line_from_range(struct range_node *node)
{
	return container_of(node, struct line_entry, range);
}

static bool line_goes_before(const struct line_entry *other,
			     const struct line_entry *entry)
{
	if (other->is_shared && entry->is_shared)
		return false;
	return other->is_out || other->sequence < entry->sequence;
}

static bool line_is_blocked(const struct engine_file *file,
			    const struct line_entry *entry)
{
	uint64_t start = entry->range.start;
	uint64_t end = entry->range.end;
	struct range_node *node = range_tree_first_overlap(&file->line, start, end);

	for (; node != NULL; node = range_tree_next_overlap(node, start, end)) {
		const struct line_entry *other = line_from_range(node);

		if (other != entry && line_goes_before(other, entry))
			return true;
	}
	return false;
}

static void line_unready(struct engine_file *file, struct line_entry *entry)
{
	if (!entry->in_ready)
		return;
	TAILQ_REMOVE(&file->ready, entry, ready_link);
	entry->in_ready = false;
}

static void line_try(struct engine_file *file, struct line_entry *entry)
{
	if (entry->is_out || entry->in_ready || entry->waits_for_proof ||
	    line_is_blocked(file, entry))
		return;
	TAILQ_INSERT_TAIL(&file->ready, entry, ready_link);
	entry->in_ready = true;
	file_mark_work(file);
}

static void line_try_overlap(struct engine_file *file, const struct range_node *range)
{
	struct range_node *node =
		range_tree_first_overlap(&file->line, range->start, range->end);

	for (; node != NULL;
	     node = range_tree_next_overlap(node, range->start, range->end))
		line_try(file, line_from_range(node));
}

void line_enter(struct engine_file *file, struct line_entry *entry)
{
	entry->is_out = false;
	range_tree_insert(&file->line, &entry->range);
	line_try(file, entry);
}

void line_leave(struct engine_file *file, struct line_entry *entry)
{
	line_unready(file, entry);
	range_tree_remove(&file->line, &entry->range);
	entry->is_out = false;
	line_try_overlap(file, &entry->range);
}

void line_back(struct engine_file *file, struct line_entry *entry)
{
	entry->is_out = false;
	line_try_overlap(file, &entry->range);
	/* It may be empty and overlap nothing, not even itself. */
	line_try(file, entry);
}

struct line_entry *line_next_ready(struct engine_file *file)
{
	struct line_entry *entry;

	while ((entry = TAILQ_FIRST(&file->ready)) != NULL) {
		line_unready(file, entry);
		/* An older rewrite may have come in between. */
		if (line_is_blocked(file, entry))
			continue;
		entry->is_out = true;
		return entry;
	}
	return NULL;
}
