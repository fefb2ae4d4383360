/*
 * Byte ranges of a file, found by what they overlap. Ranges are half open; an empty one
 * overlaps nothing. Ranges of one tree may overlap each other.
 *
 * The nodes are embedded in what they belong to; the tree owns nothing.
 */
#ifndef COALESCE_RANGE_TREE_H
#define COALESCE_RANGE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nfsgather/engine.h"

struct range_tree {
	struct range_node *root;
	uint32_t next_priority;
};

static inline bool range_tree_is_empty(const struct range_tree *tree)
{
	return tree->root == NULL;
}

void range_tree_init(struct range_tree *tree);
/* `node` has start and end set, start <= end; the rest is the tree's. */
void range_tree_insert(struct range_tree *tree, struct range_node *node);
void range_tree_remove(struct range_tree *tree, struct range_node *node);
/* The start must keep its place among the others' starts. */
void range_tree_resize(struct range_node *node, uint64_t start, uint64_t end);

bool range_overlaps(const struct range_node *node, uint64_t start, uint64_t end);
/* By start, lowest first; NULL: none (more). */
struct range_node *range_tree_first(const struct range_tree *tree);
struct range_node *range_tree_next(struct range_node *node);
struct range_node *range_tree_first_overlap(const struct range_tree *tree,
					    uint64_t start, uint64_t end);
struct range_node *range_tree_next_overlap(struct range_node *node, uint64_t start,
					   uint64_t end);

#endif
