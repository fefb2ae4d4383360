/*
 * What an upstream socket must have set (keepalive, no delay, reset on close).
 */
#ifndef UPSTREAM_UPSTREAM_SOCKET_H
#define UPSTREAM_UPSTREAM_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "nfsgather/invariant.h"

/* 0, or the -errno of the first option that could not be set; may be called again. */
MUST_CHECK int upstream_socket_setup(int fd);
/*
 * True: what is written now waits for more, so that segments get full. False: sends what
 * waits. It is a hint: where it cannot be set, bytes go out as they are written.
 */
void upstream_socket_gather(int fd, bool gather);
/* Bytes TCP has received on this connection; 0 when the kernel does not say. */
uint64_t upstream_socket_received_bytes(int fd);

#endif
