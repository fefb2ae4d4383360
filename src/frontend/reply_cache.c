/*
 * The duplicate request cache: a call that comes twice runs once.
 *
 *   begin --> in progress --answer--> answered --age, count or memory--> gone
 *                  \-----forget----------------------------------------/
 *
 * The hard case is a stale WRITE read late from a connection its client gave up: run
 * again, it would lay old bytes over newer acknowledged ones. So WRITEs have entries
 * too, keyed by client and not by connection, and the key takes in the first argument
 * bytes (handle, offset, count, some data), since clients do reuse xids. A client sends
 * thousands of WRITEs in a second, so their answers have a list and a bound of their own:
 * they push out each other, never what a RENAME was answered.
 *
 * Does not survive a restart of the proxy, and does not know what is worth keeping:
 * reply.c says so.
 */
#include "reply_cache.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct reply_cache {
	const struct clock *clock;
	struct hash_table entries;
	struct reply_entry_list answered[CLIENT_REPLY_AGES]; /* by keep, oldest first */
	size_t max_bytes;
	size_t bytes; /* of answered entries */
	size_t answered_count;
};

static_assert((int)CLIENT_REPLY_AGES == (int)REPLY_KEEP_NOT,
	      "a client has a list for each keep");

static const mono_us reply_keep_us[CLIENT_REPLY_AGES] = {
	[REPLY_KEEP_WRITE] = REPLY_CACHE_KEEP_US,
	[REPLY_KEEP] = REPLY_CACHE_KEEP_US,
	[REPLY_KEEP_LONG] = REPLY_CACHE_KEEP_LONG_US,
};

void reply_key_init(struct reply_key *key, const struct client *client,
		    const struct rpc_header *header, const uint8_t *args,
		    size_t args_bytes)
{
	size_t checked = args_bytes < REPLY_CACHE_ARGS_BYTES ? args_bytes
							     : REPLY_CACHE_ARGS_BYTES;

	*key = (struct reply_key){
		.client_id = client->id,
		.xid = header->xid,
		.program = header->program,
		.version = header->version,
		.proc = header->proc,
		.args_bytes = args_bytes,
		.args_checksum = hash_bytes(args, checked),
	};
}

struct reply_cache *reply_cache_new(const struct clock *clock, size_t max_bytes)
{
	struct reply_cache *cache = calloc(1, sizeof(*cache));
	size_t i;

	if (!cache)
		return NULL;
	cache->clock = clock;
	cache->max_bytes = max_bytes;
	hash_init(&cache->entries);
	for (i = 0; i < CLIENT_REPLY_AGES; i++)
		TAILQ_INIT(&cache->answered[i]);
	return cache;
}

static size_t reply_entry_bytes(const struct reply_entry *entry)
{
	return sizeof(*entry) + sizeof(*entry->reply) + entry->reply->capacity_bytes;
}

static void reply_entry_free(struct reply_cache *cache, struct reply_entry *entry)
{
	hash_remove(&cache->entries, &entry->node);
	client_unref(entry->client);
	free(entry);
}

static void reply_cache_evict(struct reply_cache *cache, struct reply_entry *entry)
{
	INVARIANT(!entry->call && entry->keep != REPLY_KEEP_NOT);
	TAILQ_REMOVE(&cache->answered[entry->keep], entry, age_link);
	TAILQ_REMOVE(&entry->client->replies[entry->keep], entry, client_link);
	entry->client->reply_count[entry->keep]--;
	cache->bytes -= reply_entry_bytes(entry);
	cache->answered_count--;
	buf_unref(entry->reply);
	reply_entry_free(cache, entry);
}

void reply_cache_free(struct reply_cache *cache)
{
	size_t i;

	if (!cache)
		return;
	for (i = 0; i < CLIENT_REPLY_AGES; i++)
		while (!TAILQ_EMPTY(&cache->answered[i]))
			reply_cache_evict(cache, TAILQ_FIRST(&cache->answered[i]));
	INVARIANT(cache->entries.node_count == 0);
	hash_fini(&cache->entries);
	free(cache);
}

static uint64_t reply_key_hash(const struct reply_key *key)
{
	return hash_bytes(key, sizeof(*key));
}

static bool reply_match(const struct hash_node *node, const void *key)
{
	const struct reply_entry *entry = container_of(node, struct reply_entry, node);

	return memcmp(&entry->key, key, sizeof(entry->key)) == 0;
}

struct reply_entry *reply_cache_find(const struct reply_cache *cache,
				     const struct reply_key *key)
{
	struct hash_node *node =
		hash_find(&cache->entries, reply_key_hash(key), reply_match, key);

	return node ? container_of(node, struct reply_entry, node) : NULL;
}

struct reply_entry *reply_cache_begin(struct reply_cache *cache,
				      const struct reply_key *key,
				      struct client *client, struct call *call)
{
	struct reply_entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	entry->key = *key;
	entry->call = call;
	if (hash_insert(&cache->entries, reply_key_hash(key), &entry->node) < 0) {
		free(entry);
		return NULL;
	}
	entry->client = client_ref(client);
	return entry;
}

/*
 * Its own client pays first, but a WRITE not with what must not run twice; the oldest of
 * all when that client has none to give, and of those too a WRITE if there is one.
 */
static struct reply_entry *reply_cache_victim(const struct reply_cache *cache,
					      const struct client *client,
					      const struct reply_entry *spared)
{
	struct reply_entry *entry;
	size_t i;

	for (i = 0; i <= spared->keep; i++) {
		entry = TAILQ_FIRST(&client->replies[i]);
		if (entry && entry != spared)
			return entry;
	}
	for (i = 0; i < CLIENT_REPLY_AGES; i++) {
		entry = TAILQ_FIRST(&cache->answered[i]);
		if (entry && entry != spared)
			return entry;
	}
	return NULL;
}

void reply_cache_answer(struct reply_cache *cache, struct reply_entry *entry,
			struct buf *reply, enum reply_keep keep, uint64_t session_seq)
{
	struct client *client = entry->client;
	struct reply_entry *victim;

	INVARIANT(entry->call && keep != REPLY_KEEP_NOT);
	entry->call = NULL;
	entry->reply = buf_ref(reply);
	entry->keep = keep;
	entry->session_seq = session_seq;
	entry->answered = clock_now(cache->clock);
	TAILQ_INSERT_TAIL(&cache->answered[keep], entry, age_link);
	TAILQ_INSERT_TAIL(&client->replies[keep], entry, client_link);
	client->reply_count[keep]++;
	cache->bytes += reply_entry_bytes(entry);
	cache->answered_count++;
	if (client->reply_count[keep] > REPLY_CACHE_CLIENT_ENTRIES)
		reply_cache_evict(cache, TAILQ_FIRST(&client->replies[keep]));
	while (cache->bytes > cache->max_bytes &&
	       (victim = reply_cache_victim(cache, client, entry)) != NULL)
		reply_cache_evict(cache, victim);
}

void reply_cache_forget(struct reply_cache *cache, struct reply_entry *entry)
{
	INVARIANT(entry->call);
	reply_entry_free(cache, entry);
}

void reply_cache_expire(struct reply_cache *cache)
{
	mono_us now = clock_now(cache->clock);
	struct reply_entry *entry;
	size_t i;

	for (i = 0; i < CLIENT_REPLY_AGES; i++)
		while ((entry = TAILQ_FIRST(&cache->answered[i])) != NULL &&
		       now - entry->answered >= reply_keep_us[i])
			reply_cache_evict(cache, entry);
}

size_t reply_cache_count(const struct reply_cache *cache)
{
	return cache->answered_count;
}

size_t reply_cache_bytes(const struct reply_cache *cache)
{
	return cache->bytes;
}
