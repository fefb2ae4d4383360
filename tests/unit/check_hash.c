/*
 * hash: the table against a plain array, collisions, growth, and SipHash against the
 * vectors published with it.
 */
#include "nfsgather/hash.h"

#include <string.h>

#include "base/hash_private.h"
#include "unit/unit.h"

struct item {
	int value;
	struct hash_node node;
	bool inside;
};

static const struct item *item_of(const struct hash_node *node)
{
	return container_of(node, const struct item, node);
}

static bool item_matches(const struct hash_node *node, const void *key)
{
	return item_of(node)->value == *(const int *)key;
}

static const struct item *find(const struct hash_table *table, uint64_t hash, int value)
{
	struct hash_node *node = hash_find(table, hash, item_matches, &value);

	return node == NULL ? NULL : item_of(node);
}

START_TEST(siphash_gives_the_published_vectors)
{
	/* Key 00 01 .. 0f, input 00 01 .. of each length. */
	static const struct {
		size_t len;
		uint64_t hash;
	} vectors[] = {
		{ 0, 0x726fdb47dd0e0e31 },  { 1, 0x74f839c593dc67fd },
		{ 2, 0x0d6c8009d9a94f5a },  { 7, 0xab0200f58b01d137 },
		{ 8, 0x93f5f5799a932462 },  { 15, 0xa129ca6149be45e5 },
		{ 63, 0x958a324ceb064572 },
	};
	const uint64_t secret[2] = { 0x0706050403020100, 0x0f0e0d0c0b0a0908 };
	uint8_t input[64];

	for (size_t i = 0; i < sizeof(input); i++)
		input[i] = (uint8_t)i;
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
		ck_assert_uint_eq(hash_bytes_keyed(secret, input, vectors[i].len),
				  vectors[i].hash);
}
END_TEST

START_TEST(hash_of_bytes_at_any_address_is_the_same)
{
	uint8_t room[32];
	const uint8_t key[9] = "file name";
	uint64_t hash = hash_bytes(key, sizeof(key));

	for (size_t shift = 0; shift < 16; shift++) {
		memcpy(room + shift, key, sizeof(key));
		ck_assert_uint_eq(hash_bytes(room + shift, sizeof(key)), hash);
	}
	ck_assert_uint_ne(hash_bytes(key, sizeof(key) - 1), hash);
}
END_TEST

static void exit_with_hash(int fd)
{
	uint64_t hash = hash_bytes("x", 1);

	_exit(write(fd, &hash, sizeof(hash)) == sizeof(hash) ? 0 : 1);
}

START_TEST(each_process_has_its_own_secret)
{
	uint64_t hash[2];
	int fds[2];

	/* Children that did not inherit a secret, since this process drew none yet. */
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(pipe(fds), 0);
		pid_t child = fork();
		ck_assert_int_ge(child, 0);
		if (child == 0)
			exit_with_hash(fds[1]);
		ck_assert_int_eq(read(fds[0], &hash[i], sizeof(hash[i])),
				 sizeof(hash[i]));
		ck_assert_int_eq(waitpid(child, NULL, 0), child);
		close(fds[0]);
		close(fds[1]);
	}
	ck_assert_uint_ne(hash[0], hash[1]);
}
END_TEST

START_TEST(an_empty_table_finds_nothing)
{
	struct hash_table table;

	hash_init(&table);
	ck_assert_ptr_null(find(&table, 0, 0));
	ck_assert_uint_eq(table.node_count, 0);
	ck_assert_uint_eq(table.bucket_count, 0);
	hash_fini(&table);
}
END_TEST

START_TEST(colliding_keys_are_told_apart)
{
	enum { COUNT = 100 };
	struct item items[COUNT];
	struct hash_table table;

	hash_init(&table);
	for (int i = 0; i < COUNT; i++) {
		items[i] = (struct item){ .value = i };
		ck_assert_int_eq(hash_insert(&table, 42, &items[i].node), 0);
	}
	for (int i = 0; i < COUNT; i++)
		ck_assert_ptr_eq(find(&table, 42, i), &items[i]);
	ck_assert_ptr_null(find(&table, 42, COUNT));

	/* From the middle, the head and the tail of the chain. */
	for (int i = 1; i < COUNT; i += 2)
		hash_remove(&table, &items[i].node);
	hash_remove(&table, &items[0].node);
	for (int i = 0; i < COUNT; i++) {
		bool inside = i != 0 && i % 2 == 0;
		ck_assert_ptr_eq(find(&table, 42, i), inside ? &items[i] : NULL);
	}
	hash_fini(&table);
}
END_TEST

START_TEST(same_bucket_but_other_hash_is_not_found)
{
	struct item item = { .value = 1 };
	struct hash_table table;

	hash_init(&table);
	ck_assert_int_eq(hash_insert(&table, 5, &item.node), 0);
	ck_assert_ptr_eq(find(&table, 5, 1), &item);
	ck_assert_ptr_null(find(&table, 5 + ((uint64_t)1 << 40), 1));
	hash_fini(&table);
}
END_TEST

START_TEST(buckets_grow_with_the_entries)
{
	enum { COUNT = 5000 };
	struct item *items = calloc(COUNT, sizeof(*items));
	struct hash_table table;

	ck_assert_ptr_nonnull(items);
	hash_init(&table);
	for (int i = 0; i < COUNT; i++) {
		items[i].value = i;
		uint64_t hash = hash_bytes(&i, sizeof(i));
		ck_assert_int_eq(hash_insert(&table, hash, &items[i].node), 0);
		ck_assert_uint_ge(table.bucket_count, table.node_count);
		ck_assert_uint_eq(table.bucket_count & (table.bucket_count - 1), 0);
		ck_assert_ptr_eq(find(&table, hash, i), &items[i]);
	}
	ck_assert_uint_le(table.bucket_count, 2 * COUNT);
	for (int i = 0; i < COUNT; i++)
		ck_assert_ptr_eq(find(&table, hash_bytes(&i, sizeof(i)), i), &items[i]);
	hash_fini(&table);
	ck_assert_uint_eq(table.node_count, 0);
	free(items);
}
END_TEST

/* xorshift: the same sequence on every machine, so that a failure can be repeated. */
static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* Few hashes for many keys: chains are long and share buckets. */
static uint64_t narrow_hash(int value)
{
	return (uint64_t)(value % 7) << (value % 3 * 8);
}

START_TEST(random_operations_match_a_plain_array)
{
	enum { COUNT = 200, STEPS = 20000 };
	struct item items[COUNT];
	struct hash_table table;
	uint32_t state = (uint32_t)_i + 1;
	size_t inside = 0;

	hash_init(&table);
	for (int i = 0; i < COUNT; i++)
		items[i] = (struct item){ .value = i };
	for (int step = 0; step < STEPS; step++) {
		int i = (int)(next_random(&state) % COUNT);
		struct item *item = &items[i];
		const struct item *found = find(&table, narrow_hash(i), i);

		ck_assert_ptr_eq(found, item->inside ? item : NULL);
		if (item->inside) {
			hash_remove(&table, &item->node);
			inside--;
		} else {
			ck_assert_int_eq(
				hash_insert(&table, narrow_hash(i), &item->node), 0);
			inside++;
		}
		item->inside = !item->inside;
		ck_assert_uint_eq(table.node_count, inside);
	}
	hash_fini(&table);
}
END_TEST

static void remove_a_stranger(void)
{
	struct item inside = { .value = 1 };
	struct item stranger = { .value = 2, .node = { .hash = 1 } };
	struct hash_table table;

	hash_init(&table);
	if (hash_insert(&table, 1, &inside.node) == 0)
		hash_remove(&table, &stranger.node);
}

START_TEST(removing_what_is_not_inside_is_a_bug)
{
	ck_assert(unit_aborts(remove_a_stranger));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hash");
	TCase *function = unit_case(suite, "function");
	TCase *table = unit_case(suite, "table");

	/* First: nothing before it may have drawn this process's secret. */
	tcase_add_test(function, each_process_has_its_own_secret);
	tcase_add_test(function, siphash_gives_the_published_vectors);
	tcase_add_test(function, hash_of_bytes_at_any_address_is_the_same);
	tcase_add_test(table, an_empty_table_finds_nothing);
	tcase_add_test(table, colliding_keys_are_told_apart);
	tcase_add_test(table, same_bucket_but_other_hash_is_not_found);
	tcase_add_test(table, buckets_grow_with_the_entries);
	tcase_add_loop_test(table, random_operations_match_a_plain_array, 0, 5);
	tcase_add_test(table, removing_what_is_not_inside_is_a_bug);
	return unit_run(suite);
}
