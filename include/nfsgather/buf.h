/*
 * Refcounted byte buffers: a received record, or a reply on its way out.
 * One thread; counts are plain integers.
 */
#ifndef NFSGATHER_BUF_H
#define NFSGATHER_BUF_H

#include <stddef.h>
#include <stdint.h>

struct buf {
	unsigned int refs;
	size_t capacity_bytes;
	size_t off_bytes; /* first valid byte; room before it is headroom */
	size_t len_bytes; /* valid bytes from off_bytes on */
	uint8_t data[];
};

/* A buffer with one reference, empty; NULL when memory is short. */
struct buf *buf_new(size_t capacity_bytes);
struct buf *buf_ref(struct buf *buf);
/* Gives one reference back; NULL is allowed. The last one frees. */
void buf_unref(struct buf *buf);

static inline uint8_t *buf_start(struct buf *buf)
{
	return buf->data + buf->off_bytes;
}

/* Bytes now held by all buffers of the process (capacity, not fill). */
size_t buf_total_bytes(void);

#endif
