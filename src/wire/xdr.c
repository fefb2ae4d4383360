/*
 * Bounds-checked XDR cursors.
 *
 * The hard case is a length taken from the wire: it is compared with what is left
 * before anything is added to it, so no sum of lengths can wrap. Bytes are put together
 * one by one; nothing relies on alignment.
 *
 * Not promised: that padding is zero when it is read. Writers disagree, nobody looks at
 * it.
 */
#include "wire/xdr.h"

#include <string.h>

static size_t xdr_padding(size_t len_bytes)
{
	return (4 - len_bytes % 4) % 4;
}

void xdr_in_reject(struct xdr_in *in)
{
	in->bad = true;
	in->at = in->end;
}

void xdr_in_init(struct xdr_in *in, const void *bytes, size_t len_bytes)
{
	static const uint8_t nothing[1];

	in->at = len_bytes == 0 ? nothing : bytes;
	in->end = in->at + len_bytes;
	in->bad = false;
}

size_t xdr_in_left_bytes(const struct xdr_in *in)
{
	return (size_t)(in->end - in->at);
}

bool xdr_in_ok(const struct xdr_in *in)
{
	return !in->bad;
}

uint32_t xdr_in_u32(struct xdr_in *in)
{
	const uint8_t *p = in->at;

	if (xdr_in_left_bytes(in) < 4) {
		xdr_in_reject(in);
		return 0;
	}
	in->at += 4;
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

uint64_t xdr_in_u64(struct xdr_in *in)
{
	uint64_t high = xdr_in_u32(in);
	uint64_t low = xdr_in_u32(in);

	return in->bad ? 0 : high << 32 | low;
}

bool xdr_in_bool(struct xdr_in *in)
{
	return xdr_in_u32_max(in, 1) == 1;
}

uint32_t xdr_in_u32_max(struct xdr_in *in, uint32_t max)
{
	uint32_t value = xdr_in_u32(in);

	if (value <= max)
		return value;
	xdr_in_reject(in);
	return 0;
}

const uint8_t *xdr_in_fixed(struct xdr_in *in, uint32_t len_bytes)
{
	const uint8_t *bytes = in->at;
	size_t left_bytes = xdr_in_left_bytes(in);

	if (in->bad || len_bytes > left_bytes ||
	    xdr_padding(len_bytes) > left_bytes - len_bytes) {
		xdr_in_reject(in);
		return NULL;
	}
	in->at += len_bytes + xdr_padding(len_bytes);
	return bytes;
}

struct nfs3_bytes xdr_in_bytes(struct xdr_in *in, uint32_t max_bytes)
{
	struct nfs3_bytes view = { 0 };
	uint32_t len_bytes = xdr_in_u32(in);

	if (len_bytes > max_bytes)
		xdr_in_reject(in);
	view.data = xdr_in_fixed(in, len_bytes);
	if (view.data != NULL)
		view.len = len_bytes;
	return view;
}

void xdr_out_init(struct xdr_out *out, void *bytes, size_t len_bytes)
{
	out->start = bytes;
	out->at = out->start;
	out->end = out->start + len_bytes;
	out->bad = false;
}

size_t xdr_out_len_bytes(const struct xdr_out *out)
{
	return (size_t)(out->at - out->start);
}

bool xdr_out_ok(const struct xdr_out *out)
{
	return !out->bad;
}

/* Room for so many bytes, or NULL; a bad cursor never has room again. */
static uint8_t *xdr_out_room(struct xdr_out *out, size_t len_bytes)
{
	uint8_t *room = out->at;

	if (out->bad || (size_t)(out->end - out->at) < len_bytes) {
		out->bad = true;
		return NULL;
	}
	out->at += len_bytes;
	return room;
}

void xdr_out_u32(struct xdr_out *out, uint32_t value)
{
	uint8_t *p = xdr_out_room(out, 4);

	if (p == NULL)
		return;
	p[0] = (uint8_t)(value >> 24);
	p[1] = (uint8_t)(value >> 16);
	p[2] = (uint8_t)(value >> 8);
	p[3] = (uint8_t)value;
}

void xdr_out_u64(struct xdr_out *out, uint64_t value)
{
	xdr_out_u32(out, (uint32_t)(value >> 32));
	xdr_out_u32(out, (uint32_t)value);
}

void xdr_out_bool(struct xdr_out *out, bool value)
{
	xdr_out_u32(out, value ? 1 : 0);
}

void xdr_out_fixed(struct xdr_out *out, const void *bytes, uint32_t len_bytes)
{
	size_t padding = xdr_padding(len_bytes);
	uint8_t *p = xdr_out_room(out, (size_t)len_bytes + padding);

	if (p == NULL || len_bytes == 0)
		return;
	memcpy(p, bytes, len_bytes);
	memset(p + len_bytes, 0, padding);
}

void xdr_out_bytes(struct xdr_out *out, const void *bytes, uint32_t len_bytes)
{
	xdr_out_u32(out, len_bytes);
	xdr_out_fixed(out, bytes, len_bytes);
}
