/*
 * Prints the counters of all upstreams as one line of JSON.
 *
 * The hard case: standard output may be a pipe that nobody reads. The event loop must not
 * stand still for it, so the line goes out in pieces that a pipe takes whole or not at
 * all, and after a while the rest is dropped.
 */
#include "daemon/counters.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nfsgather/log.h"

static json_t *counters_integer(uint64_t value)
{
	if (value > INT64_MAX)
		value = INT64_MAX;
	return json_integer((json_int_t)value);
}

/* null where nothing can be said yet. */
static json_t *counters_ratio(uint64_t amount, uint64_t per)
{
	if (per == 0)
		return json_null();
	return json_real((double)amount / (double)per);
}

static json_t *counters_upstream_object(const struct stats *stats)
{
	const uint64_t *value = stats->value;
	uint64_t forced = value[STAT_UPSTREAM_FORCED_WRITES];
	json_t *object = json_object();
	int error = 0;

	for (enum stats_counter counter = 0; counter < STAT_COUNT; counter++)
		error |= json_object_set_new(object, stats_name(counter),
					     counters_integer(value[counter]));
	error |= json_object_set_new(object, "client_bytes_per_forced_write",
				     counters_ratio(value[STAT_CLIENT_WRITE_BYTES],
						    forced));
	error |= json_object_set_new(object, "client_writes_per_forced_write",
				     counters_ratio(value[STAT_CLIENT_WRITES], forced));
	error |= json_object_set_new(object, "client_write_commit_ratio",
				     counters_ratio(value[STAT_CLIENT_WRITES],
						    value[STAT_CLIENT_COMMITS]));
	error |= json_object_set_new(object, "write_commit_ratio",
				     counters_ratio(value[STAT_UPSTREAM_WRITES],
						    value[STAT_UPSTREAM_COMMITS]));
	if (error == 0)
		return object;
	json_decref(object);
	return NULL;
}

static json_t *counters_object(const struct counters *counters)
{
	json_t *object = json_object();
	json_t *upstreams = json_object();
	json_t *memory = json_object();
	int error = 0;

	for (size_t i = 0; i < counters->upstream_count; i++)
		error |= json_object_set_new(
			upstreams, counters->upstream[i].name,
			counters_upstream_object(counters->upstream[i].stats));
	error |= json_object_set_new(memory, "limit_bytes",
				     counters_integer(counters->memory_limit_bytes));
	error |= json_object_set_new(memory, "buffers_bytes",
				     counters_integer(counters->memory_buffers_bytes));
	error |= json_object_set_new(object, "version", json_integer(1));
	error |= json_object_set_new(object, "upstreams", upstreams);
	error |= json_object_set_new(object, "memory", memory);
	if (error == 0)
		return object;
	json_decref(object);
	return NULL;
}

char *counters_to_json(const struct counters *counters)
{
	json_t *object = counters_object(counters);
	char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(6));
	char *line = NULL;

	if (text != NULL && asprintf(&line, "%s\n", text) < 0)
		line = NULL;
	free(text);
	json_decref(object);
	return line;
}

int counters_write(int fd, const char *line, int timeout_ms)
{
	size_t left = strlen(line);

	while (left > 0) {
		/* A pipe that polls writable has room for this much. */
		size_t piece = left < PIPE_BUF ? left : PIPE_BUF;
		struct pollfd writable = { .fd = fd, .events = POLLOUT };
		ssize_t written;
		int ready = poll(&writable, 1, timeout_ms);

		if (ready == 0)
			return -ETIMEDOUT;
		if (ready < 0 && errno == EINTR)
			continue;
		written = ready < 0 ? -1 : write(fd, line, piece);
		if (written < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (written < 0)
			return -errno;
		line += written;
		left -= (size_t)written;
	}
	return 0;
}

void counters_print(const struct counters *counters, int fd, int timeout_ms)
{
	char *line = counters_to_json(counters);
	int error = line == NULL ? -ENOMEM : counters_write(fd, line, timeout_ms);

	if (error != 0)
		log_warn("the counters could not be printed: %s", strerror(-error));
	free(line);
}
