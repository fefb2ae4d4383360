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
	ck_assert_int_eq(integer_at(object, "version"), 1);
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
	tcase_add_test(json, ratios_are_null_until_they_mean_something);
	tcase_add_test(writing, a_line_longer_than_a_piece_arrives_whole);
	tcase_add_test(writing, nobody_waits_for_a_pipe_without_a_reader);
	return unit_run(suite);
}
