/*
 * File contents of the fault server: what READ sees, what would survive a crash, and
 * what waiting COMMITs will make stable.
 */
#ifndef FAULTD_IMAGE_H
#define FAULTD_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IMAGE_CHUNK = 65536 };

struct chunk;

/* A sparse byte array; chunks are shared between images and copied before a change. */
struct image {
	struct chunk **chunks; /* NULL entry: zeros */
	size_t n_chunks;
	uint64_t size;
};

/* What one COMMIT covers, frozen when it arrived. */
struct snapshot {
	struct image image;
	uint64_t low, high; /* byte range it makes stable; empty after a reboot */
	uint64_t sequence;  /* unstable_sequence of the content at arrival */
	bool whole;	    /* the COMMIT named the whole file */
	struct snapshot *next;
};

struct content {
	struct image visible; /* all that was written */
	struct image stable;  /* what a reboot leaves */
	/* All bytes in which the two may differ lie in [dirty_low, dirty_high). */
	uint64_t dirty_low, dirty_high;
	uint64_t unstable_sequence;  /* counts UNSTABLE writes */
	uint64_t committed_sequence; /* those a whole-file COMMIT made stable */
	struct snapshot *snapshots;  /* oldest first */
};

void image_read(const struct image *im, uint64_t off, uint8_t *to, size_t len);
uint32_t image_crc32(const struct image *im);
/* Writes all bytes to a local file; 0 or -errno. */
int image_dump(const struct image *im, const char *path);

void content_fini(struct content *c);
/* stable: the bytes are in the stable image at once, and no older snapshot undoes that. */
void content_write(struct content *c, uint64_t off, const uint8_t *from, size_t len,
		   bool stable);
/* Truncation and extension are stable at once. */
void content_resize(struct content *c, uint64_t size);
/* Freezes what a COMMIT of [off, off+count) covers (count 0: to the end). */
struct snapshot *content_snapshot(struct content *c, uint64_t off, uint64_t count);
/* Makes the snapshot stable (apply) or forgets it, and frees it. */
void content_finish(struct content *c, struct snapshot *snap, bool apply);
/* The crash: back to the stable image. some != 0 seeds a coin per 4 KiB block that
 * decides whether the block had reached the disk by itself. */
void content_reboot(struct content *c, uint64_t some);
/* Bytes that differ between visible and stable. */
uint64_t content_dirty_bytes(const struct content *c);
/* True if a COMMIT of the whole file would have nothing to do. */
bool content_is_clean(const struct content *c);

#endif
