/*
 * Wire bytes made by hand, for tests of src/wire: an encoder that shares nothing with
 * the code under test, and copies of exact size, so that a sanitizer sees a read too
 * far.
 */
#ifndef UNIT_WIRE_BYTES_H
#define UNIT_WIRE_BYTES_H

#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * Like ck_assert(), for loops: check writes to a pipe for every assertion that holds,
 * which makes millions of them slow.
 */
#define wire_assert(expr) ((expr) ? (void)0 : ck_abort_msg("failed: %s", #expr))

enum { WIRE_BYTES_MAX = 128 * 1024 };

struct wire_bytes {
	size_t len;
	uint8_t data[WIRE_BYTES_MAX];
};

static inline void wire_put_raw(struct wire_bytes *to, const void *bytes, size_t len)
{
	wire_assert(len <= WIRE_BYTES_MAX - to->len);
	if (len > 0)
		memcpy(to->data + to->len, bytes, len);
	to->len += len;
}

static inline void wire_put_u32(struct wire_bytes *to, uint32_t value)
{
	uint8_t word[4] = { (uint8_t)(value >> 24), (uint8_t)(value >> 16),
			    (uint8_t)(value >> 8), (uint8_t)value };

	wire_put_raw(to, word, 4);
}

static inline void wire_put_u64(struct wire_bytes *to, uint64_t value)
{
	wire_put_u32(to, (uint32_t)(value >> 32));
	wire_put_u32(to, (uint32_t)value);
}

/* `len` bytes that all are `fill`, then padding of `padding` bytes. */
static inline void wire_put_fill(struct wire_bytes *to, uint8_t fill, size_t len,
				 uint8_t padding)
{
	wire_assert(len + 4 <= WIRE_BYTES_MAX - to->len);
	memset(to->data + to->len, fill, len);
	to->len += len;
	while (len++ % 4 != 0)
		wire_put_raw(to, &padding, 1);
}

/* Count, `len` times `fill`, zero padding. */
static inline void wire_put_opaque(struct wire_bytes *to, uint8_t fill, uint32_t len)
{
	wire_put_u32(to, len);
	wire_put_fill(to, fill, len, 0);
}

static inline void wire_put_text(struct wire_bytes *to, const char *text)
{
	size_t len = strlen(text);

	wire_put_u32(to, (uint32_t)len);
	wire_put_raw(to, text, len);
	wire_put_raw(to, "\0\0\0", (4 - len % 4) % 4);
}

/* The first `len` bytes in memory of exactly that size; to be freed. */
static inline uint8_t *wire_exact(const struct wire_bytes *from, size_t len)
{
	uint8_t *copy = malloc(len == 0 ? 1 : len);

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, from->data, len);
	return copy;
}

#endif
