/*
 * The range tree against a plain array, with operations at random.
 */
#include "coalesce/range_tree.h"
#include "unit/unit.h"

enum { NODES = 120, STEPS = 2000, SPACE = 600 };

/* check writes to a pipe for every assertion it sees, and there are millions here. */
#define REQUIRE(condition)                                                             \
	do {                                                                           \
		if (!(condition))                                                      \
			ck_abort_msg("%s", #condition);                                \
	} while (0)

static struct range_tree tree;
static struct range_node node[NODES];
static bool is_in[NODES];
static uint32_t seed;

static uint32_t draw(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

static void setup(void)
{
	range_tree_init(&tree);
	for (unsigned int i = 0; i < NODES; i++)
		is_in[i] = false;
}

/* Order, parents, priorities and largest ends below this node; counts the nodes. */
static unsigned int check_below(const struct range_node *top, uint64_t *max_end)
{
	unsigned int count = 1;
	uint64_t below;

	*max_end = top->end;
	if (top->left != NULL) {
		REQUIRE(top->left->parent == top);
		REQUIRE(top->left->priority <= top->priority);
		REQUIRE(top->left->start <= top->start);
		count += check_below(top->left, &below);
		*max_end = below > *max_end ? below : *max_end;
	}
	if (top->right != NULL) {
		REQUIRE(top->right->parent == top);
		REQUIRE(top->right->priority <= top->priority);
		REQUIRE(top->right->start >= top->start);
		count += check_below(top->right, &below);
		*max_end = below > *max_end ? below : *max_end;
	}
	REQUIRE(top->max_end == *max_end);
	return count;
}

static unsigned int depth(const struct range_node *top)
{
	unsigned int left;
	unsigned int right;

	if (top == NULL)
		return 0;
	left = depth(top->left);
	right = depth(top->right);
	return 1 + (left > right ? left : right);
}

static bool overlaps(const struct range_node *range, uint64_t start, uint64_t end)
{
	uint64_t from = range->start > start ? range->start : start;
	uint64_t to = range->end < end ? range->end : end;

	return from < to;
}

/* Every node in the tree is met exactly once, by start. */
static void check_walk(unsigned int count)
{
	struct range_node *at = range_tree_first(&tree);
	bool met[NODES] = { false };
	uint64_t start = 0;

	for (; at != NULL; at = range_tree_next(at)) {
		REQUIRE(at->start >= start);
		start = at->start;
		REQUIRE(is_in[at - node] && !met[at - node]);
		met[at - node] = true;
		count--;
	}
	REQUIRE(count == 0);
}

static void check_overlaps(uint64_t start, uint64_t end)
{
	struct range_node *at = range_tree_first_overlap(&tree, start, end);
	bool met[NODES] = { false };
	uint64_t last = 0;

	for (; at != NULL; at = range_tree_next_overlap(at, start, end)) {
		REQUIRE(is_in[at - node] && !met[at - node]);
		REQUIRE(at->start >= last);
		last = at->start;
		met[at - node] = true;
	}
	for (unsigned int i = 0; i < NODES; i++)
		REQUIRE(met[i] == (is_in[i] && overlaps(&node[i], start, end)));
}

static void check_tree(void)
{
	unsigned int count = 0;
	uint64_t max_end;

	for (unsigned int i = 0; i < NODES; i++)
		count += is_in[i];
	REQUIRE(range_tree_is_empty(&tree) == (count == 0));
	if (count > 0)
		REQUIRE(check_below(tree.root, &max_end) == count);
	check_walk(count);
	check_overlaps(draw(SPACE), draw(SPACE)); /* often empty, or turned round */
	check_overlaps(0, SPACE * 2);
	check_overlaps(draw(SPACE), SPACE * 2);
}

static void resize(unsigned int i)
{
	struct range_node *before = NULL;
	struct range_node *at = range_tree_first(&tree);
	struct range_node *next = range_tree_next(&node[i]);
	uint64_t low;
	uint64_t high;
	uint64_t start;

	for (; at != &node[i]; at = range_tree_next(at))
		before = at;
	low = before == NULL ? 0 : before->start;
	high = next == NULL ? SPACE : next->start;
	start = low + draw((uint32_t)(high - low) + 1);
	range_tree_resize(&node[i], start, start + draw(60));
}

static void change(void)
{
	unsigned int i = draw(NODES);

	if (!is_in[i]) {
		node[i].start = draw(SPACE);
		node[i].end = node[i].start + (draw(8) == 0 ? 0 : draw(60));
		range_tree_insert(&tree, &node[i]);
		is_in[i] = true;
	} else if (draw(2) == 0) {
		resize(i);
	} else {
		range_tree_remove(&tree, &node[i]);
		is_in[i] = false;
	}
}

START_TEST(answers_as_a_plain_array_does)
{
	seed = (uint32_t)_i * 7919u + 1;
	for (unsigned int step = 0; step < STEPS; step++) {
		change();
		check_tree();
	}
}
END_TEST

START_TEST(is_empty_at_the_end)
{
	seed = 99;
	for (unsigned int step = 0; step < 500; step++)
		change();
	for (unsigned int i = 0; i < NODES; i++) {
		if (!is_in[i])
			continue;
		range_tree_remove(&tree, &node[i]);
		is_in[i] = false;
		check_tree();
	}
	ck_assert(range_tree_is_empty(&tree));
	ck_assert_ptr_null(range_tree_first(&tree));
	ck_assert_ptr_null(range_tree_first_overlap(&tree, 0, UINT64_MAX));
}
END_TEST

START_TEST(stays_flat_when_filled_in_order)
{
	static struct range_node many[10000];

	for (unsigned int i = 0; i < 10000; i++) {
		many[i].start = i;
		many[i].end = i + 1;
		range_tree_insert(&tree, &many[i]);
	}
	/* 2 log2(n) would be 27; a list would be 10000 deep. */
	ck_assert_uint_lt(depth(tree.root), 60);
}
END_TEST

START_TEST(half_open_ranges_touch_without_overlap)
{
	node[0] = (struct range_node){ .start = 10, .end = 20 };
	ck_assert(range_overlaps(&node[0], 19, 20));
	ck_assert(range_overlaps(&node[0], 0, 11));
	ck_assert(!range_overlaps(&node[0], 20, 30));
	ck_assert(!range_overlaps(&node[0], 0, 10));
	ck_assert(!range_overlaps(&node[0], 15, 15)); /* empty ones overlap nothing */
	node[1] = (struct range_node){ .start = 15, .end = 15 };
	ck_assert(!range_overlaps(&node[1], 0, 100));
}
END_TEST

START_TEST(ends_of_the_number_space)
{
	node[0] = (struct range_node){ .start = 0, .end = UINT64_MAX };
	node[1] = (struct range_node){ .start = UINT64_MAX - 1, .end = UINT64_MAX };
	range_tree_insert(&tree, &node[0]);
	range_tree_insert(&tree, &node[1]);
	ck_assert_ptr_eq(range_tree_first_overlap(&tree, 5, 6), &node[0]);
	ck_assert_ptr_null(range_tree_next_overlap(&node[0], 5, 6));
	ck_assert_ptr_eq(range_tree_next_overlap(&node[0], 5, UINT64_MAX), &node[1]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("range_tree");
	TCase *tcase = unit_case(suite, "tree");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, answers_as_a_plain_array_does, 0, 5);
	tcase_add_test(tcase, is_empty_at_the_end);
	tcase_add_test(tcase, stays_flat_when_filled_in_order);
	tcase_add_test(tcase, half_open_ranges_touch_without_overlap);
	tcase_add_test(tcase, ends_of_the_number_space);
	return unit_run(suite);
}
