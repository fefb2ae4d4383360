/*
 * A chained hash table and the keyed hash it is used with (SipHash-2-4).
 *
 * The hard case is the client that chooses its keys to make all of them collide: the hash
 * depends on a secret drawn at the first use, so it cannot know which ones do.
 * The table only grows; it does not promise any order, nor that a full one shrinks.
 */
#include "base/hash_private.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "nfsgather/hash.h"

enum { HASH_FIRST_BUCKETS = 16 };

struct sip_state {
	uint64_t v0, v1, v2, v3;
};

static uint64_t rotate_left(uint64_t word, unsigned int bits)
{
	return (word << bits) | (word >> (64 - bits));
}

static void sip_round(struct sip_state *s)
{
	s->v0 += s->v1;
	s->v1 = rotate_left(s->v1, 13) ^ s->v0;
	s->v0 = rotate_left(s->v0, 32);
	s->v2 += s->v3;
	s->v3 = rotate_left(s->v3, 16) ^ s->v2;
	s->v0 += s->v3;
	s->v3 = rotate_left(s->v3, 21) ^ s->v0;
	s->v2 += s->v1;
	s->v1 = rotate_left(s->v1, 17) ^ s->v2;
	s->v2 = rotate_left(s->v2, 32);
}

static uint64_t read_le64(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return le64toh(word);
}

static void sip_word(struct sip_state *s, uint64_t word)
{
	s->v3 ^= word;
	sip_round(s);
	sip_round(s);
	s->v0 ^= word;
}

uint64_t hash_bytes_keyed(const uint64_t secret[2], const void *bytes, size_t len_bytes)
{
	struct sip_state s = {
		.v0 = secret[0] ^ 0x736f6d6570736575,
		.v1 = secret[1] ^ 0x646f72616e646f6d,
		.v2 = secret[0] ^ 0x6c7967656e657261,
		.v3 = secret[1] ^ 0x7465646279746573,
	};
	const uint8_t *at = bytes;
	size_t left = len_bytes;

	for (; left >= 8; left -= 8, at += 8)
		sip_word(&s, read_le64(at));

	/* The last word: what is left, and the low byte of the length on top. */
	uint64_t last = (uint64_t)len_bytes << 56;
	for (size_t i = 0; i < left; i++)
		last |= (uint64_t)at[i] << (8 * i);
	sip_word(&s, last);

	s.v2 ^= 0xff;
	for (int i = 0; i < 4; i++)
		sip_round(&s);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

static const uint64_t *process_secret(void)
{
	static uint64_t secret[2];
	static bool drawn;

	if (!drawn) {
		ssize_t got;
		do
			got = getrandom(secret, sizeof(secret), 0);
		while (got < 0 && errno == EINTR);
		INVARIANT(got == (ssize_t)sizeof(secret));
		drawn = true;
	}
	return secret;
}

uint64_t hash_bytes(const void *bytes, size_t len_bytes)
{
	return hash_bytes_keyed(process_secret(), bytes, len_bytes);
}

void hash_init(struct hash_table *table)
{
	*table = (struct hash_table){ 0 };
}

void hash_fini(struct hash_table *table)
{
	free(table->buckets);
	hash_init(table);
}

static struct hash_node **bucket_of(const struct hash_table *table, uint64_t hash)
{
	return &table->buckets[hash & (table->bucket_count - 1)];
}

struct hash_node *hash_find(const struct hash_table *table, uint64_t hash,
			    hash_match *match, const void *key)
{
	if (table->bucket_count == 0)
		return NULL;
	struct hash_node *node = *bucket_of(table, hash);
	while (node != NULL && !(node->hash == hash && match(node, key)))
		node = node->next;
	return node;
}

/* Doubles the buckets; -ENOMEM changes nothing. */
static int grow(struct hash_table *table)
{
	struct hash_table bigger = {
		.bucket_count = table->bucket_count > 0 ? table->bucket_count * 2
							: HASH_FIRST_BUCKETS,
		.node_count = table->node_count,
	};

	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers it is */
	bigger.buckets = calloc(bigger.bucket_count, sizeof(*bigger.buckets));
	if (bigger.buckets == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < table->bucket_count; i++) {
		struct hash_node *node = table->buckets[i];
		while (node != NULL) {
			struct hash_node *next = node->next;
			struct hash_node **bucket = bucket_of(&bigger, node->hash);
			node->next = *bucket;
			*bucket = node;
			node = next;
		}
	}
	free(table->buckets);
	*table = bigger;
	return 0;
}

int hash_insert(struct hash_table *table, uint64_t hash, struct hash_node *node)
{
	/* A table that cannot grow goes on with longer chains; one without buckets cannot. */
	if (table->node_count >= table->bucket_count && grow(table) != 0 &&
	    table->bucket_count == 0)
		return -ENOMEM;

	struct hash_node **bucket = bucket_of(table, hash);
	node->hash = hash;
	node->next = *bucket;
	*bucket = node;
	table->node_count++;
	return 0;
}

void hash_remove(struct hash_table *table, struct hash_node *node)
{
	INVARIANT(table->node_count > 0);
	struct hash_node **link = bucket_of(table, node->hash);
	while (*link != node) {
		INVARIANT(*link != NULL);
		link = &(*link)->next;
	}
	*link = node->next;
	node->next = NULL;
	table->node_count--;
}
