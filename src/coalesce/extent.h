/*
 * Extents: runs of bytes of one file and one credential, with their payload, from the
 * moment they are acked (or on the way) until they are proven stable or lost.
 *
 *   DIRTY -> WAITING -> SENT -> UNSTABLE -> COMMITTING -> gone
 *               ^          ^ |     |            |
 *               |          `-' the rest of a short WRITE, in doubt, JUKEBOX
 *               `------------------+------------'   has to be written again
 *
 * DIRTY extents grow and are trimmed; from WAITING on the payload is one piece and only
 * newer bytes that have reached the upstream trim it (I5, I9).
 */
#ifndef COALESCE_EXTENT_H
#define COALESCE_EXTENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "coalesce/range_tree.h"
#include "nfsgather/engine.h"

#define EXTENT_STATE_TABLE(X)                                                          \
	X(EXTENT_NEW, "new")		   /* in no tree */                            \
	X(EXTENT_DIRTY, "dirty")	   /* file->dirty */                           \
	X(EXTENT_WAITING, "waiting")	   /* file->line */                            \
	X(EXTENT_SENT, "sent")		   /* file->line */                            \
	X(EXTENT_UNSTABLE, "unstable")	   /* file->unstable */                        \
	X(EXTENT_COMMITTING, "committing") /* file->committing */                      \
	X(EXTENT_GONE, "gone")

enum extent_state {
#define X(name, text) name,
	EXTENT_STATE_TABLE(X)
#undef X
		EXTENT_STATE_COUNT
};

/* A piece of payload; its reference is the fragment's. */
struct fragment {
	TAILQ_ENTRY(fragment) link;
	struct buf *payload;
	const uint8_t *data;
	uint32_t len;
};

TAILQ_HEAD(fragment_list, fragment);

struct extent {
	struct line_entry line; /* its range serves in whichever tree it is */
	enum extent_state state;
	struct engine_file *file;
	struct generation *generation;	/* the oldest whose bytes it stands for */
	struct credential *credential;	/* a reference */
	struct fragment_list fragments; /* together exactly the range */
	bool acked;			/* a client was told OK */
	struct engine_op *op; /* else: the WRITE answered with its result; or NULL */
	/* Short WRITEs: the upstream has so many bytes from the front, .. */
	uint32_t written_bytes;
	enum nfs3_stable least_committed; /* .. at least so stable .. */
	enum nfs3_stable stable;	  /* how it goes out next */
	enum write_reason reason;
	unsigned int replays;
	bool in_doubt; /* SENT: a COMMIT failed or was cut off meanwhile */
	bool repaired; /* was written FILE_SYNC after a failed COMMIT */
	struct nfs3_verifier upstream_verifier; /* .. and, if UNSTABLE, under this one */
	uint64_t sent_sequence;			/* when its first byte went out */
	struct engine_io io;
	bool in_retry;
	TAILQ_ENTRY(extent) retry_link; /* file->retry */
};

TAILQ_HEAD(extent_list, extent);

static inline uint64_t extent_start(const struct extent *extent)
{
	return extent->line.range.start;
}

static inline uint64_t extent_end(const struct extent *extent)
{
	return extent->line.range.end;
}

static inline uint64_t extent_bytes(const struct extent *extent)
{
	return extent_end(extent) - extent_start(extent);
}

static inline struct extent *extent_from_range(struct range_node *node)
{
	return container_of(node, struct extent, line.range);
}

static inline struct extent *extent_from_line(struct line_entry *entry)
{
	return container_of(entry, struct extent, line);
}

/* "dirty" */
const char *extent_state_name(enum extent_state state);

/* An extent [start, end) without payload, NEW; NULL when memory is short. */
struct extent *extent_new(struct engine_file *file, struct credential *credential,
			  uint64_t start, uint64_t end);
/* Adds a piece behind the payload it has, taking a reference; the range is not changed. */
MUST_CHECK int extent_add_payload(struct extent *extent, struct buf *payload,
				  const uint8_t *data, uint32_t len);
/*
 * The one mover of extent states. Moves it to the tree of the new state and keeps the
 * books of generation, file and engine.
 */
void extent_set_state(struct extent *extent, enum extent_state state);
/* Leaves its tree and is freed. */
void extent_free(struct extent *extent);

/* A client was told OK. */
void extent_set_acked(struct extent *extent);
/* Moves it to another generation of its file. */
void extent_set_generation(struct extent *extent, struct generation *generation);

/*
 * Takes [start, end) out of it. What is left may be one extent, two, or none: then it is
 * freed.
 */
void extent_cut(struct extent *extent, uint64_t start, uint64_t end);
/*
 * Cuts it in two at `at`, strictly inside; returns [at, end), which shares everything but
 * the op. Not for SENT ones.
 */
struct extent *extent_split(struct extent *extent, uint64_t at);
/* Adds all of `next`, which begins where `extent` ends, to `extent`; frees `next`. */
void extent_join(struct extent *extent, struct extent *next);
/* Nothing of it counts as written any more. */
void extent_forget_written(struct extent *extent);
/* DIRTY: the piece just added makes it this much longer. */
void extent_grow(struct extent *extent, uint32_t bytes);

/*
 * Makes the payload one piece. When there is no memory for that, the extent is split
 * behind its first piece.
 */
void extent_gather(struct extent *extent);

#endif
