/*
 * Listening sockets: who gets in.
 */
#ifndef FRONTEND_LISTENER_H
#define FRONTEND_LISTENER_H

#include "nfsgather/invariant.h"

struct frontend;
struct listener_set;

struct listener_set *listener_set_new(struct frontend *frontend);
/* Closes the listening sockets. NULL is allowed. */
void listener_set_free(struct listener_set *set);
/* A bound, listening, non-blocking socket: 0 and it is taken, or a negative errno. */
MUST_CHECK int listener_add(struct listener_set *set, int fd);
void listener_stop_all(struct listener_set *set);

#endif
