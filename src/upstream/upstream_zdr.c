/*
 * Functions of libnfs that decode counted data, with the checks that they lack.
 *
 * The hard case: libnfs compares a length with what is left of the record in 32-bit
 * arithmetic. A length of 2 GiB or more passes, and an array whose size in bytes wraps
 * gets too little memory. Lists are decoded and encoded recursively, so that a long one
 * needs more stack than there is. No callback of ours runs in between, so these functions
 * stand before the library's own: the dynamic linker takes a program's definition first.
 *
 * Not promised: anything for a libnfs that is linked statically.
 */
#include "upstream/upstream_zdr.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "nfsgather/invariant.h"
#include "upstream/upstream_call.h"

#define OURS __attribute__((visibility("default")))

enum {
	/* Every element of an array has this much at least. */
	ELEMENT_MIN_BYTES = 4,
	/* Twice what a directory page that is asked for can have. */
	LIST_MAX = UPSTREAM_READDIR_MAX_BYTES / 12,
};

static bool_t (*real_bytes)(ZDR *zdr, char **bytes, uint32_t *size, uint32_t max);
static bool_t (*real_string)(ZDR *zdr, char **string, uint32_t max);
static bool_t (*real_array)(ZDR *zdr, char **array, uint32_t *size, uint32_t max,
			    uint32_t element_bytes, zdrproc_t proc);
static bool_t (*real_pointer)(ZDR *zdr, char **object, uint32_t bytes, zdrproc_t proc);

/* A pointer to a function out of a pointer to data: C has no conversion for it. */
static void real_find(const char *symbol, void *function)
{
	void *found = dlsym(RTLD_NEXT, symbol);

	INVARIANT(found != NULL);
	memcpy(function, &found, sizeof(found));
}

void upstream_zdr_init(void)
{
	real_find("libnfs_zdr_bytes", &real_bytes);
	real_find("libnfs_zdr_string", &real_string);
	real_find("libnfs_zdr_array", &real_array);
	real_find("libnfs_zdr_pointer", &real_pointer);
}

/* When decoding: is there as much as the length at hand says? */
static bool length_fits(const ZDR *zdr, uint32_t max, uint32_t unit_bytes)
{
	uint32_t length;
	size_t left_bytes;

	if (zdr->x_op != ZDR_DECODE)
		return true;
	if (zdr->pos < 0 || zdr->pos > zdr->size)
		return false;
	left_bytes = (size_t)(zdr->size - zdr->pos);
	if (left_bytes < sizeof(length))
		return false;
	memcpy(&length, zdr->buf + zdr->pos, sizeof(length));
	length = ntohl(length);
	return length <= max && length <= (left_bytes - sizeof(length)) / unit_bytes;
}

OURS bool_t libnfs_zdr_bytes(ZDR *zdrs, char **bufp, uint32_t *size, uint32_t maxsize)
{
	return length_fits(zdrs, maxsize, 1) && real_bytes(zdrs, bufp, size, maxsize);
}

OURS bool_t libnfs_zdr_string(ZDR *zdrs, char **strp, uint32_t maxsize)
{
	return length_fits(zdrs, maxsize, 1) && real_string(zdrs, strp, maxsize);
}

OURS bool_t libnfs_zdr_array(ZDR *zdrs, char **arrp, uint32_t *size, uint32_t maxsize,
			     uint32_t elsize, zdrproc_t proc)
{
	return length_fits(zdrs, maxsize, ELEMENT_MIN_BYTES) &&
	       real_array(zdrs, arrp, size, maxsize, elsize, proc);
}

/* The rest of a list is inside its first entry. */
OURS bool_t libnfs_zdr_pointer(ZDR *zdrs, char **objp, uint32_t size, zdrproc_t proc)
{
	static unsigned int depth;
	bool_t done = false;

	if (depth < LIST_MAX) {
		depth++;
		done = real_pointer(zdrs, objp, size, proc);
		depth--;
	}
	return done;
}
