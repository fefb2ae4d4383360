/*
 * What every fuzz target shares. A target is one file with LLVMFuzzerTestOneInput();
 * main() comes from libFuzzer (--enable-fuzzing) or from standalone_main.c, which
 * replays files.
 */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len_bytes);

/* A property that no input may break. */
#define FUZZ_ASSERT(expr)                                                              \
	do {                                                                           \
		if (!(expr)) {                                                         \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #expr);     \
			abort();                                                       \
		}                                                                      \
	} while (0)

#endif
