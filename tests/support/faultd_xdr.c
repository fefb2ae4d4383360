/*
 * XDR coders of the fault server.
 *
 * The hard case is hostile or wrong input: lengths are compared with what is left before
 * anything is touched, and padding that is not zero counts as a fault of the sender.
 * Does not promise speed for anything but opaques.
 */
#include "faultd_xdr.h"

#include <string.h>

static const uint8_t *get_bytes(struct xdr_in *in, size_t len)
{
	const uint8_t *p = in->p;

	if (in->bad || in->left < len) {
		in->bad = true;
		return NULL;
	}
	in->p += len;
	in->left -= len;
	return p;
}

uint32_t xdr_get_u32(struct xdr_in *in)
{
	const uint8_t *p = get_bytes(in, 4);

	if (!p)
		return 0;
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

uint64_t xdr_get_u64(struct xdr_in *in)
{
	uint64_t high = xdr_get_u32(in);

	return high << 32 | xdr_get_u32(in);
}

bool xdr_get_bool(struct xdr_in *in)
{
	uint32_t v = xdr_get_u32(in);

	if (v > 1)
		in->bad = true;
	return v == 1;
}

const uint8_t *xdr_get_fixed(struct xdr_in *in, size_t len)
{
	const uint8_t *p = get_bytes(in, len);
	const uint8_t *pad = p ? get_bytes(in, xdr_pad(len)) : NULL;

	if (!pad)
		return NULL;
	for (size_t i = 0; i < xdr_pad(len); i++) {
		if (pad[i])
			in->bad = true;
	}
	return p;
}

const uint8_t *xdr_get_opaque(struct xdr_in *in, uint32_t max, uint32_t *len)
{
	*len = xdr_get_u32(in);
	if (*len > max) {
		in->bad = true;
		*len = 0;
		return NULL;
	}
	return xdr_get_fixed(in, *len);
}

bool xdr_get_done(const struct xdr_in *in)
{
	return !in->bad && in->left == 0;
}

uint8_t *xdr_put_room(struct xdr_out *out, size_t len)
{
	size_t pad = xdr_pad(len);
	uint8_t *p = out->base + out->len;

	if (out->full || out->cap - out->len < len + pad) {
		out->full = true;
		return NULL;
	}
	memset(p + len, 0, pad);
	out->len += len + pad;
	return p;
}

void xdr_put_at(struct xdr_out *out, size_t pos, uint32_t v)
{
	uint8_t *p = out->base + pos;

	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

void xdr_put_u32(struct xdr_out *out, uint32_t v)
{
	size_t pos = out->len;

	if (xdr_put_room(out, 4))
		xdr_put_at(out, pos, v);
}

void xdr_put_u64(struct xdr_out *out, uint64_t v)
{
	xdr_put_u32(out, (uint32_t)(v >> 32));
	xdr_put_u32(out, (uint32_t)v);
}

void xdr_put_fixed(struct xdr_out *out, const void *bytes, size_t len)
{
	uint8_t *p = xdr_put_room(out, len);

	if (p && len)
		memcpy(p, bytes, len);
}

void xdr_put_opaque(struct xdr_out *out, const void *bytes, size_t len)
{
	xdr_put_u32(out, (uint32_t)len);
	xdr_put_fixed(out, bytes, len);
}
