/*
 * What the process sets up for itself before it serves.
 */
#ifndef DAEMON_PROCESS_H
#define DAEMON_PROCESS_H

#include <stddef.h>

#include "nfsgather/invariant.h"

/* Keeps the allocator from returning memory with every call; allows many descriptors. */
void process_tune(void);
/* 0, or -errno when the kernel has no random bytes for us. */
MUST_CHECK int process_random(void *bytes, size_t count);

#endif
