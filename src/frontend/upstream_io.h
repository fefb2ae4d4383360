/*
 * Carries the engine's WRITEs and COMMITs to the upstream and their results back.
 */
#ifndef FRONTEND_UPSTREAM_IO_H
#define FRONTEND_UPSTREAM_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "nfsgather/engine.h"

struct frontend;
struct upstream_io;

TAILQ_HEAD(upstream_io_list, upstream_io);

/*
 * In a result's `refusal`, beside the values of enum upstream_outcome: results came, and
 * they do not decode.
 */
enum { UPSTREAM_IO_GARBLED = -1 };

/* Ios there was no memory for, in order; each one's `carrier` is the next one. */
struct upstream_io_line {
	struct engine_io *first;
	struct engine_io *last;
};

struct upstream_io_pool {
	struct upstream_io_list spare;
	size_t spare_count;
	size_t live_count;
	struct upstream_io_line starved_writes;
	struct upstream_io_line starved_commits;
};

void upstream_io_pool_init(struct upstream_io_pool *pool);
/* None may be out any more; those that starve are forgotten. */
void upstream_io_pool_fini(struct upstream_io_pool *pool);

/* The engine's ops; owner: struct frontend. */
void upstream_io_send_write(void *owner, struct engine_io *io);
void upstream_io_send_commit(void *owner, struct engine_io *io);
/* Sends what starves, as far as there is memory. */
void upstream_io_retry(struct frontend *frontend);
bool upstream_io_is_starved(const struct frontend *frontend);

#endif
