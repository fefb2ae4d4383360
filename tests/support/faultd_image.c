/*
 * Two images of every file, visible and stable, made of shared 64 KiB chunks.
 *
 * The hard case is a COMMIT that is delayed while the file is written again, truncated,
 * or committed by another call: the COMMIT owns a snapshot from its arrival, and
 * whatever becomes stable later is put into all older snapshots too, so that none of
 * them brings old bytes back. Does not promise to survive running out of memory.
 */
#include "faultd_image.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct chunk {
	uint32_t refs;
	struct chunk *next_free;
	uint8_t bytes[IMAGE_CHUNK];
};

static struct chunk *free_chunks;

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static struct chunk *chunk_new(void)
{
	struct chunk *k = free_chunks;

	if (k)
		free_chunks = k->next_free;
	else
		k = malloc(sizeof(*k));
	if (!k)
		abort();
	k->refs = 1;
	return k;
}

static void chunk_unref(struct chunk *k)
{
	if (!k || --k->refs)
		return;
	k->next_free = free_chunks;
	free_chunks = k;
}

static void image_fini(struct image *im)
{
	for (size_t i = 0; i < im->n_chunks; i++)
		chunk_unref(im->chunks[i]);
	free(im->chunks);
	*im = (struct image){ 0 };
}

static void image_reserve(struct image *im, uint64_t end)
{
	size_t need = (size_t)((end + IMAGE_CHUNK - 1) / IMAGE_CHUNK);

	if (need <= im->n_chunks)
		return;
	if (need < im->n_chunks * 2)
		need = im->n_chunks * 2;
	im->chunks = realloc(im->chunks, need * sizeof(*im->chunks));
	if (!im->chunks)
		abort();
	memset(im->chunks + im->n_chunks, 0,
	       (need - im->n_chunks) * sizeof(*im->chunks));
	im->n_chunks = need;
}

/* A chunk of the image that may be written; keep: its bytes matter. */
static struct chunk *image_own(struct image *im, size_t i, bool keep)
{
	struct chunk *old = im->chunks[i];
	struct chunk *k;

	if (old && old->refs == 1)
		return old;
	k = chunk_new();
	if (keep && old)
		memcpy(k->bytes, old->bytes, IMAGE_CHUNK);
	else if (keep)
		memset(k->bytes, 0, IMAGE_CHUNK);
	chunk_unref(old);
	im->chunks[i] = k;
	return k;
}

static void image_write(struct image *im, uint64_t off, const uint8_t *from, size_t len)
{
	image_reserve(im, off + len);
	im->size = max_u64(im->size, off + len);
	while (len) {
		size_t at = (size_t)(off % IMAGE_CHUNK);
		size_t part = (size_t)min_u64(len, IMAGE_CHUNK - at);
		struct chunk *k =
			image_own(im, (size_t)(off / IMAGE_CHUNK), part < IMAGE_CHUNK);

		memcpy(k->bytes + at, from, part);
		from += part;
		off += part;
		len -= part;
	}
}

/* Zeros [off, end) without changing the size. */
static void image_zero(struct image *im, uint64_t off, uint64_t end)
{
	end = min_u64(end, (uint64_t)im->n_chunks * IMAGE_CHUNK);
	while (off < end) {
		size_t i = (size_t)(off / IMAGE_CHUNK);
		size_t at = (size_t)(off % IMAGE_CHUNK);
		size_t part = (size_t)min_u64(end - off, IMAGE_CHUNK - at);

		if (im->chunks[i] && part == IMAGE_CHUNK) {
			chunk_unref(im->chunks[i]);
			im->chunks[i] = NULL;
		} else if (im->chunks[i]) {
			memset(image_own(im, i, true)->bytes + at, 0, part);
		}
		off += part;
	}
}

static void image_resize(struct image *im, uint64_t size)
{
	if (size < im->size)
		image_zero(im, size, im->size);
	im->size = size;
}

/* Bytes [off, end) of one image into another; whole chunks are shared, sizes stay. */
static void image_copy_range(struct image *to, const struct image *from, uint64_t off,
			     uint64_t end)
{
	end = min_u64(end, (uint64_t)IMAGE_CHUNK * (from->n_chunks > to->n_chunks
							    ? from->n_chunks
							    : to->n_chunks));
	if (off >= end)
		return;
	image_reserve(to, end);
	while (off < end) {
		size_t i = (size_t)(off / IMAGE_CHUNK);
		size_t at = (size_t)(off % IMAGE_CHUNK);
		size_t part = (size_t)min_u64(end - off, IMAGE_CHUNK - at);
		struct chunk *src = i < from->n_chunks ? from->chunks[i] : NULL;

		off += part;
		if (src == to->chunks[i])
			continue;
		if (part == IMAGE_CHUNK) {
			if (src)
				src->refs++;
			chunk_unref(to->chunks[i]);
			to->chunks[i] = src;
		} else if (src) {
			memcpy(image_own(to, i, true)->bytes + at, src->bytes + at,
			       part);
		} else {
			memset(image_own(to, i, true)->bytes + at, 0, part);
		}
	}
}

void image_read(const struct image *im, uint64_t off, uint8_t *to, size_t len)
{
	while (len) {
		size_t i = (size_t)(off / IMAGE_CHUNK);
		size_t at = (size_t)(off % IMAGE_CHUNK);
		size_t part = (size_t)min_u64(len, IMAGE_CHUNK - at);

		if (i < im->n_chunks && im->chunks[i])
			memcpy(to, im->chunks[i]->bytes + at, part);
		else
			memset(to, 0, part);
		to += part;
		off += part;
		len -= part;
	}
}

static uint32_t crc32_update(uint32_t crc, const uint8_t *p, size_t len)
{
	static uint32_t table[256];

	if (!table[1]) {
		for (uint32_t i = 0; i < 256; i++) {
			uint32_t v = i;

			for (int bit = 0; bit < 8; bit++)
				v = v & 1 ? 0xedb88320u ^ (v >> 1) : v >> 1;
			table[i] = v;
		}
	}
	while (len--)
		crc = table[(crc ^ *p++) & 0xff] ^ (crc >> 8);
	return crc;
}

uint32_t image_crc32(const struct image *im)
{
	static uint8_t buf[IMAGE_CHUNK];
	uint32_t crc = 0xffffffffu;

	for (uint64_t off = 0; off < im->size; off += IMAGE_CHUNK) {
		size_t part = (size_t)min_u64(IMAGE_CHUNK, im->size - off);

		image_read(im, off, buf, part);
		crc = crc32_update(crc, buf, part);
	}
	return ~crc;
}

int image_dump(const struct image *im, const char *path)
{
	static uint8_t buf[IMAGE_CHUNK];
	FILE *to = fopen(path, "we");
	int rc = 0;

	if (!to)
		return -errno;
	for (uint64_t off = 0; off < im->size && !rc; off += IMAGE_CHUNK) {
		size_t part = (size_t)min_u64(IMAGE_CHUNK, im->size - off);

		image_read(im, off, buf, part);
		if (fwrite(buf, 1, part, to) != part)
			rc = -EIO;
	}
	if (fclose(to) && !rc)
		rc = -EIO;
	return rc;
}

void content_fini(struct content *c)
{
	image_fini(&c->visible);
	image_fini(&c->stable);
}

/* What just became stable in `from` also goes into stable and the older snapshots. */
static void content_spread(struct content *c, const struct image *from,
			   const struct snapshot *newest, uint64_t low, uint64_t high)
{
	image_copy_range(&c->stable, from, low, high);
	for (struct snapshot *s = c->snapshots; s && s != newest; s = s->next)
		image_copy_range(&s->image, from, max_u64(low, s->low),
				 min_u64(high, s->high));
}

void content_write(struct content *c, uint64_t off, const uint8_t *from, size_t len,
		   bool stable)
{
	if (!len)
		return;
	image_write(&c->visible, off, from, len);
	if (stable) {
		content_spread(c, &c->visible, NULL, off, off + len);
		c->stable.size = max_u64(c->stable.size, off + len);
		return;
	}
	if (c->dirty_low >= c->dirty_high) {
		c->dirty_low = off;
		c->dirty_high = off + len;
	}
	c->dirty_low = min_u64(c->dirty_low, off);
	c->dirty_high = max_u64(c->dirty_high, off + len);
	c->unstable_sequence++;
}

void content_resize(struct content *c, uint64_t size)
{
	image_resize(&c->visible, size);
	image_resize(&c->stable, size);
	for (struct snapshot *s = c->snapshots; s; s = s->next) {
		if (s->image.size > size)
			image_resize(&s->image, size);
	}
}

struct snapshot *content_snapshot(struct content *c, uint64_t off, uint64_t count)
{
	uint64_t end = !count || off + count < off ? UINT64_MAX : off + count;
	struct snapshot *s = calloc(1, sizeof(*s));
	struct snapshot **tail = &c->snapshots;

	if (!s)
		abort();
	s->low = max_u64(off, c->dirty_low);
	s->high = min_u64(end, c->dirty_high);
	if (s->low > s->high)
		s->low = s->high;
	s->whole = off == 0 && end >= c->visible.size;
	s->sequence = c->unstable_sequence;
	image_copy_range(&s->image, &c->visible, s->low, s->high);
	s->image.size = c->visible.size;
	while (*tail)
		tail = &(*tail)->next;
	*tail = s;
	return s;
}

static void content_apply(struct content *c, struct snapshot *s)
{
	content_spread(c, &s->image, s, s->low, s->high);
	c->stable.size = max_u64(c->stable.size, min_u64(s->image.size, s->high));
	if (!s->whole)
		return;
	c->committed_sequence = max_u64(c->committed_sequence, s->sequence);
	if (c->committed_sequence == c->unstable_sequence)
		c->dirty_low = c->dirty_high = 0;
}

void content_finish(struct content *c, struct snapshot *snap, bool apply)
{
	struct snapshot **at = &c->snapshots;

	if (apply && snap->low < snap->high)
		content_apply(c, snap);
	else if (apply && snap->whole)
		c->committed_sequence = max_u64(c->committed_sequence, snap->sequence);
	while (*at != snap)
		at = &(*at)->next;
	*at = snap->next;
	image_fini(&snap->image);
	free(snap);
}

/* One 4 KiB block reached the disk before the crash, or did not. */
static void content_keep_some(struct content *c, uint64_t *seed)
{
	for (uint64_t off = 0; off < c->visible.size; off += 4096) {
		uint64_t end = min_u64(off + 4096, c->visible.size);

		*seed = *seed * 6364136223846793005u + 1442695040888963407u;
		if (!(*seed >> 63))
			continue;
		image_copy_range(&c->stable, &c->visible, off, end);
		if (off < c->dirty_high && end > c->dirty_low)
			c->stable.size = max_u64(c->stable.size, end);
	}
}

void content_reboot(struct content *c, uint64_t some)
{
	if (c->dirty_low < c->dirty_high) {
		if (some)
			content_keep_some(c, &some);
		image_copy_range(&c->visible, &c->stable, 0, UINT64_MAX);
	}
	c->visible.size = c->stable.size;
	for (struct snapshot *s = c->snapshots; s; s = s->next)
		s->low = s->high = 0;
	c->dirty_low = c->dirty_high = 0;
	c->committed_sequence = c->unstable_sequence;
}

uint64_t content_dirty_bytes(const struct content *c)
{
	static uint8_t a[IMAGE_CHUNK], b[IMAGE_CHUNK];
	uint64_t size = max_u64(c->visible.size, c->stable.size);
	uint64_t sum = 0;

	for (uint64_t off = 0; off < size; off += IMAGE_CHUNK) {
		size_t part = (size_t)min_u64(IMAGE_CHUNK, size - off);

		image_read(&c->visible, off, a, part);
		image_read(&c->stable, off, b, part);
		for (size_t i = 0; i < part; i++)
			sum += a[i] != b[i] || off + i >= c->stable.size;
	}
	return sum;
}

bool content_is_clean(const struct content *c)
{
	return c->committed_sequence == c->unstable_sequence;
}
