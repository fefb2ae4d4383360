/*
 * stats: counters add up, and their names can be relied on by whoever reads the output.
 */
#include "nfsgather/stats.h"

#include <ctype.h>
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
#define X(upper, lower, help) assert_name(#upper, stats_name(STAT_##upper));
	STATS_TABLE(X)
#undef X
}
END_TEST

START_TEST(names_are_unique_and_explained)
{
	for (int i = 0; i < STAT_COUNT; i++) {
		const char *name = stats_name((enum stats_counter)i);
		ck_assert_uint_gt(strlen(stats_help((enum stats_counter)i)), 10);
		for (int j = 0; j < i; j++)
			ck_assert_str_ne(name, stats_name((enum stats_counter)j));
	}
}
END_TEST

static void name_of_no_counter(void)
{
	stats_name(STAT_COUNT);
}

static void help_of_no_counter(void)
{
	stats_help(STAT_COUNT);
}

START_TEST(a_counter_that_is_none_is_a_bug)
{
	ck_assert(unit_aborts(name_of_no_counter));
	ck_assert(unit_aborts(help_of_no_counter));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stats");
	TCase *tcase = unit_case(suite, "stats");

	tcase_add_test(tcase, counters_count_alone);
	tcase_add_test(tcase, names_are_lower_case_of_the_enum);
	tcase_add_test(tcase, names_are_unique_and_explained);
	tcase_add_test(tcase, a_counter_that_is_none_is_a_bug);
	return unit_run(suite);
}
