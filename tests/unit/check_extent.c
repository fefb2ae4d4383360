/*
 * Extents by themselves, without the engine's turns: splitting, cutting, joining,
 * gathering and moving between states, with every byte and every book compared.
 */
#include "coalesce/engine_private.h"
#include "unit/engine_fixture.h"

enum { SPACE = 2000, STEPS = 1000 };

static struct engine_file *file;
static char model[SPACE]; /* '.': no extent */
static uint32_t seed;

static uint32_t draw(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

static void setup(void)
{
	engine_setup();
	file = file_get(engine, &file_a);
	ck_assert_ptr_nonnull(file);
	file->owner_count = 1;
	memset(model, '.', sizeof(model));
}

static struct range_tree *tree_of(enum extent_state state)
{
	return state == EXTENT_DIRTY	  ? &file->dirty
	       : state == EXTENT_UNSTABLE ? &file->unstable
	       : state == EXTENT_WAITING  ? &file->line
					  : &file->committing;
}

static void free_all(enum extent_state state)
{
	struct range_node *node;

	while ((node = range_tree_first(tree_of(state))) != NULL)
		extent_free(extent_from_range(node));
}

static void teardown(void)
{
	free_all(EXTENT_DIRTY);
	free_all(EXTENT_WAITING);
	free_all(EXTENT_UNSTABLE);
	free_all(EXTENT_COMMITTING);
	file_mark_work(file);
	tick_after(0); /* the record ends, too */
	ck_assert_uint_eq(engine_file_count(engine), 0);
	engine_teardown();
}

/* NEW, acked, of `pieces` pieces with the given letters. */
static struct extent *make(uint64_t start, const char *text, unsigned int pieces)
{
	uint32_t count = (uint32_t)strlen(text);
	struct extent *extent = extent_new(file, alice, start, start + count);
	uint32_t done = 0;

	ck_assert_ptr_nonnull(extent);
	while (pieces > 0) {
		uint32_t len = pieces == 1 ? count - done : (count - done) / pieces;
		struct buf *buf = buf_new(len);

		ck_assert_ptr_nonnull(buf);
		memcpy(buf_start(buf), text + done, len);
		ck_assert_int_eq(extent_add_payload(extent, buf, buf_start(buf), len),
				 0);
		buf_unref(buf);
		done += len;
		pieces--;
	}
	extent->acked = true;
	return extent;
}

/* Goes the way through the states that leads there. */
static void move_to(struct extent *extent, enum extent_state state)
{
	if (state == EXTENT_DIRTY) {
		extent_set_state(extent, state);
		return;
	}
	extent_set_state(extent, EXTENT_WAITING);
	if (state == EXTENT_WAITING)
		return;
	extent_set_state(extent, EXTENT_SENT);
	extent_set_state(extent, EXTENT_UNSTABLE);
	if (state == EXTENT_COMMITTING)
		extent_set_state(extent, EXTENT_COMMITTING);
}

static const char *text_of(const struct extent *extent)
{
	static char text[SPACE + 1];
	const struct fragment *fragment;
	size_t done = 0;

	TAILQ_FOREACH(fragment, &extent->fragments, link) {
		memcpy(text + done, fragment->data, fragment->len);
		done += fragment->len;
	}
	text[done] = '\0';
	ck_assert_uint_eq(done, extent_bytes(extent));
	return text;
}

static void check_model(enum extent_state state)
{
	char found[SPACE];
	struct range_node *node = range_tree_first(tree_of(state));

	memset(found, '.', sizeof(found));
	for (; node != NULL; node = range_tree_next(node))
		memcpy(found + node->start, text_of(extent_from_range(node)),
		       node->end - node->start);
	ck_assert_mem_eq(found, model, sizeof(model));
	books_check_extents();
}

static void cut_range(enum extent_state state, uint64_t start, uint64_t end)
{
	struct range_node *node;

	while ((node = range_tree_first_overlap(tree_of(state), start, end)) != NULL)
		extent_cut(extent_from_range(node), start, end);
	memset(model + start, '.', end - start);
}

static void insert(enum extent_state state)
{
	char text[201];
	uint32_t count = 1 + draw(200);
	uint32_t start = draw(SPACE - count);
	unsigned int pieces = 1;
	uint32_t i;

	for (i = 0; i < count; i++)
		text[i] = (char)('a' + draw(26));
	text[count] = '\0';
	if (state == EXTENT_DIRTY && count >= 8)
		pieces += draw(4);
	cut_range(state, start, start + count);
	move_to(make(start, text, pieces), state);
	memcpy(model + start, text, count);
}

static struct extent *any(enum extent_state state)
{
	uint32_t start = draw(SPACE);
	struct range_node *node =
		range_tree_first_overlap(tree_of(state), start, SPACE);

	return node == NULL ? NULL : extent_from_range(node);
}

static void split(enum extent_state state)
{
	struct extent *extent = any(state);
	struct extent *tail;
	uint64_t at;
	uint64_t end;

	if (extent == NULL || extent_bytes(extent) < 2)
		return;
	end = extent_end(extent);
	at = extent_start(extent) + 1 + draw((uint32_t)extent_bytes(extent) - 1);
	tail = extent_split(extent, at);
	ck_assert_uint_eq(extent_end(extent), at);
	ck_assert_uint_eq(extent_start(tail), at);
	ck_assert_uint_eq(extent_end(tail), end);
	ck_assert_int_eq(tail->state, extent->state);
	ck_assert_ptr_eq(tail->generation, extent->generation);
	ck_assert_ptr_eq(tail->credential, extent->credential);
	ck_assert(tail->acked);
	ck_assert_uint_eq(tail->line.sequence, extent->line.sequence);
}

static void join(void)
{
	struct extent *extent = any(EXTENT_DIRTY);
	struct range_node *next;

	if (extent == NULL)
		return;
	next = range_tree_next(&extent->line.range);
	if (next != NULL && next->start == extent_end(extent))
		extent_join(extent, extent_from_range(next));
}

static void gather(void)
{
	struct extent *extent = any(EXTENT_DIRTY);

	if (extent == NULL)
		return;
	extent_gather(extent);
	ck_assert_ptr_null(TAILQ_NEXT(TAILQ_FIRST(&extent->fragments), link));
}

START_TEST(keeps_every_byte_and_all_books)
{
	static const enum extent_state states[] = { EXTENT_DIRTY, EXTENT_WAITING,
						    EXTENT_UNSTABLE,
						    EXTENT_COMMITTING };
	enum extent_state state = states[_i % 4];
	unsigned int step;

	seed = 1 + (uint32_t)_i;
	for (step = 0; step < STEPS; step++) {
		uint32_t start = draw(SPACE);

		switch (draw(state == EXTENT_DIRTY ? 7 : 4)) {
		case 0:
		case 1:
			insert(state);
			break;
		case 2:
			cut_range(state, start, start + 1 + draw(SPACE - start));
			break;
		case 3:
			split(state);
			break;
		case 4:
		case 5:
			join();
			break;
		default:
			gather();
		}
		check_model(state);
	}
}
END_TEST

START_TEST(gather_makes_one_piece_and_lets_go_of_the_others)
{
	struct extent *extent = make(100, "one, two, three.", 3);

	extent_set_state(extent, EXTENT_DIRTY);
	ck_assert_uint_eq(buf_total_bytes(), 16);
	extent_gather(extent);
	ck_assert_str_eq(text_of(extent), "one, two, three.");
	ck_assert_ptr_null(TAILQ_NEXT(TAILQ_FIRST(&extent->fragments), link));
	ck_assert_uint_eq(buf_total_bytes(), 16);
	extent_gather(extent); /* one piece already: not copied */
	ck_assert_str_eq(text_of(extent), "one, two, three.");
}
END_TEST

START_TEST(split_shares_payload_without_copy)
{
	struct extent *extent = make(0, "abcdef", 1);
	struct extent *tail;

	move_to(extent, EXTENT_UNSTABLE);
	tail = extent_split(extent, 2);
	ck_assert_uint_eq(buf_total_bytes(), 6);
	ck_assert_str_eq(text_of(extent), "ab");
	ck_assert_str_eq(text_of(tail), "cdef");
	extent_free(extent);
	ck_assert_str_eq(text_of(tail), "cdef");
	extent_free(tail);
	ck_assert_uint_eq(buf_total_bytes(), 0);
}
END_TEST

START_TEST(split_keeps_what_is_known_of_the_bytes)
{
	struct extent *extent = make(0, "abcdef", 1);
	struct engine_op waiter = { .kind = ENGINE_OP_COMMIT };
	struct extent *tail;

	extent->line.sequence = 77;
	move_to(extent, EXTENT_UNSTABLE);
	extent->upstream_verifier = u2;
	extent->least_committed = NFS3_DATA_SYNC;
	extent->replays = 3;
	extent->repaired = true;
	TAILQ_INSERT_TAIL(&file_freeze(file)->waiters, &waiter, link);
	tail = extent_split(extent, 3);
	ck_assert_ptr_eq(tail->generation, extent->generation); /* not the open one */
	ck_assert(same(tail->upstream_verifier, u2));
	ck_assert_int_eq(tail->least_committed, NFS3_DATA_SYNC);
	ck_assert_uint_eq(tail->replays, 3);
	ck_assert(tail->repaired);
	ck_assert_uint_eq(tail->line.sequence, 77);
	ck_assert_ptr_null(tail->op);
	books_check_extents();
	TAILQ_REMOVE(&extent->generation->waiters, &waiter, link);
}
END_TEST

START_TEST(books_follow_generation_and_ack)
{
	struct extent *extent = make(0, "abcdef", 1);
	struct engine_op waiter = { .kind = ENGINE_OP_COMMIT };
	struct generation *first = extent->generation;
	struct extent *later;

	extent->acked = false;
	extent_set_state(extent, EXTENT_WAITING);
	ck_assert_uint_eq(first->unwritten, 1);
	ck_assert_uint_eq(file->acked_unwritten, 0);
	extent_set_acked(extent);
	ck_assert_uint_eq(file->acked_unwritten, 1);
	ck_assert_uint_eq(stats.gauge[GAUGE_DIRTY_BYTES], 6);
	/* somebody waits: what comes now is of another generation (I5) */
	TAILQ_INSERT_TAIL(&file_freeze(file)->waiters, &waiter, link);
	later = make(10, "xyz", 1);
	ck_assert_ptr_ne(later->generation, first);
	extent_set_state(later, EXTENT_WAITING);
	books_check_extents();
	extent_set_generation(later, first);
	ck_assert_uint_eq(first->unwritten, 2);
	books_check_extents();
	TAILQ_REMOVE(&first->waiters, &waiter, link);
}
END_TEST

static void dirty_to_unstable(void)
{
	struct extent *extent = make(0, "abc", 1);

	extent_set_state(extent, EXTENT_DIRTY);
	extent_set_state(extent, EXTENT_UNSTABLE);
}

static void waiting_to_committing(void)
{
	struct extent *extent = make(0, "abc", 1);

	extent_set_state(extent, EXTENT_WAITING);
	extent_set_state(extent, EXTENT_COMMITTING);
}

static void split_at_its_end(void)
{
	struct extent *extent = make(0, "abc", 1);

	extent_set_state(extent, EXTENT_DIRTY);
	extent_split(extent, 3);
}

static void join_with_a_hole(void)
{
	struct extent *extent = make(0, "abc", 1);
	struct extent *next = make(4, "abc", 1);

	extent_set_state(extent, EXTENT_DIRTY);
	extent_set_state(next, EXTENT_DIRTY);
	extent_join(extent, next);
}

START_TEST(bugs_of_the_caller_end_the_process)
{
	ck_assert(unit_aborts(dirty_to_unstable));
	ck_assert(unit_aborts(waiting_to_committing));
	ck_assert(unit_aborts(split_at_its_end));
	ck_assert(unit_aborts(join_with_a_hole));
}
END_TEST

START_TEST(states_have_names)
{
	ck_assert_str_eq(extent_state_name(EXTENT_NEW), "new");
	ck_assert_str_eq(extent_state_name(EXTENT_COMMITTING), "committing");
	ck_assert_str_eq(extent_state_name(EXTENT_GONE), "gone");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("extent");
	TCase *tcase = unit_case(suite, "extent");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, keeps_every_byte_and_all_books, 0, 12);
	tcase_add_test(tcase, gather_makes_one_piece_and_lets_go_of_the_others);
	tcase_add_test(tcase, split_shares_payload_without_copy);
	tcase_add_test(tcase, split_keeps_what_is_known_of_the_bytes);
	tcase_add_test(tcase, books_follow_generation_and_ack);
	tcase_add_test(tcase, bugs_of_the_caller_end_the_process);
	tcase_add_test(tcase, states_have_names);
	return unit_run(suite);
}
