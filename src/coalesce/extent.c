/*
 * Extents: their states, their payload, cutting and joining.
 *
 * The hard case is keeping the books: bytes and counts of generation, file and engine
 * depend on state, length, generation and whether it was acked. So every change of one of
 * these is made between extent_leave_books() and extent_enter_books().
 *
 * Payload is held by references to the buffers it came in, or to one of our own that
 * replaces many (extent_gather()).
 *
 * A hundred bytes that cannot be had in the middle of a step end the process: clients then
 * send again, and no half-done step is left behind. Payload is never copied in such a step
 * but in extent_gather(), which can do without.
 */
#include "coalesce/extent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "coalesce/engine_private.h"

static const char *const state_names[EXTENT_STATE_COUNT] = {
#define X(name, text) [name] = (text),
	EXTENT_STATE_TABLE(X)
#undef X
};

const char *extent_state_name(enum extent_state state)
{
	return state_names[state];
}

void extent_forget_written(struct extent *extent)
{
	extent->written_bytes = 0;
	extent->least_committed = NFS3_FILE_SYNC;
}

struct extent *extent_new(struct engine_file *file, struct credential *credential,
			  uint64_t start, uint64_t end)
{
	struct extent *extent = calloc(1, sizeof(*extent));

	if (extent == NULL)
		return NULL;
	extent->generation = file_open_generation(file);
	if (extent->generation == NULL) {
		free(extent);
		return NULL;
	}
	extent->file = file;
	extent->credential = credential_ref(credential);
	extent->line.range.start = start;
	extent->line.range.end = end;
	extent_forget_written(extent);
	TAILQ_INIT(&extent->fragments);
	return extent;
}

int extent_add_payload(struct extent *extent, struct buf *payload, const uint8_t *data,
		       uint32_t len)
{
	struct fragment *fragment = malloc(sizeof(*fragment));

	if (fragment == NULL)
		return -ENOMEM;
	fragment->payload = buf_ref(payload);
	fragment->data = data;
	fragment->len = len;
	TAILQ_INSERT_TAIL(&extent->fragments, fragment, link);
	return 0;
}

static void fragment_free(struct extent *extent, struct fragment *fragment)
{
	TAILQ_REMOVE(&extent->fragments, fragment, link);
	buf_unref(fragment->payload);
	free(fragment);
}

static bool extent_is_unwritten(const struct extent *extent)
{
	return extent->state == EXTENT_DIRTY || extent->state == EXTENT_WAITING ||
	       extent->state == EXTENT_SENT;
}

static bool extent_is_retained(const struct extent *extent)
{
	return extent->state == EXTENT_UNSTABLE || extent->state == EXTENT_COMMITTING;
}

/* Adds (sign 1) or takes away (sign UINT64_MAX, that is -1) what it counts for. */
static void extent_book(struct extent *extent, uint64_t sign)
{
	struct engine_file *file = extent->file;
	struct engine *engine = file->engine;
	uint64_t bytes = extent_bytes(extent) * sign;

	if (extent_is_unwritten(extent)) {
		extent->generation->unwritten += sign;
		if (extent->acked) {
			file->acked_unwritten += sign;
			engine->stats->gauge[GAUGE_DIRTY_BYTES] += bytes;
		}
	} else if (extent_is_retained(extent)) {
		extent->generation->unproven += sign;
		engine->stats->gauge[GAUGE_RETAINED_BYTES] += bytes;
	}
	if (extent->state == EXTENT_DIRTY)
		engine->unsent_bytes += bytes;
	if (extent->state == EXTENT_UNSTABLE) {
		file->unstable_bytes += bytes;
		engine->unstable_bytes += bytes;
	}
}

static void extent_enter_books(struct extent *extent)
{
	extent_book(extent, 1);
}

static void extent_leave_books(struct extent *extent)
{
	extent_book(extent, UINT64_MAX);
}

/* The tree of a state; NULL for the line, which line.c keeps, and for no tree. */
static struct range_tree *extent_tree(const struct extent *extent)
{
	struct engine_file *file = extent->file;

	switch (extent->state) {
	case EXTENT_DIRTY:
		return &file->dirty;
	case EXTENT_UNSTABLE:
		return &file->unstable;
	case EXTENT_COMMITTING:
		return &file->committing;
	case EXTENT_WAITING:
	case EXTENT_SENT:
	case EXTENT_NEW:
	case EXTENT_GONE:
	case EXTENT_STATE_COUNT:
		break;
	}
	return NULL;
}

static bool extent_is_in_line(const struct extent *extent)
{
	return extent->state == EXTENT_WAITING || extent->state == EXTENT_SENT;
}

static void extent_leave_tree(struct extent *extent)
{
	struct range_tree *tree = extent_tree(extent);

	if (tree != NULL)
		range_tree_remove(tree, &extent->line.range);
	else if (extent_is_in_line(extent))
		line_leave(extent->file, &extent->line);
	if (extent->in_retry) {
		TAILQ_REMOVE(&extent->file->retry, extent, retry_link);
		extent->in_retry = false;
	}
}

static void extent_enter_tree(struct extent *extent)
{
	struct range_tree *tree = extent_tree(extent);

	if (tree != NULL)
		range_tree_insert(tree, &extent->line.range);
	else if (extent_is_in_line(extent))
		line_enter(extent->file, &extent->line);
}

void extent_set_state(struct extent *extent, enum extent_state state)
{
	static const unsigned int may_follow[EXTENT_STATE_COUNT] = {
		[EXTENT_NEW] = 1u << EXTENT_DIRTY | 1u << EXTENT_WAITING |
			       1u << EXTENT_GONE,
		[EXTENT_DIRTY] = 1u << EXTENT_WAITING | 1u << EXTENT_GONE,
		[EXTENT_WAITING] = 1u << EXTENT_SENT | 1u << EXTENT_GONE,
		[EXTENT_SENT] = 1u << EXTENT_SENT | 1u << EXTENT_UNSTABLE |
				1u << EXTENT_GONE,
		[EXTENT_UNSTABLE] = 1u << EXTENT_COMMITTING | 1u << EXTENT_WAITING |
				    1u << EXTENT_GONE,
		[EXTENT_COMMITTING] = 1u << EXTENT_UNSTABLE | 1u << EXTENT_WAITING |
				      1u << EXTENT_GONE,
	};
	/* WAITING and SENT are the same place in the line. */
	bool stays = extent_is_in_line(extent) && state == EXTENT_SENT;

	INVARIANT(extent->state < EXTENT_STATE_COUNT);
	INVARIANT(may_follow[extent->state] & 1u << state);
	extent_leave_books(extent);
	if (!stays)
		extent_leave_tree(extent);
	extent->state = state;
	if (!stays)
		extent_enter_tree(extent);
	extent_enter_books(extent);
	file_mark_work(extent->file);
}

void extent_free(struct extent *extent)
{
	struct fragment *fragment = TAILQ_FIRST(&extent->fragments);
	struct fragment *next;

	extent_set_state(extent, EXTENT_GONE);
	for (; fragment != NULL; fragment = next) {
		next = TAILQ_NEXT(fragment, link);
		fragment_free(extent, fragment);
	}
	credential_unref(extent->credential);
	free(extent);
}

void extent_set_acked(struct extent *extent)
{
	extent_leave_books(extent);
	extent->acked = true;
	extent_enter_books(extent);
}

void extent_set_generation(struct extent *extent, struct generation *generation)
{
	extent_leave_books(extent);
	extent->generation = generation;
	extent_enter_books(extent);
}

void extent_grow(struct extent *extent, uint32_t bytes)
{
	extent_leave_books(extent);
	range_tree_resize(&extent->line.range, extent_start(extent),
			  extent_end(extent) + bytes);
	extent_enter_books(extent);
}

/* Takes `bytes` off the front of the payload. */
static void fragments_cut_front(struct extent *extent, uint64_t bytes)
{
	struct fragment *fragment = TAILQ_FIRST(&extent->fragments);
	struct fragment *next;

	for (; fragment != NULL && fragment->len <= bytes; fragment = next) {
		next = TAILQ_NEXT(fragment, link);
		bytes -= fragment->len;
		fragment_free(extent, fragment);
	}
	if (fragment == NULL)
		return;
	fragment->data += bytes;
	fragment->len -= (uint32_t)bytes;
}

static void fragments_cut_back(struct extent *extent, uint64_t bytes)
{
	struct fragment *fragment = TAILQ_LAST(&extent->fragments, fragment_list);
	struct fragment *next;

	for (; fragment != NULL && fragment->len <= bytes; fragment = next) {
		next = TAILQ_PREV(fragment, fragment_list, link);
		bytes -= fragment->len;
		fragment_free(extent, fragment);
	}
	if (fragment != NULL)
		fragment->len -= (uint32_t)bytes;
}

/* A new range for an extent that keeps its state; in the line others may get free by it. */
static void extent_set_range(struct extent *extent, uint64_t start, uint64_t end)
{
	INVARIANT(extent->state != EXTENT_SENT);
	extent_leave_books(extent);
	extent_leave_tree(extent);
	extent->line.range.start = start;
	extent->line.range.end = end;
	extent_enter_tree(extent);
	extent_enter_books(extent);
	file_mark_work(extent->file);
}

/* Another extent for a part of this one's range and payload; in no tree yet. */
static struct extent *extent_clone(const struct extent *extent, uint64_t start,
				   uint64_t end)
{
	struct extent *clone = extent_new(extent->file, extent->credential, start, end);

	INVARIANT(clone != NULL);
	clone->line.sequence = extent->line.sequence;
	clone->generation = extent->generation;
	clone->acked = extent->acked;
	clone->stable = extent->stable;
	clone->reason = extent->reason;
	clone->replays = extent->replays;
	clone->repaired = extent->repaired;
	clone->upstream_verifier = extent->upstream_verifier;
	clone->least_committed = extent->least_committed;
	clone->sent_sequence = extent->sent_sequence;
	return clone;
}

/* Gives `to` the payload of `from` behind its first `keep` bytes. */
static void fragments_move_tail(struct extent *from, struct extent *to, uint64_t keep)
{
	struct fragment *fragment = TAILQ_FIRST(&from->fragments);
	struct fragment *next;

	for (; fragment != NULL && fragment->len <= keep; fragment = next) {
		next = TAILQ_NEXT(fragment, link);
		keep -= fragment->len;
	}
	if (fragment != NULL && keep > 0) {
		int error = extent_add_payload(to, fragment->payload,
					       fragment->data + keep,
					       fragment->len - (uint32_t)keep);

		INVARIANT(error == 0);
		fragment->len = (uint32_t)keep;
		fragment = TAILQ_NEXT(fragment, link);
	}
	for (; fragment != NULL; fragment = next) {
		next = TAILQ_NEXT(fragment, link);
		TAILQ_REMOVE(&from->fragments, fragment, link);
		TAILQ_INSERT_TAIL(&to->fragments, fragment, link);
	}
}

struct extent *extent_split(struct extent *extent, uint64_t at)
{
	uint64_t end = extent_end(extent);
	struct extent *tail;

	INVARIANT(at > extent_start(extent) && at < end);
	INVARIANT(extent->state != EXTENT_SENT);
	tail = extent_clone(extent, at, end);
	fragments_move_tail(extent, tail, at - extent_start(extent));
	extent_leave_books(extent);
	range_tree_resize(&extent->line.range, extent_start(extent), at);
	extent_enter_books(extent);
	tail->state = extent->state;
	extent_enter_tree(tail);
	extent_enter_books(tail);
	/* What stood before it may only have overlapped the tail. */
	if (extent->state == EXTENT_WAITING)
		line_back(extent->file, &extent->line);
	file_mark_work(extent->file);
	return tail;
}

void extent_cut(struct extent *extent, uint64_t start, uint64_t end)
{
	uint64_t from = extent_start(extent);
	uint64_t to = extent_end(extent);

	if (start <= from && end >= to) {
		extent_free(extent);
	} else if (start <= from) {
		fragments_cut_front(extent, end - from);
		extent_set_range(extent, end, to);
	} else if (end >= to) {
		fragments_cut_back(extent, to - start);
		extent_set_range(extent, from, start);
	} else {
		extent_cut(extent_split(extent, start), start, end);
	}
}

void extent_join(struct extent *extent, struct extent *next)
{
	uint64_t bytes = extent_bytes(next);

	INVARIANT(extent_end(extent) == extent_start(next));
	INVARIANT(extent->generation == next->generation);
	fragments_move_tail(next, extent, 0);
	extent_free(next);
	extent_grow(extent, (uint32_t)bytes);
}

static struct buf *extent_new_payload(struct engine *engine, size_t bytes)
{
	return engine->ops->payload_new != NULL
		       ? engine->ops->payload_new(engine->owner, bytes)
		       : buf_new(bytes);
}

/* Everything is in `payload` now, and the first fragment stands for it. */
static void fragments_replace(struct extent *extent, struct buf *payload)
{
	struct fragment *first = TAILQ_FIRST(&extent->fragments);
	struct fragment *fragment = TAILQ_NEXT(first, link);
	struct fragment *next;

	for (; fragment != NULL; fragment = next) {
		next = TAILQ_NEXT(fragment, link);
		fragment_free(extent, fragment);
	}
	buf_unref(first->payload);
	first->payload = payload;
	first->data = buf_start(payload);
	first->len = (uint32_t)payload->len_bytes;
}

void extent_gather(struct extent *extent)
{
	struct fragment *fragment = TAILQ_FIRST(&extent->fragments);
	uint64_t bytes = extent_bytes(extent);
	struct buf *payload;
	uint8_t *at;

	if (fragment == NULL || TAILQ_NEXT(fragment, link) == NULL)
		return;
	payload = extent_new_payload(extent->file->engine, bytes);
	if (payload == NULL) {
		extent_split(extent, extent_start(extent) + fragment->len);
		return;
	}
	payload->len_bytes = bytes;
	at = buf_start(payload);
	for (; fragment != NULL; fragment = TAILQ_NEXT(fragment, link)) {
		memcpy(at, fragment->data, fragment->len);
		at += fragment->len;
	}
	fragments_replace(extent, payload);
}
