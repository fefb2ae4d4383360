/*
 * Bounds-checked XDR (RFC 4506) cursors over bytes. A failed read makes the cursor bad
 * and yields zeros; callers check once at the end with xdr_in_ok().
 */
#ifndef WIRE_XDR_H
#define WIRE_XDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nfsgather/nfs3.h"

struct xdr_in {
	const uint8_t *at; /* equals end once bad */
	const uint8_t *end;
	bool bad;
};

void xdr_in_init(struct xdr_in *in, const void *bytes, size_t len_bytes);
uint32_t xdr_in_u32(struct xdr_in *in);
uint64_t xdr_in_u64(struct xdr_in *in);
/* Anything but 0 and 1 is bad. */
bool xdr_in_bool(struct xdr_in *in);
/* A value over `max` is bad and read as 0. */
uint32_t xdr_in_u32_max(struct xdr_in *in, uint32_t max);
/* Makes the cursor bad: what was read has a value that cannot be. */
void xdr_in_reject(struct xdr_in *in);
/*
 * `len_bytes` bytes and their padding (of any content); NULL (and bad) when they are
 * not there. The bytes are a view.
 */
const uint8_t *xdr_in_fixed(struct xdr_in *in, uint32_t len_bytes);
/* Counted opaque or string of at most `max_bytes`; data is NULL only when bad. */
struct nfs3_bytes xdr_in_bytes(struct xdr_in *in, uint32_t max_bytes);
size_t xdr_in_left_bytes(const struct xdr_in *in);
/* Nothing failed so far; whether bytes are left is another question. */
bool xdr_in_ok(const struct xdr_in *in);

/* Writing: the caller provides room; running out makes the cursor bad. */
struct xdr_out {
	uint8_t *start;
	uint8_t *at;
	uint8_t *end;
	bool bad;
};

void xdr_out_init(struct xdr_out *out, void *bytes, size_t len_bytes);
void xdr_out_u32(struct xdr_out *out, uint32_t value);
void xdr_out_u64(struct xdr_out *out, uint64_t value);
void xdr_out_bool(struct xdr_out *out, bool value);
/* Bytes and zero padding, without a count. */
void xdr_out_fixed(struct xdr_out *out, const void *bytes, uint32_t len_bytes);
/* Count, bytes, padding. */
void xdr_out_bytes(struct xdr_out *out, const void *bytes, uint32_t len_bytes);
size_t xdr_out_len_bytes(const struct xdr_out *out);
bool xdr_out_ok(const struct xdr_out *out);

#endif
