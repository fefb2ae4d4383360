/*
 * Counts again what the engine keeps books of, by walking everything it holds.
 *
 * The hard case is that a wrong count shows late, as a COMMIT that never ends or ends
 * too early; here it shows in the step that made it. It also looks whether the engine
 * came to rest too early: an entry that nothing stands before has gone out.
 */
#include "coalesce/engine_private.h"
#include "unit/engine_fixture.h"

/* check writes to a pipe for every assertion it sees; here are thousands in each step. */
#define REQUIRE(condition)                                                             \
	do {                                                                           \
		if (!(condition))                                                      \
			ck_abort_msg("line %d: %s", __LINE__, #condition);             \
	} while (0)

enum { GENERATIONS_MAX = 128 };

struct recount {
	uint64_t dirty_bytes; /* acked, unanswered */
	uint64_t retained_bytes;
	uint64_t unsent_bytes;
	uint64_t unstable_bytes;
	size_t acked_unwritten;
	size_t unwritten[GENERATIONS_MAX];
	size_t unproven[GENERATIONS_MAX];
	unsigned int held_barriers;
};

/* Order, priorities, parents and largest ends; returns the largest end. */
static uint64_t check_node(const struct range_node *node)
{
	uint64_t max_end = node->end;
	const struct range_node *child[2] = { node->left, node->right };
	unsigned int i;

	REQUIRE(node->start <= node->end);
	for (i = 0; i < 2; i++) {
		uint64_t end;

		if (child[i] == NULL)
			continue;
		REQUIRE(child[i]->parent == node);
		REQUIRE(child[i]->priority <= node->priority);
		if (i == 0)
			REQUIRE(child[i]->start <= node->start);
		else
			REQUIRE(child[i]->start >= node->start);
		end = check_node(child[i]);
		if (end > max_end)
			max_end = end;
	}
	REQUIRE(node->max_end == max_end);
	return max_end;
}

static void check_payload(const struct extent *extent)
{
	const struct fragment *fragment;
	unsigned int count = 0;
	uint64_t bytes = 0;

	TAILQ_FOREACH(fragment, &extent->fragments, link) {
		REQUIRE(fragment->len > 0);
		bytes += fragment->len;
		count++;
	}
	REQUIRE(bytes == extent_bytes(extent));
	if (extent->state != EXTENT_DIRTY)
		REQUIRE(count <= 1);
}

static unsigned int generation_index(const struct extent *extent)
{
	const struct generation *generation;
	unsigned int i = 0;

	TAILQ_FOREACH(generation, &extent->file->generations, link) {
		ck_assert_uint_lt(i, GENERATIONS_MAX);
		if (generation == extent->generation)
			return i;
		i++;
	}
	ck_abort_msg("an extent is in no generation of its file");
	return 0;
}

static void count_extent(struct recount *count, const struct extent *extent)
{
	unsigned int i = generation_index(extent);
	uint64_t bytes = extent_bytes(extent);

	check_payload(extent);
	switch (extent->state) {
	case EXTENT_DIRTY:
		count->unsent_bytes += bytes;
		/* fall through */
	case EXTENT_WAITING:
	case EXTENT_SENT:
		count->unwritten[i]++;
		if (extent->acked) {
			count->acked_unwritten++;
			count->dirty_bytes += bytes;
		}
		break;
	case EXTENT_UNSTABLE:
		count->unstable_bytes += bytes;
		/* fall through */
	case EXTENT_COMMITTING:
		count->unproven[i]++;
		count->retained_bytes += bytes;
		break;
	case EXTENT_NEW:
	case EXTENT_GONE:
	case EXTENT_STATE_COUNT:
		ck_abort_msg("a dead extent is in a tree");
	}
	/* Somebody is known to be told when these bytes are lost. */
	if (extent->acked)
		REQUIRE(extent->file->owner_count > 0);
}

static void count_tree(struct recount *count, const struct range_tree *tree,
		       enum extent_state state)
{
	struct range_node *node;
	uint64_t end = 0;

	if (tree->root != NULL) {
		REQUIRE(tree->root->parent == NULL);
		check_node(tree->root);
	}
	for (node = range_tree_first(tree); node != NULL;
	     node = range_tree_next(node)) {
		REQUIRE(node->start >= end);
		end = node->end;
		REQUIRE(extent_from_range(node)->state == state);
		count_extent(count, extent_from_range(node));
	}
}

static bool is_blocked(const struct engine_file *file, const struct line_entry *entry)
{
	struct range_node *node;

	for (node = range_tree_first(&file->line); node != NULL;
	     node = range_tree_next(node)) {
		const struct line_entry *other =
			container_of(node, struct line_entry, range);

		if (other == entry || (other->is_shared && entry->is_shared) ||
		    !range_overlaps(node, entry->range.start, entry->range.end))
			continue;
		ck_assert_msg(!other->is_out || !entry->is_out,
			      "two that overlap are out");
		if (other->is_out || other->sequence < entry->sequence)
			return true;
	}
	return false;
}

static void count_line(struct recount *count, const struct engine_file *file,
		       bool at_rest)
{
	struct range_node *node;

	if (file->line.root != NULL)
		check_node(file->line.root);
	for (node = range_tree_first(&file->line); node != NULL;
	     node = range_tree_next(node)) {
		struct line_entry *entry = container_of(node, struct line_entry, range);
		bool blocked = is_blocked(file, entry);

		ck_assert_msg(!at_rest || entry->is_out || blocked ||
				      file->retry_at_us > 0 ||
				      (entry->is_barrier && file->is_suspect),
			      "nothing stands before it, and it has not gone");
		if (entry->is_barrier) {
			const struct engine_op *barrier =
				container_of(entry, struct engine_op, line);

			if (barrier->barrier != ENGINE_BARRIER_FLUSH)
				count->held_barriers++;
			continue;
		}
		REQUIRE(extent_from_line(entry)->state ==
			(entry->is_out ? EXTENT_SENT : EXTENT_WAITING));
		count_extent(count, extent_from_line(entry));
	}
}

static void check_generations(const struct recount *count,
			      const struct engine_file *file)
{
	const struct generation *generation;
	uint64_t number = 0;
	unsigned int i = 0;

	TAILQ_FOREACH(generation, &file->generations, link) {
		REQUIRE(generation->unwritten == count->unwritten[i]);
		REQUIRE(generation->unproven == count->unproven[i]);
		REQUIRE(generation->number > number);
		number = generation->number;
		i++;
	}
}

/* What its extents count for, added to the totals of the engine. */
static void check_extents(const struct engine_file *file, bool at_rest,
			  struct recount *total)
{
	struct recount count = { 0 };

	count_tree(&count, &file->dirty, EXTENT_DIRTY);
	count_tree(&count, &file->unstable, EXTENT_UNSTABLE);
	count_tree(&count, &file->committing, EXTENT_COMMITTING);
	count_line(&count, file, at_rest);
	check_generations(&count, file);
	REQUIRE(file->acked_unwritten == count.acked_unwritten);
	REQUIRE(file->unstable_bytes == count.unstable_bytes);
	REQUIRE(file->held_barriers >= count.held_barriers);
	total->dirty_bytes += count.dirty_bytes;
	total->retained_bytes += count.retained_bytes;
	total->unsent_bytes += count.unsent_bytes;
	total->unstable_bytes += count.unstable_bytes;
}

static void check_lists(const struct engine_file *file)
{
	unsigned int ops = 0;
	unsigned int i;

	for (i = 0; i < OPS_MAX; i++)
		ops += op[i].file == file;
	REQUIRE(file->op_count == ops);
	REQUIRE(file->in_dirty_lists == !range_tree_is_empty(&file->dirty));
	REQUIRE(file->in_retained_list == (!range_tree_is_empty(&file->unstable) ||
					   !range_tree_is_empty(&file->committing)));
	REQUIRE(file->commit_out || range_tree_is_empty(&file->committing));
	REQUIRE(!file->in_work);
}

static void check_totals(bool at_rest)
{
	const struct hash_table *files = &engine->files.by_fh;
	struct recount total = { 0 };
	size_t bucket;

	for (bucket = 0; bucket < files->bucket_count; bucket++) {
		struct hash_node *node;

		for (node = files->buckets[bucket]; node != NULL; node = node->next) {
			const struct engine_file *file =
				container_of(node, struct engine_file, node);

			check_extents(file, at_rest, &total);
			if (at_rest)
				check_lists(file);
		}
	}
	REQUIRE(stats.gauge[GAUGE_DIRTY_BYTES] == total.dirty_bytes);
	REQUIRE(stats.gauge[GAUGE_RETAINED_BYTES] == total.retained_bytes);
	REQUIRE(engine->unsent_bytes == total.unsent_bytes);
	REQUIRE(engine->unstable_bytes == total.unstable_bytes);
	REQUIRE(stats.gauge[GAUGE_FILES] == files->node_count);
	REQUIRE(engine_is_clean(engine) ==
		(total.dirty_bytes + total.retained_bytes == 0));
}

void books_check_extents(void)
{
	check_totals(false);
}

void books_check(void)
{
	unsigned int commits = 0;
	unsigned int i;

	/* Called from inside an answer: looked at when the outer call ends. */
	if (!engine->is_resting)
		return;
	check_totals(true);
	for (i = 0; i < out_count; i++)
		commits += out[i].is_commit;
	REQUIRE(stats.gauge[GAUGE_COMMITS_OUT] == commits);
	REQUIRE(stats.gauge[GAUGE_WRITES_OUT] == out_count - commits);
	REQUIRE(TAILQ_EMPTY(&engine->answers));
}
