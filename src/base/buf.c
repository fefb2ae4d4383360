/*
 * Refcounted byte buffers.
 *
 * The hard case is that admission counts on buf_total_bytes(): a capacity is counted
 * from buf_new() to the last buf_unref(), whatever was filled or sent of it.
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
	free(buf);
}

size_t buf_total_bytes(void)
{
	return total_bytes;
}
