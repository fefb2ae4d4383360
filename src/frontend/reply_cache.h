/*
 * The duplicate request cache (P7; RFC 1813 s4.5): which calls are in progress, and what
 * the ones that must not run twice were answered.
 *
 * Every call has an entry while it is in progress, so that a retransmission is noticed
 * whatever its procedure; such an entry is never evicted. Once answered, an entry stays
 * for as long as its enum reply_keep says, unless REPLY_CACHE_CLIENT_ENTRIES
 * newer ones of its client and kind or the bound on memory push it out.
 */
#ifndef FRONTEND_REPLY_CACHE_H
#define FRONTEND_REPLY_CACHE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "nfsgather/buf.h"
#include "nfsgather/clock.h"
#include "nfsgather/hash.h"
#include "nfsgather/invariant.h"

#include "client.h"
#include "wire/rpc_msg.h"

enum {
	REPLY_CACHE_CLIENT_ENTRIES = 1024,
	REPLY_CACHE_ARGS_BYTES = 256, /* so many argument bytes make up the checksum */
};
#define REPLY_CACHE_KEEP_US ((mono_us)120 * 1000 * 1000)
#define REPLY_CACHE_KEEP_LONG_US ((mono_us)600 * 1000 * 1000)

struct call;
struct reply_cache;

/* No padding: compared as bytes. */
struct reply_key {
	uint64_t client_id;
	uint32_t xid;
	uint32_t program;
	uint32_t version;
	uint32_t proc;
	uint64_t args_bytes;
	uint64_t args_checksum;
};

/* Those in front are the first to go when memory is short. */
enum reply_keep {
	REPLY_KEEP_WRITE, /* REPLY_CACHE_KEEP_US; bounded apart from the others */
	REPLY_KEEP,	  /* REPLY_CACHE_KEEP_US */
	REPLY_KEEP_LONG,  /* REPLY_CACHE_KEEP_LONG_US */
	REPLY_KEEP_NOT,
};

struct reply_entry {
	struct hash_node node;
	struct reply_key key;
	struct client *client; /* holds a reference */
	struct call *call;     /* in progress: who runs it; NULL once answered */
	struct buf *reply;     /* answered: as sent, record mark included */
	uint64_t session_seq; /* answered: the session that was answered last, 0 none */
	enum reply_keep keep; /* answered */
	mono_us answered;
	TAILQ_ENTRY(reply_entry) client_link; /* answered: client->replies[keep] */
	TAILQ_ENTRY(reply_entry) age_link;    /* answered: cache->answered[keep] */
};

void reply_key_init(struct reply_key *key, const struct client *client,
		    const struct rpc_header *header, const uint8_t *args,
		    size_t args_bytes);

/* `max_bytes` bounds what answered entries take. NULL when memory is short. */
struct reply_cache *reply_cache_new(const struct clock *clock, size_t max_bytes);
/* No entry may be in progress. */
void reply_cache_free(struct reply_cache *cache);

struct reply_entry *reply_cache_find(const struct reply_cache *cache,
				     const struct reply_key *key);
/* A new entry in progress; the key must not be there. NULL when memory is short. */
struct reply_entry *reply_cache_begin(struct reply_cache *cache,
				      const struct reply_key *key,
				      struct client *client, struct call *call);
/* In progress -> answered, with a reference of its own to `reply`; may evict others. */
void reply_cache_answer(struct reply_cache *cache, struct reply_entry *entry,
			struct buf *reply, enum reply_keep keep, uint64_t session_seq);
/* In progress -> gone: not executed, or answered with what need not be kept. */
void reply_cache_forget(struct reply_cache *cache, struct reply_entry *entry);
/* Drops what has been kept long enough. */
void reply_cache_expire(struct reply_cache *cache);
/* Answered entries, and the memory they take. */
size_t reply_cache_count(const struct reply_cache *cache);
size_t reply_cache_bytes(const struct reply_cache *cache);

#endif
