/*
 * counters: the line of JSON, and writing it to a reader that does not read.
 */
#include "daemon/counters.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "unit/unit.h"

static json_t *parse_line(const struct counters *counters)
{
	char *line = counters_to_json(counters);
	json_error_t error;
	json_t *object;

	ck_assert_ptr_nonnull(line);
	/* One line: its only newline is at the end. */
	ck_assert_ptr_eq(strchr(line, '\n'), line + strlen(line) - 1);
	object = json_loads(line, 0, &error);
	ck_assert_msg(object != NULL, "%s: %s", error.text, line);
	free(line);
	return object;
}

static json_int_t integer_at(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	ck_assert_msg(json_is_integer(value), "%s", key);
	return json_integer_value(value);
}

static double real_at(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	ck_assert_msg(json_is_real(value), "%s", key);
	return json_real_value(value);
}

START_TEST(every_counter_has_its_value)
{
	struct stats stats[2] = { 0 };
	const struct counters_upstream upstream[] = {
		{ "a", &stats[0] },
		{ "b", &stats[1] },
	};
	const struct counters counters = {
		.upstream = upstream,
		.upstream_count = 2,
		.memory_limit_bytes = 64 << 20,
		.memory_buffers_bytes = 4096,
	};
	json_t *object;
	json_t *upstreams;

	for (unsigned int i = 0; i < STAT_COUNT; i++) {
		stats[0].value[i] = i + 1;
		stats[1].value[i] = UINT64_MAX;
	}
	object = parse_line(&counters);
	ck_assert_int_eq(integer_at(object, "version"), 2);
	ck_assert_int_eq(integer_at(json_object_get(object, "memory"), "limit_bytes"),
			 64 << 20);
	ck_assert_int_eq(integer_at(json_object_get(object, "memory"), "buffers_bytes"),
			 4096);
	upstreams = json_object_get(object, "upstreams");
	ck_assert_uint_eq(json_object_size(upstreams), 2);
	for (unsigned int i = 0; i < STAT_COUNT; i++) {
		const char *name = stats_name((enum stats_counter)i);

		ck_assert_int_eq(integer_at(json_object_get(upstreams, "a"), name),
				 i + 1);
		ck_assert_int_eq(integer_at(json_object_get(upstreams, "b"), name),
				 INT64_MAX);
	}
	json_decref(object);
}
END_TEST

/* The object of one upstream with these counters; the caller gives back *whole. */
static const json_t *parse_upstream(const struct stats *stats, json_t **whole)
{
	const struct counters_upstream upstream = { "a", stats };
	const struct counters counters = { .upstream = &upstream, .upstream_count = 1 };
	const json_t *object;

	*whole = parse_line(&counters);
	object = json_object_get(json_object_get(*whole, "upstreams"), "a");
	ck_assert(json_is_object(object));
	return object;
}

START_TEST(every_gauge_and_reason_has_its_value)
{
	struct stats stats = { 0 };
	const json_t *object;
	const json_t *writes;
	const json_t *commits;
	json_t *whole;

	for (unsigned int i = 0; i < GAUGE_COUNT; i++)
		stats.gauge[i] = 100 + i;
	for (unsigned int i = 0; i < WRITE_REASON_COUNT; i++)
		stats.write_reason[i] = 200 + i;
	for (unsigned int i = 0; i < COMMIT_REASON_COUNT; i++)
		stats.commit_reason[i] = 300 + i;
	stats.commit_reason[0] = 0;
	object = parse_upstream(&stats, &whole);
	for (unsigned int i = 0; i < GAUGE_COUNT; i++)
		ck_assert_int_eq(integer_at(object,
					    stats_gauge_name((enum stats_gauge)i)),
				 100 + i);
	writes = json_object_get(object, "upstream_write_reasons");
	ck_assert_uint_eq(json_object_size(writes), WRITE_REASON_COUNT);
	for (unsigned int i = 0; i < WRITE_REASON_COUNT; i++)
		ck_assert_int_eq(integer_at(writes,
					    write_reason_name((enum write_reason)i)),
				 200 + i);
	commits = json_object_get(object, "upstream_commit_reasons");
	ck_assert_uint_eq(json_object_size(commits), COMMIT_REASON_COUNT);
	/* A reason that was none yet is there too. */
	ck_assert_int_eq(integer_at(commits, commit_reason_name(0)), 0);
	for (unsigned int i = 1; i < COMMIT_REASON_COUNT; i++)
		ck_assert_int_eq(integer_at(commits,
					    commit_reason_name((enum commit_reason)i)),
				 300 + i);
	json_decref(whole);
}
END_TEST

static void assert_histogram(const json_t *histograms, enum stats_histogram histogram,
			     const char *expected)
{
	const json_t *pairs =
		json_object_get(histograms, stats_histogram_name(histogram));
	char *text = json_dumps(pairs, JSON_COMPACT);

	ck_assert_ptr_nonnull(text);
	ck_assert_str_eq(text, expected);
	free(text);
}

START_TEST(histograms_show_buckets_that_hold_something)
{
	struct stats stats = { 0 };
	const json_t *histograms;
	json_t *whole;

	stats_observe(&stats, HISTOGRAM_CLIENT_WRITE_SIZE, 0);
	stats_observe(&stats, HISTOGRAM_CLIENT_WRITE_SIZE, 4096);
	stats_observe(&stats, HISTOGRAM_CLIENT_WRITE_SIZE, 2049);
	stats_observe(&stats, HISTOGRAM_CLIENT_WRITE_SIZE, 4097);
	stats_observe(&stats, HISTOGRAM_UPSTREAM_WRITE_SIZE, 1 << 30);
	stats_observe(&stats, HISTOGRAM_UPSTREAM_WRITE_SIZE, UINT64_MAX);
	stats.histogram[HISTOGRAM_CLIENT_WRITES_PER_COMMIT][3] = UINT64_MAX;
	histograms = json_object_get(parse_upstream(&stats, &whole), "histograms");
	ck_assert_uint_eq(json_object_size(histograms), HISTOGRAM_COUNT);
	assert_histogram(histograms, HISTOGRAM_CLIENT_WRITE_SIZE,
			 "[[1,1],[4096,2],[8192,1]]");
	assert_histogram(histograms, HISTOGRAM_UPSTREAM_WRITE_SIZE,
			 "[[1073741824,1],[null,1]]");
	assert_histogram(histograms, HISTOGRAM_CLIENT_WRITES_PER_COMMIT,
			 "[[8,9223372036854775807]]");
	assert_histogram(histograms, HISTOGRAM_UPSTREAM_WRITES_PER_COMMIT, "[]");
	json_decref(whole);
}
END_TEST

START_TEST(ratios_are_null_until_they_mean_something)
{
	struct stats stats = { 0 };
	const struct counters_upstream upstream = { "a", &stats };
	const struct counters counters = { .upstream = &upstream, .upstream_count = 1 };
	json_t *object = parse_line(&counters);
	json_t *a = json_object_get(json_object_get(object, "upstreams"), "a");

	ck_assert(json_is_null(json_object_get(a, "client_bytes_per_forced_write")));
	ck_assert(json_is_null(json_object_get(a, "client_writes_per_forced_write")));
	ck_assert(json_is_null(json_object_get(a, "client_write_commit_ratio")));
	ck_assert(json_is_null(json_object_get(a, "write_commit_ratio")));
	json_decref(object);

	stats.value[STAT_CLIENT_WRITE_BYTES] = 1000;
	stats.value[STAT_CLIENT_WRITES] = 10;
	stats.value[STAT_CLIENT_COMMITS] = 5;
	stats.value[STAT_UPSTREAM_FORCED_WRITES] = 4;
	stats.value[STAT_UPSTREAM_WRITES] = 6;
	stats.value[STAT_UPSTREAM_COMMITS] = 3;
	object = parse_line(&counters);
	a = json_object_get(json_object_get(object, "upstreams"), "a");
	ck_assert_double_eq(real_at(a, "client_bytes_per_forced_write"), 250);
	ck_assert_double_eq(real_at(a, "client_writes_per_forced_write"), 2.5);
	ck_assert_double_eq(real_at(a, "client_write_commit_ratio"), 2);
	ck_assert_double_eq(real_at(a, "write_commit_ratio"), 2);
	json_decref(object);
}
END_TEST

static char *long_line(size_t length)
{
	char *line = malloc(length + 1);

	ck_assert_ptr_nonnull(line);
	memset(line, 'x', length);
	line[length] = '\0';
	return line;
}

START_TEST(a_line_longer_than_a_piece_arrives_whole)
{
	char *line = long_line(10001);
	char got[10002];
	size_t length = 0;
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(counters_write(ends[1], line, 1000), 0);
	close(ends[1]);
	for (;;) {
		ssize_t count = read(ends[0], got + length, sizeof(got) - length);

		ck_assert_int_ge(count, 0);
		if (count == 0)
			break;
		length += (size_t)count;
	}
	ck_assert_uint_eq(length, 10001);
	close(ends[0]);
	free(line);
}
END_TEST

START_TEST(nobody_waits_for_a_pipe_without_a_reader)
{
	char *line = long_line(1 << 20);
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(counters_write(ends[1], line, 1), -ETIMEDOUT);
	signal(SIGPIPE, SIG_IGN);
	close(ends[0]);
	ck_assert_int_eq(counters_write(ends[1], line, 1), -EPIPE);
	close(ends[1]);
	ck_assert_int_eq(counters_write(ends[1], line, 1), -EBADF);
	free(line);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("counters");
	TCase *json = unit_case(suite, "json");
	TCase *writing = unit_case(suite, "writing");

	tcase_add_test(json, every_counter_has_its_value);
	tcase_add_test(json, every_gauge_and_reason_has_its_value);
	tcase_add_test(json, histograms_show_buckets_that_hold_something);
	tcase_add_test(json, ratios_are_null_until_they_mean_something);
	tcase_add_test(writing, a_line_longer_than_a_piece_arrives_whole);
	tcase_add_test(writing, nobody_waits_for_a_pipe_without_a_reader);
	return unit_run(suite);
}
