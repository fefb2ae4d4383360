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

/* What is counted and what is so now, side by side. */
static int counters_add_values(json_t *object, const struct stats *stats)
{
	int error = 0;

	for (enum stats_counter counter = 0; counter < STAT_COUNT; counter++)
		error |= json_object_set_new(object, stats_name(counter),
					     counters_integer(stats->value[counter]));
	for (enum stats_gauge gauge = 0; gauge < GAUGE_COUNT; gauge++)
		error |= json_object_set_new(object, stats_gauge_name(gauge),
					     counters_integer(stats->gauge[gauge]));
	return error;
}

static int counters_add_ratios(json_t *object, const struct stats *stats)
{
	const uint64_t *value = stats->value;
	uint64_t forced = value[STAT_UPSTREAM_FORCED_WRITES];
	int error = 0;

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
	return error;
}

static int counters_add_reasons(json_t *object, const struct stats *stats)
{
	json_t *writes = json_object();
	json_t *commits = json_object();
	int error = 0;

	for (enum write_reason reason = 0; reason < WRITE_REASON_COUNT; reason++)
		error |= json_object_set_new(
			writes, write_reason_name(reason),
			counters_integer(stats->write_reason[reason]));
	for (enum commit_reason reason = 0; reason < COMMIT_REASON_COUNT; reason++)
		error |= json_object_set_new(
			commits, commit_reason_name(reason),
			counters_integer(stats->commit_reason[reason]));
	error |= json_object_set_new(object, "upstream_write_reasons", writes);
	error |= json_object_set_new(object, "upstream_commit_reasons", commits);
	return error;
}

/* [upper bound, count]; the last bucket has no bound. */
static json_t *counters_bucket(unsigned int bucket, uint64_t count)
{
	json_t *pair = json_array();
	json_t *bound = bucket == STATS_HISTOGRAM_BUCKETS - 1
				? json_null()
				: counters_integer(UINT64_C(1) << bucket);

	if ((json_array_append_new(pair, bound) |
	     json_array_append_new(pair, counters_integer(count))) == 0)
		return pair;
	json_decref(pair);
	return NULL;
}

static json_t *counters_histogram(const uint64_t *count)
{
	json_t *pairs = json_array();
	int error = 0;

	for (unsigned int i = 0; i < STATS_HISTOGRAM_BUCKETS; i++) {
		if (count[i] > 0)
			error |= json_array_append_new(pairs,
						       counters_bucket(i, count[i]));
	}
	if (error == 0)
		return pairs;
	json_decref(pairs);
	return NULL;
}

static int counters_add_histograms(json_t *object, const struct stats *stats)
{
	json_t *histograms = json_object();
	int error = 0;

	for (enum stats_histogram i = 0; i < HISTOGRAM_COUNT; i++)
		error |= json_object_set_new(histograms, stats_histogram_name(i),
					     counters_histogram(stats->histogram[i]));
	return error | json_object_set_new(object, "histograms", histograms);
}

static json_t *counters_upstream_object(const struct stats *stats)
{
	json_t *object = json_object();
	int error = counters_add_values(object, stats);

	error |= counters_add_ratios(object, stats);
	error |= counters_add_reasons(object, stats);
	error |= counters_add_histograms(object, stats);
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
	error |= json_object_set_new(object, "version", json_integer(2));
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
