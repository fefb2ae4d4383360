/*
 * An intrusive hash table keyed by bytes. The hash is keyed with a random secret per
 * process (SipHash-2-4), since clients choose handles and xids.
 * The table owns nothing: entries embed a struct hash_node and are freed by their owner.
 */
#ifndef NFSGATHER_HASH_H
#define NFSGATHER_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nfsgather/invariant.h"

struct hash_node {
	struct hash_node *next;
	uint64_t hash;
};

/* Does the entry that embeds `node` have this key? */
typedef bool hash_match(const struct hash_node *node, const void *key);

struct hash_table {
	struct hash_node **buckets;
	size_t bucket_count; /* a power of two, or 0 before the first insert */
	size_t node_count;
};

uint64_t hash_bytes(const void *bytes, size_t len_bytes);

void hash_init(struct hash_table *table);
/* Frees the buckets; the entries stay their owners' to free. */
void hash_fini(struct hash_table *table);
struct hash_node *hash_find(const struct hash_table *table, uint64_t hash,
			    hash_match *match, const void *key);
/* 0, or -ENOMEM with nothing changed. Does not look for an equal key. */
MUST_CHECK int hash_insert(struct hash_table *table, uint64_t hash,
			   struct hash_node *node);
void hash_remove(struct hash_table *table, struct hash_node *node);

#define container_of(ptr, type, member)                                                \
	((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#endif
