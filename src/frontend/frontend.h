/*
 * The client side of one upstream: its listeners, sessions, clients and reply cache, and
 * the engine they share. main.c makes one for each [upstream NAME].
 */
#ifndef FRONTEND_FRONTEND_H
#define FRONTEND_FRONTEND_H

#include <sys/socket.h>

#include "nfsgather/access.h"
#include "nfsgather/clock.h"
#include "nfsgather/engine.h"
#include "nfsgather/invariant.h"
#include "nfsgather/stats.h"
#include "nfsgather/upstream.h"

struct event_base;
struct frontend;
struct admission_pool;

struct frontend_config {
	struct event_base *base;
	const struct clock *clock;
	const struct upstream_ops *upstream_ops;
	struct upstream *upstream;
	struct stats *stats;		    /* outlives the frontend */
	struct admission_pool *admission;   /* the process's memory; outlives it too */
	const struct access_rules *clients; /* these two are copied */
	const char *const *exports;
	size_t export_count;
	struct nfs3_verifier first_verifier; /* random */
	struct engine_config engine;
};

/* NULL when memory is short. */
struct frontend *frontend_new(const struct frontend_config *config);
/* Starts accepting on a bound, listening, non-blocking socket; takes it over on success. */
MUST_CHECK int frontend_listen(struct frontend *frontend, int fd);
/* Stops accepting and closes the listening sockets; sessions go on. */
void frontend_stop_listening(struct frontend *frontend);
/*
 * Orderly stop: nothing is accepted and no call read any more; what was acked is written
 * back and made stable, what is in progress is answered.
 */
void frontend_drain(struct frontend *frontend);
/* All that frontend_drain() began is done. */
bool frontend_is_drained(const struct frontend *frontend);
/* Closes everything at once. The upstream must have been freed before (no call is out). */
void frontend_free(struct frontend *frontend);

#endif
