/*
 * stats: counters add up, values fall into the right bucket, and the names can be relied
 * on by whoever reads the output.
 */
#include "nfsgather/stats.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "unit/unit.h"

START_TEST(counters_count_alone)
{
	struct stats stats = { 0 };

	stats_count(&stats, STAT_CLIENT_WRITES);
	stats_count(&stats, STAT_CLIENT_WRITES);
	stats_add(&stats, STAT_CLIENT_WRITE_BYTES, (uint64_t)5 << 32);
	for (int i = 0; i < STAT_COUNT; i++) {
		uint64_t expected = 0;
		if (i == STAT_CLIENT_WRITES)
			expected = 2;
		else if (i == STAT_CLIENT_WRITE_BYTES)
			expected = (uint64_t)5 << 32;
		ck_assert_uint_eq(stats.value[i], expected);
	}
}
END_TEST

static const struct {
	uint64_t value;
	unsigned int bucket;
} observed[] = {
	{ 0, 0 },
	{ 1, 0 },
	{ 2, 1 },
	{ 3, 2 },
	{ 4, 2 },
	{ 5, 3 },
	{ 4096, 12 },
	{ 4097, 13 },
	{ 1 << 20, 20 },
	{ UINT64_C(1) << 30, 30 },
	{ (UINT64_C(1) << 30) + 1, 31 },
	{ UINT64_C(1) << 31, 31 },
	{ (UINT64_C(1) << 31) + 1, 31 },
	{ (UINT64_C(1) << 63) + 1, 31 },
	{ UINT64_MAX, 31 },
};

START_TEST(a_value_falls_into_its_bucket)
{
	struct stats stats = { 0 };

	stats_observe(&stats, HISTOGRAM_UPSTREAM_WRITE_SIZE, observed[_i].value);
	for (unsigned int i = 0; i < HISTOGRAM_COUNT; i++)
		for (unsigned int j = 0; j < STATS_HISTOGRAM_BUCKETS; j++)
			ck_assert_uint_eq(stats.histogram[i][j],
					  i == HISTOGRAM_UPSTREAM_WRITE_SIZE &&
						  j == observed[_i].bucket);
}
END_TEST

START_TEST(buckets_add_up)
{
	struct stats stats = { 0 };

	for (uint64_t value = 5; value <= 9; value++)
		stats_observe(&stats, HISTOGRAM_CLIENT_WRITE_SIZE, value);
	ck_assert_uint_eq(stats.histogram[HISTOGRAM_CLIENT_WRITE_SIZE][2], 0);
	ck_assert_uint_eq(stats.histogram[HISTOGRAM_CLIENT_WRITE_SIZE][3], 4);
	ck_assert_uint_eq(stats.histogram[HISTOGRAM_CLIENT_WRITE_SIZE][4], 1);
}
END_TEST

static void assert_name(const char *upper, const char *name)
{
	ck_assert_uint_eq(strlen(upper), strlen(name));
	for (size_t i = 0; upper[i] != '\0'; i++)
		ck_assert_int_eq(tolower((unsigned char)upper[i]), name[i]);
}

START_TEST(names_are_lower_case_of_the_enum)
{
	ck_assert_str_eq(stats_name(STAT_CLIENT_CALLS), "client_calls");
	ck_assert_str_eq(stats_name(STAT_UPSTREAM_FORCED_WRITES),
			 "upstream_forced_writes");
	ck_assert_str_eq(stats_help(STAT_CLIENT_COMMITS), "COMMIT calls received");
	ck_assert_str_eq(stats_gauge_name(GAUGE_FILES), "files");
	ck_assert_str_eq(write_reason_help(WRITE_REASON_AGE),
			 "dirty_expire has passed");
#define X(upper, lower, help) assert_name(#upper, stats_name(STAT_##upper));
	STATS_TABLE(X)
#undef X
#define X(upper, lower, help) assert_name(#upper, stats_gauge_name(GAUGE_##upper));
	STATS_GAUGE_TABLE(X)
#undef X
#define X(upper, lower, help)                                                          \
	assert_name(#upper, stats_histogram_name(HISTOGRAM_##upper));
	STATS_HISTOGRAM_TABLE(X)
#undef X
#define X(upper, lower, help)                                                          \
	assert_name(#upper, write_reason_name(WRITE_REASON_##upper));
	WRITE_REASON_TABLE(X)
#undef X
#define X(upper, lower, help)                                                          \
	assert_name(#upper, commit_reason_name(COMMIT_REASON_##upper));
	COMMIT_REASON_TABLE(X)
#undef X
}
END_TEST

/* Names that stand side by side in one object of the output. */
struct name_list {
	const char *name[STAT_COUNT + GAUGE_COUNT];
	size_t count;
};

static void assert_new(struct name_list *list, const char *name, const char *help)
{
	ck_assert_msg(strlen(help) > 10, "%s: %s", name, help);
	for (size_t i = 0; i < list->count; i++)
		ck_assert_str_ne(name, list->name[i]);
	list->name[list->count++] = name;
}

START_TEST(names_are_unique_and_explained)
{
	struct name_list flat = { 0 };
	struct name_list histograms = { 0 };
	struct name_list write_reasons = { 0 };
	struct name_list commit_reasons = { 0 };

	for (enum stats_counter i = 0; i < STAT_COUNT; i++)
		assert_new(&flat, stats_name(i), stats_help(i));
	for (enum stats_gauge i = 0; i < GAUGE_COUNT; i++)
		assert_new(&flat, stats_gauge_name(i), stats_gauge_help(i));
	for (enum stats_histogram i = 0; i < HISTOGRAM_COUNT; i++)
		assert_new(&histograms, stats_histogram_name(i),
			   stats_histogram_help(i));
	for (enum write_reason i = 0; i < WRITE_REASON_COUNT; i++)
		assert_new(&write_reasons, write_reason_name(i), write_reason_help(i));
	for (enum commit_reason i = 0; i < COMMIT_REASON_COUNT; i++)
		assert_new(&commit_reasons, commit_reason_name(i),
			   commit_reason_help(i));
}
END_TEST

#define OF_NONE(function, none)                                                        \
	static void function##_of_none(void)                                           \
	{                                                                              \
		function(none);                                                        \
	}
OF_NONE(stats_name, STAT_COUNT)
OF_NONE(stats_help, STAT_COUNT)
OF_NONE(stats_gauge_name, GAUGE_COUNT)
OF_NONE(stats_gauge_help, GAUGE_COUNT)
OF_NONE(stats_histogram_name, HISTOGRAM_COUNT)
OF_NONE(stats_histogram_help, HISTOGRAM_COUNT)
OF_NONE(write_reason_name, WRITE_REASON_COUNT)
OF_NONE(write_reason_help, WRITE_REASON_COUNT)
OF_NONE(commit_reason_name, COMMIT_REASON_COUNT)
OF_NONE(commit_reason_help, COMMIT_REASON_COUNT)

static void observe_nothing(void)
{
	struct stats stats = { 0 };

	stats_observe(&stats, HISTOGRAM_COUNT, 1);
}

static void (*const bugs[])(void) = {
	stats_name_of_none,
	stats_help_of_none,
	stats_gauge_name_of_none,
	stats_gauge_help_of_none,
	stats_histogram_name_of_none,
	stats_histogram_help_of_none,
	write_reason_name_of_none,
	write_reason_help_of_none,
	commit_reason_name_of_none,
	commit_reason_help_of_none,
	observe_nothing,
};

START_TEST(what_is_not_counted_is_a_bug)
{
	ck_assert(unit_aborts(bugs[_i]));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stats");
	TCase *tcase = unit_case(suite, "stats");

	tcase_add_test(tcase, counters_count_alone);
	tcase_add_loop_test(tcase, a_value_falls_into_its_bucket, 0,
			    (int)(sizeof(observed) / sizeof(observed[0])));
	tcase_add_test(tcase, buckets_add_up);
	tcase_add_test(tcase, names_are_lower_case_of_the_enum);
	tcase_add_test(tcase, names_are_unique_and_explained);
	tcase_add_loop_test(tcase, what_is_not_counted_is_a_bug, 0,
			    (int)(sizeof(bugs) / sizeof(bugs[0])));
	return unit_run(suite);
}
