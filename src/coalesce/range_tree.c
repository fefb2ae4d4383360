/*
 * An interval tree: a treap ordered by start, each node knowing the largest end below it.
 *
 * The hard case is to keep max_end true through rotations and resizings; every change
 * goes through range_pull_up() for the nodes it touches, lowest first. Priorities come from
 * a counter that is scrambled, so that a run of the simulator replays exactly.
 */
#include "coalesce/range_tree.h"

void range_tree_init(struct range_tree *tree)
{
	tree->root = NULL;
	tree->next_priority = 0;
}

/* A bijection on 32 bits whose results look random (finalizer of MurmurHash3). */
static uint32_t range_scramble(uint32_t value)
{
	value ^= value >> 16;
	value *= 0x85ebca6bU;
	value ^= value >> 13;
	value *= 0xc2b2ae35U;
	value ^= value >> 16;
	return value;
}

static void range_pull_up(struct range_node *node)
{
	node->max_end = node->end;
	if (node->left != NULL && node->left->max_end > node->max_end)
		node->max_end = node->left->max_end;
	if (node->right != NULL && node->right->max_end > node->max_end)
		node->max_end = node->right->max_end;
}

static void range_pull_up_all(struct range_node *node)
{
	for (; node != NULL; node = node->parent)
		range_pull_up(node);
}

/* Puts `to` (may be NULL) where `from` hangs. */
static void range_replace(struct range_tree *tree, struct range_node *from,
			  struct range_node *to)
{
	if (from->parent == NULL)
		tree->root = to;
	else if (from->parent->left == from)
		from->parent->left = to;
	else
		from->parent->right = to;
	if (to != NULL)
		to->parent = from->parent;
}

/* `node` takes the place of its parent. */
static void range_rotate_up(struct range_tree *tree, struct range_node *node)
{
	struct range_node *parent = node->parent;
	struct range_node *moved;

	range_replace(tree, parent, node);
	if (parent->left == node) {
		moved = node->right;
		parent->left = moved;
		node->right = parent;
	} else {
		moved = node->left;
		parent->right = moved;
		node->left = parent;
	}
	if (moved != NULL)
		moved->parent = parent;
	parent->parent = node;
	range_pull_up(parent);
	range_pull_up(node);
}

void range_tree_insert(struct range_tree *tree, struct range_node *node)
{
	struct range_node **place = &tree->root;

	node->left = NULL;
	node->right = NULL;
	node->parent = NULL;
	node->priority = range_scramble(++tree->next_priority);
	while (*place != NULL) {
		node->parent = *place;
		place = node->start < (*place)->start ? &(*place)->left
						      : &(*place)->right;
	}
	*place = node;
	range_pull_up_all(node);
	while (node->parent != NULL && node->parent->priority < node->priority)
		range_rotate_up(tree, node);
}

void range_tree_remove(struct range_tree *tree, struct range_node *node)
{
	struct range_node *only;

	while (node->left != NULL && node->right != NULL)
		range_rotate_up(tree, node->left->priority > node->right->priority
					      ? node->left
					      : node->right);
	only = node->left != NULL ? node->left : node->right;
	range_replace(tree, node, only);
	range_pull_up_all(node->parent);
}

void range_tree_resize(struct range_node *node, uint64_t start, uint64_t end)
{
	node->start = start;
	node->end = end;
	range_pull_up_all(node);
}

bool range_overlaps(const struct range_node *node, uint64_t start, uint64_t end)
{
	return node->start < end && start < node->end && node->start < node->end &&
	       start < end;
}

static struct range_node *range_lowest(struct range_node *node)
{
	while (node != NULL && node->left != NULL)
		node = node->left;
	return node;
}

struct range_node *range_tree_first(const struct range_tree *tree)
{
	return range_lowest(tree->root);
}

struct range_node *range_tree_next(struct range_node *node)
{
	if (node->right != NULL)
		return range_lowest(node->right);
	while (node->parent != NULL && node->parent->right == node)
		node = node->parent;
	return node->parent;
}

/* The lowest in this subtree that overlaps, or NULL. */
static struct range_node *range_find(struct range_node *node, uint64_t start,
				     uint64_t end)
{
	while (node != NULL) {
		if (node->left != NULL && node->left->max_end > start) {
			/*
			 * Something on the left ends behind `start`. If it does not
			 * overlap, it begins at `end` or later, or is empty; then the
			 * search has to go on, but only empty ranges make it turn back.
			 */
			struct range_node *found = range_find(node->left, start, end);

			if (found != NULL)
				return found;
		}
		if (range_overlaps(node, start, end))
			return node;
		if (node->start >= end)
			return NULL;
		node = node->right;
		if (node != NULL && node->max_end <= start)
			return NULL;
	}
	return NULL;
}

struct range_node *range_tree_first_overlap(const struct range_tree *tree,
					    uint64_t start, uint64_t end)
{
	return range_find(tree->root, start, end);
}

struct range_node *range_tree_next_overlap(struct range_node *node, uint64_t start,
					   uint64_t end)
{
	for (;;) {
		struct range_node *found = range_find(node->right, start, end);

		if (found != NULL)
			return found;
		while (node->parent != NULL && node->parent->right == node)
			node = node->parent;
		node = node->parent;
		if (node == NULL || node->start >= end)
			return NULL;
		if (range_overlaps(node, start, end))
			return node;
	}
}
