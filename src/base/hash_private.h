/*
 * The hash with a secret of the caller's, so that it can be held against the reference
 * vectors of SipHash.
 */
#ifndef BASE_HASH_PRIVATE_H
#define BASE_HASH_PRIVATE_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes_keyed(const uint64_t secret[2], const void *bytes,
			  size_t len_bytes);

#endif
