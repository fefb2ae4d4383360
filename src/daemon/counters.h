/*
 * The counters as text: one line of JSON. nfsgatherd(8) documents its form.
 */
#ifndef DAEMON_COUNTERS_H
#define DAEMON_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

#include "nfsgather/invariant.h"
#include "nfsgather/stats.h"

struct counters_upstream {
	const char *name;
	const struct stats *stats;
};

struct counters {
	const struct counters_upstream *upstream;
	size_t upstream_count;
	uint64_t memory_limit_bytes;
	uint64_t memory_buffers_bytes;
};

/* One line with its newline, to be freed; NULL when memory is short. */
char *counters_to_json(const struct counters *counters);
/*
 * Writes all of `line`, waiting at most timeout_ms for a reader that does not keep up.
 * 0, -ETIMEDOUT (part of the line may be out), or the write's -errno.
 */
MUST_CHECK int counters_write(int fd, const char *line, int timeout_ms);
/* Both of these; trouble is logged. */
void counters_print(const struct counters *counters, int fd, int timeout_ms);

#endif
