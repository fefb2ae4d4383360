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
	size_t charge_bytes; /* these three: buf_set_on_free(); NULL: not set */
	void (*on_free)(void *arg, size_t charge_bytes);
	void *on_free_arg;
	size_t off_bytes; /* first valid byte; room before it is headroom */
	size_t len_bytes; /* valid bytes from off_bytes on */
	uint8_t data[];
};

/* A buffer with one reference, empty; NULL when memory is short. */
struct buf *buf_new(size_t capacity_bytes);
struct buf *buf_ref(struct buf *buf);
/* Gives one reference back; NULL is allowed. The last one frees. */
void buf_unref(struct buf *buf);
/*
 * What the buffer is charged with goes with its bytes, wherever they go: on_free()
 * gives it back from inside the last buf_unref(), when the memory is free already. At
 * most once for each buffer.
 */
void buf_set_on_free(struct buf *buf, void (*on_free)(void *arg, size_t charge_bytes),
		     void *arg, size_t charge_bytes);

static inline uint8_t *buf_start(struct buf *buf)
{
	return buf->data + buf->off_bytes;
}

/* Bytes now held by all buffers of the process (capacity, not fill). */
size_t buf_total_bytes(void);

#endif
