/*
 * Refcounted byte buffers.
 *
 * The hard case is that admission counts on buf_total_bytes(): a capacity is counted
 * from buf_new() to the last buf_unref(), whatever was filled or sent of it. Whoever
 * charged it to somebody hears of its end afterwards, and may take new buffers then.
 * Contents are not cleared, neither at birth nor at death.
 */
#include "nfsgather/buf.h"

#include <limits.h>
#include <stdlib.h>

#include "nfsgather/invariant.h"

static size_t total_bytes;

struct buf *buf_new(size_t capacity_bytes)
{
	if (capacity_bytes > SIZE_MAX - sizeof(struct buf))
		return NULL;
	struct buf *buf = malloc(sizeof(*buf) + capacity_bytes);
	if (buf == NULL)
		return NULL;
	buf->refs = 1;
	buf->capacity_bytes = capacity_bytes;
	buf->off_bytes = 0;
	buf->len_bytes = 0;
	buf->charge_bytes = 0;
	buf->on_free = NULL;
	buf->on_free_arg = NULL;
	total_bytes += capacity_bytes;
	return buf;
}

struct buf *buf_ref(struct buf *buf)
{
	INVARIANT(buf->refs > 0 && buf->refs < UINT_MAX);
	buf->refs++;
	return buf;
}

void buf_unref(struct buf *buf)
{
	if (buf == NULL)
		return;
	INVARIANT(buf->refs > 0);
	if (--buf->refs > 0)
		return;
	INVARIANT(total_bytes >= buf->capacity_bytes);
	total_bytes -= buf->capacity_bytes;

	void (*on_free)(void *arg, size_t charge_bytes) = buf->on_free;
	void *arg = buf->on_free_arg;
	size_t charge_bytes = buf->charge_bytes;
	free(buf);
	if (on_free != NULL)
		on_free(arg, charge_bytes);
}

void buf_set_on_free(struct buf *buf, void (*on_free)(void *arg, size_t charge_bytes),
		     void *arg, size_t charge_bytes)
{
	INVARIANT(buf->refs > 0);
	INVARIANT(buf->on_free == NULL && on_free != NULL);
	buf->on_free = on_free;
	buf->on_free_arg = arg;
	buf->charge_bytes = charge_bytes;
}

size_t buf_total_bytes(void)
{
	return total_bytes;
}
