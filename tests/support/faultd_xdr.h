/*
 * XDR coders of the fault server (RFC 4506): bounded, allocation-free, and on purpose
 * not shared with the daemon, so that each checks the other's idea of the wire.
 */
#ifndef FAULTD_XDR_H
#define FAULTD_XDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reader. Once `bad` is set every further get returns zero or NULL. */
struct xdr_in {
	const uint8_t *p;
	size_t left;
	bool bad; /* ran out of bytes, a length over its limit, or non-zero padding */
};

/* Writer into a fixed buffer. `full` set: something did not fit and was left out. */
struct xdr_out {
	uint8_t *base;
	size_t len;
	size_t cap;
	bool full;
};

uint32_t xdr_get_u32(struct xdr_in *in);
uint64_t xdr_get_u64(struct xdr_in *in);
/* Strict: anything but 0 and 1 is bad. */
bool xdr_get_bool(struct xdr_in *in);
/* Fixed opaque of len bytes, padding checked; points into the input. */
const uint8_t *xdr_get_fixed(struct xdr_in *in, size_t len);
/* Variable opaque or string of at most max bytes; points into the input. */
const uint8_t *xdr_get_opaque(struct xdr_in *in, uint32_t max, uint32_t *len);
/* True if all was well and nothing is left over. */
bool xdr_get_done(const struct xdr_in *in);

void xdr_put_u32(struct xdr_out *out, uint32_t v);
void xdr_put_u64(struct xdr_out *out, uint64_t v);
void xdr_put_fixed(struct xdr_out *out, const void *bytes, size_t len);
void xdr_put_opaque(struct xdr_out *out, const void *bytes, size_t len);
/* Room for len bytes plus padding (zeroed), to be filled by the caller; NULL if full. */
uint8_t *xdr_put_room(struct xdr_out *out, size_t len);
/* Overwrites the word at byte position pos, which must have been put before. */
void xdr_put_at(struct xdr_out *out, size_t pos, uint32_t v);

static inline size_t xdr_pad(size_t len)
{
	return (4 - (len & 3)) & 3;
}

#endif
