/*
 * config: thresholds and times of the engines. Which section's word counts, what the
 * defaults are, what cannot be together, and the exact words for each fault.
 */
#include <stdio.h>
#include <string.h>

#include "daemon/config_draft.h"
#include "unit/config_text.h"
#include "unit/unit.h"

#define MIB(n) ((uint64_t)(n) << 20)
/* With this much, both together can be at most 439M for one upstream, 215M for two. */
#define MEMORY "[nfsgather]\nmemory = 1G\n"
#define SECOND "[upstream b]\nserver = nas2\nlisten = 127.0.0.1:2050\n"

static const struct config_upstream *upstream_named(const char *name)
{
	const struct config_upstream *upstream;

	TAILQ_FOREACH(upstream, &config.upstreams, link)
		if (strcmp(upstream->name, name) == 0)
			return upstream;
	ck_abort_msg("no upstream %s", name);
	return NULL;
}

static void expect_sizes(const char *name, uint64_t background, uint64_t dirty,
			 uint64_t retained)
{
	const struct config_upstream *upstream = upstream_named(name);

	ck_assert_uint_eq(upstream->dirty_background_bytes, background);
	ck_assert_uint_eq(upstream->dirty_bytes, dirty);
	ck_assert_uint_eq(upstream->retained_bytes, retained);
}

static void expect_times(const char *name, uint64_t plug_max_us,
			 uint64_t dirty_expire_us, uint64_t retained_expire_us)
{
	const struct config_upstream *upstream = upstream_named(name);

	ck_assert_uint_eq(upstream->plug_max_us, plug_max_us);
	ck_assert_uint_eq(upstream->dirty_expire_us, dirty_expire_us);
	ck_assert_uint_eq(upstream->retained_expire_us, retained_expire_us);
}

START_TEST(defaults_share_what_an_upstream_has)
{
	expect_valid(MEMORY GOOD);
	expect_sizes("a", MIB(73), MIB(146), MIB(293));
	expect_times("a", 2000, 1000000, 5000000);
	config_free(&config);
	expect_valid(MEMORY "[writeback]\n[commit]\n" GOOD SECOND);
	expect_sizes("a", MIB(71) / 2, MIB(71), MIB(144));
	expect_sizes("b", MIB(71) / 2, MIB(71), MIB(144));
	config_free(&config);
	expect_valid("[nfsgather]\nmemory = 64M\n" GOOD);
	expect_sizes("a", MIB(3), MIB(6), MIB(13));
	config_free(&config);
	/* Whatever the machine has. */
	expect_valid(GOOD);
	ck_assert_uint_ge(first_upstream()->dirty_background_bytes, MIB(1));
	config_free(&config);
}
END_TEST

START_TEST(common_sections_are_for_all)
{
	expect_valid(MEMORY "[writeback]\n"
			    "dirty_background_bytes = 4M\n"
			    "dirty_bytes = 64M\n"
			    "dirty_expire = 500ms\n"
			    "plug_max = 250us\n"
			    "[commit]\n"
			    "retained_bytes = 100M\n"
			    "retained_expire = 2min\n" GOOD SECOND);
	for (const char *name = "a"; name != NULL; name = *name == 'a' ? "b" : NULL) {
		expect_sizes(name, MIB(4), MIB(64), MIB(100));
		expect_times(name, 250, 500000, 120000000);
	}
	config_free(&config);
}
END_TEST

/* Also when it stands before the common one. */
START_TEST(an_upstream_can_say_otherwise)
{
	expect_valid(MEMORY GOOD "dirty_background_bytes = 1M\n"
				 "dirty_bytes = 2M\n"
				 "dirty_expire = 3s\n"
				 "plug_max = 4ms\n"
				 "retained_bytes = 5M\n"
				 "retained_expire = 6s\n"
				 "[writeback]\n"
				 "dirty_bytes = 64M\n"
				 "plug_max = 0\n"
				 "[commit]\n"
				 "retained_expire = 1ms\n" SECOND);
	expect_sizes("a", MIB(1), MIB(2), MIB(5));
	expect_times("a", 4000, 3000000, 6000000);
	expect_sizes("b", MIB(32), MIB(64), MIB(144));
	expect_times("b", 0, 1000000, 1000);
	config_free(&config);
}
END_TEST

START_TEST(limits_are_taken)
{
	expect_valid(MEMORY GOOD "dirty_bytes = 0\n"
				 "retained_bytes = 439M\n"
				 "plug_max = 1s\n"
				 "dirty_expire = 60s\n"
				 "retained_expire = 10min\n");
	expect_sizes("a", 0, 0, MIB(439));
	expect_times("a", 1000000, 60000000, 600000000);
	config_free(&config);
	expect_valid(MEMORY GOOD "dirty_background_bytes = 400M\ndirty_bytes = 400M\n"
				 "retained_bytes = 0\ndirty_expire = 0\n");
	expect_sizes("a", MIB(400), MIB(400), 0);
	expect_times("a", 2000, 0, 5000000);
	config_free(&config);
}
END_TEST

#define NOT_A_SIZE "not a size in bytes or with unit K, M, G or T, as in 512M"
#define NOT_PLUG_MAX "not a time from 0 to 1s, as in 500us or 2ms"
#define NOT_DIRTY_EXPIRE "not a time from 0 to 60s, as in 500ms or 1s"
#define NOT_RETAINED_EXPIRE "not a time from 1ms to 10min, as in 500ms or 5s"

static const struct {
	const char *section; /* besides [upstream NAME] */
	const char *key;
	const char *value;
	const char *reason;
} bad_values[] = {
	{ "writeback", "dirty_background_bytes", "8MB", NOT_A_SIZE },
	{ "writeback", "dirty_background_bytes", "", NOT_A_SIZE },
	{ "writeback", "dirty_bytes", "-1", NOT_A_SIZE },
	{ "writeback", "dirty_bytes", "1.5G", NOT_A_SIZE },
	{ "commit", "retained_bytes", "lots", NOT_A_SIZE },
	{ "writeback", "plug_max", "2", NOT_PLUG_MAX },
	{ "writeback", "plug_max", "1001ms", NOT_PLUG_MAX },
	{ "writeback", "plug_max", "-1ms", NOT_PLUG_MAX },
	{ "writeback", "dirty_expire", "61s", NOT_DIRTY_EXPIRE },
	{ "writeback", "dirty_expire", "1m", NOT_DIRTY_EXPIRE },
	{ "commit", "retained_expire", "0", NOT_RETAINED_EXPIRE },
	{ "commit", "retained_expire", "999us", NOT_RETAINED_EXPIRE },
	{ "commit", "retained_expire", "11min", NOT_RETAINED_EXPIRE },
	{ "commit", "retained_expire", "5 s", NOT_RETAINED_EXPIRE },
};

START_TEST(bad_values_are_named)
{
	char text[512];
	char expected[512];

	snprintf(text, sizeof(text), GOOD "%s = %s\n", bad_values[_i].key,
		 bad_values[_i].value);
	snprintf(expected, sizeof(expected), "f:4: [upstream a] %s = %s: %s\n",
		 bad_values[_i].key, bad_values[_i].value, bad_values[_i].reason);
	expect_faults(text, expected);
	snprintf(text, sizeof(text), GOOD "[%s]\n%s = %s\n", bad_values[_i].section,
		 bad_values[_i].key, bad_values[_i].value);
	snprintf(expected, sizeof(expected), "f:5: [%s] %s = %s: %s\n",
		 bad_values[_i].section, bad_values[_i].key, bad_values[_i].value,
		 bad_values[_i].reason);
	expect_faults(text, expected);
}
END_TEST

START_TEST(each_section_has_its_keys)
{
	expect_faults(
		GOOD "[writeback]\nretained_bytes = 1M\nport = 1\n"
		     "[commit]\nplug_max = 1ms\n",
		"f:5: [writeback]: unknown key \"retained_bytes\"; allowed: "
		"dirty_background_bytes, dirty_bytes, dirty_expire, plug_max\n"
		"f:6: [writeback]: unknown key \"port\"; allowed: "
		"dirty_background_bytes, dirty_bytes, dirty_expire, plug_max\n"
		"f:8: [commit]: unknown key \"plug_max\"; allowed: retained_bytes, "
		"retained_expire\n");
	expect_faults("[nfsgather]\ndirty_bytes = 1M\n" GOOD,
		      "f:2: [nfsgather]: unknown key \"dirty_bytes\"; allowed: "
		      "log_level, memory\n");
	expect_faults(GOOD "[commit]\nretained_bytes = 1M\nretained_bytes = 2M\n",
		      "f:6: [commit] retained_bytes = 2M: given twice; the first is at "
		      "line 5\n");
	expect_faults(GOOD "[writeback]\nplug_max = 1ms\n  2ms\n",
		      "f:5: [writeback]: plug_max goes on in an indented line; only "
		      "listen, exports and clients may, other keys start in the first "
		      "column\n");
}
END_TEST

START_TEST(background_is_at_most_dirty_bytes)
{
	expect_faults(MEMORY GOOD "dirty_background_bytes = 65M\ndirty_bytes = 64M\n",
		      "f:6: [upstream a] dirty_background_bytes = 65M: more than "
		      "dirty_bytes, which is 64M\n");
	expect_faults(MEMORY "[writeback]\ndirty_background_bytes = 147M\n" GOOD,
		      "f:4: [writeback] dirty_background_bytes = 147M: more than "
		      "dirty_bytes, which is 146M by default\n");
	/* The one for fewer upstreams is to blame. */
	expect_faults(MEMORY "[writeback]\ndirty_background_bytes = 64M\n" GOOD SECOND
			     "dirty_bytes = 1000K\n",
		      "f:11: [upstream b] dirty_bytes = 1000K: less than "
		      "dirty_background_bytes, which is 64M\n");
	expect_faults(MEMORY GOOD "dirty_background_bytes = 64M\n"
				  "[writeback]\ndirty_bytes = 32M\n" SECOND,
		      "f:6: [upstream a] dirty_background_bytes = 64M: more than "
		      "dirty_bytes, which is 32M\n");
}
END_TEST

#define TOGETHER(size)                                                                 \
	"; with this memory and number of upstreams both together can be at most " size

START_TEST(dirty_and_retained_leave_admission_its_part)
{
	expect_valid(MEMORY GOOD "dirty_bytes = 239M\nretained_bytes = 200M\n");
	config_free(&config);
	expect_faults(
		MEMORY GOOD "dirty_bytes = 239M\nretained_bytes = 204801K\n",
		"f:6: [upstream a] dirty_bytes = 239M: too much with retained_bytes, "
		"which is 204801K" TOGETHER("439M") "\n");
	expect_faults(
		MEMORY "[commit]\nretained_bytes = 294M\n" GOOD,
		"f:4: [commit] retained_bytes = 294M: too much with dirty_bytes, which "
		"is 146M by default" TOGETHER("439M") "\n");
	expect_faults(MEMORY GOOD "dirty_bytes = 18446744073709551615\n"
				  "retained_bytes = 18446744073709551615\n",
		      "f:6: [upstream a] dirty_bytes = 18446744073709551615 bytes: too "
		      "much with retained_bytes, which is 18446744073709551615 "
		      "bytes" TOGETHER("439M") "\n");
	expect_faults(MEMORY GOOD "dirty_bytes = 440M\nretained_bytes = 0\n",
		      "f:6: [upstream a] dirty_bytes = 440M: too much with "
		      "retained_bytes, which is 0 bytes" TOGETHER("439M") "\n");
	/* Once, though it is true of both. */
	expect_faults(
		MEMORY "[writeback]\ndirty_bytes = 72M\n" GOOD SECOND,
		"f:4: [writeback] dirty_bytes = 72M: too much with retained_bytes, "
		"which is 144M by default" TOGETHER("215M") "\n");
	/* Each for itself, and the one that is fine not at all. */
	expect_faults(
		MEMORY "[commit]\nretained_bytes = 100M\n" GOOD "dirty_bytes = 116M\n"
		       "[upstream c]\nserver = nas3\nlisten = 127.0.0.1:2051\n"
		       "dirty_bytes = 40M\nretained_bytes = 101M\n" SECOND
		       "dirty_bytes = 120M\n",
		"f:8: [upstream a] dirty_bytes = 116M: too much with retained_bytes, "
		"which is 100M" TOGETHER(
			"141M") "\n"
				"f:17: [upstream b] dirty_bytes = 120M: too much with retained_bytes, "
				"which is 100M" TOGETHER("141M") "\n");
}
END_TEST

START_TEST(what_is_no_good_is_not_held_against_the_rest)
{
	/* By default dirty_bytes would be less than this. */
	expect_faults(MEMORY GOOD
		      "dirty_background_bytes = 200M\ndirty_bytes = 300MB\n",
		      "f:7: [upstream a] dirty_bytes = 300MB: " NOT_A_SIZE "\n");
	expect_faults(MEMORY "[writeback]\ndirty_bytes = x\n" GOOD
			     "retained_bytes = 400M\n",
		      "f:4: [writeback] dirty_bytes = x: " NOT_A_SIZE "\n");
	/* Nothing can be said about parts of a memory that is too little, or none. */
	expect_faults("[nfsgather]\nmemory = 1M\n" GOOD "dirty_bytes = 1G\n",
		      "f:2: [nfsgather] memory = 1M: too little; at least 64M for 1 "
		      "upstream\n");
	expect_faults("[nfsgather]\nmemory = lots\n" GOOD "dirty_bytes = 1G\n",
		      "f:2: [nfsgather] memory = lots: " NOT_A_SIZE "\n");
	expect_faults("[writeback]\ndirty_bytes = 1G\n",
		      "f: no [upstream NAME] section\n");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("config_engine");
	TCase *values = unit_case(suite, "values");
	TCase *relations = unit_case(suite, "relations");

	tcase_add_test(values, defaults_share_what_an_upstream_has);
	tcase_add_test(values, common_sections_are_for_all);
	tcase_add_test(values, an_upstream_can_say_otherwise);
	tcase_add_test(values, limits_are_taken);
	tcase_add_loop_test(values, bad_values_are_named, 0,
			    (int)(sizeof(bad_values) / sizeof(bad_values[0])));
	tcase_add_test(values, each_section_has_its_keys);
	tcase_add_test(relations, background_is_at_most_dirty_bytes);
	tcase_add_test(relations, dirty_and_retained_leave_admission_its_part);
	tcase_add_test(relations, what_is_no_good_is_not_held_against_the_rest);
	return unit_run(suite);
}
