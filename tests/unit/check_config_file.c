/*
 * config_file: sections, lines and what is wrong with them, with the exact words; and the
 * example that is delivered.
 */
#include "daemon/config_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "unit/config_text.h"
#include "unit/unit.h"

#define SECTIONS "allowed: [nfsgather], [writeback], [commit], [upstream NAME]\n"

START_TEST(sections_are_judged)
{
	expect_faults("[upsteam a]\nserver = nas\n" GOOD,
		      "f:1: [upsteam a]: unknown section; " SECTIONS);
	expect_faults("[sync]\n" GOOD, "f:1: [sync]: unknown section; " SECTIONS);
	expect_faults("[commit b]\n" GOOD,
		      "f:1: [commit b]: unknown section; " SECTIONS);
	expect_faults(
		"[upstream]\n" GOOD,
		"f:1: [upstream]: the name after upstream is not 1 to 32 characters "
		"from A-Z a-z 0-9 _ . -\n");
	expect_faults("[upstream a b]\n" GOOD,
		      "f:1: [upstream a b]: the name after upstream is not 1 to 32 "
		      "characters from A-Z a-z 0-9 _ . -\n");
	expect_faults(
		"[upstream 123456789012345678901234567890123]\n" GOOD,
		"f:1: [upstream 123456789012345678901234567890123]: the name after "
		"upstream is not 1 to 32 characters from A-Z a-z 0-9 _ . -\n");
	expect_faults("[upstreams]\n" GOOD,
		      "f:1: [upstreams]: unknown section; " SECTIONS);
}
END_TEST

START_TEST(section_lines_are_judged)
{
	expect_faults(GOOD "[upstream b\nserver = x\n",
		      "f:4: a section's name without ]\n");
	expect_faults(GOOD "[upstream b] server = x\n",
		      "f:4: text after a section's ]\n");
	expect_faults("server = nas\n" GOOD,
		      "f:1: key \"server\" before the first section\n");
	expect_faults("hello\n" GOOD, "f:1: neither [SECTION] nor KEY = VALUE\n");
}
END_TEST

START_TEST(a_section_comes_once)
{
	expect_faults(
		GOOD GOOD "[nfsgather]\n[nfsgather]\n",
		"f:4: [upstream a]: a second section of this name; the first is at "
		"line 1\n"
		"f:8: [nfsgather]: a second section of this name; the first is at "
		"line 7\n");
	expect_faults(
		GOOD "[commit]\n[writeback]\n[commit]\n[writeback]\n",
		"f:6: [commit]: a second section of this name; the first is at line 4\n"
		"f:7: [writeback]: a second section of this name; the first is at "
		"line 5\n");
	/* A name may be that of another kind of section. */
	expect_valid("[commit]\n[upstream commit]\nserver = nas\n"
		     "listen = 127.0.0.1:2049\n");
	config_free(&config);
}
END_TEST

START_TEST(faults_come_in_order_of_lines)
{
	expect_faults("[nfsgather]\nmemory = 1M\nlog_level = x\n"
		      "[upstream a]\nport = 0\nserver = nas\n",
		      "f:2: [nfsgather] memory = 1M: too little; at least 64M for "
		      "1 upstream\n"
		      "f:3: [nfsgather] log_level = x: not one of error, warn, info, "
		      "debug or trace\n"
		      "f:4: [upstream a]: listen is missing, as in listen = "
		      "127.0.0.1:2049\n"
		      "f:5: [upstream a] port = 0: not a number from 1 to 65535\n");
}
END_TEST

START_TEST(long_lines_are_refused_not_cut)
{
	char text[1024];
	char *end;

	/* The longest line inih takes by default is 200 with its end; 198 without. */
	strcpy(text, GOOD "exports = /");
	end = text + strlen(text);
	memset(end, 'x', 198 - strlen("exports = /"));
	strcpy(end + 198 - strlen("exports = /"), "\n");
	expect_valid(text);
	ck_assert_uint_eq(strlen(first_upstream()->exports[0]), 198 - 10);
	config_free(&config);

	strcpy(end + 199 - strlen("exports = /") - 1, "x\nconnections = 0\n");
	expect_faults(text,
		      "f:4: [upstream a]: longer than 198 characters; a list can go "
		      "on in the next line if that starts with a blank\n"
		      "f:5: [upstream a] connections = 0: not a number from 1 to "
		      "16\n");
}
END_TEST

START_TEST(long_values_are_shown_shortened)
{
	char text[512] = GOOD "register = ";

	memset(text + strlen(text), 'y', 150);
	expect_faults(text, "f:4: [upstream a] register = "
			    "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"
			    "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy...: not yes or no\n");
}
END_TEST

START_TEST(bytes_of_value_zero_are_refused)
{
	static const char text[] = GOOD "register = yes\0no\n";

	expect_faults_of(text, sizeof(text) - 1,
			 "f:4: [upstream a]: holds a byte of value 0\n");
}
END_TEST

START_TEST(an_indented_first_key_is_a_key)
{
	expect_valid("[upstream a]\n  server = nas\nlisten = 127.0.0.1:2049\n");
	ck_assert_str_eq(first_upstream()->server, "nas");
	config_free(&config);
}
END_TEST

START_TEST(files_that_cannot_be_read_are_named)
{
	ck_assert_int_eq(config_file_load("/nonexistent/f", &config, &faults), -EINVAL);
	ck_assert_uint_eq(faults.count, 1);
	ck_assert_str_eq(faults.fault[0].text,
			 "/nonexistent/f: No such file or directory");
	config_fault_list_fini(&faults);
	ck_assert_int_eq(config_file_load("/", &config, &faults), -EINVAL);
	ck_assert_uint_ge(faults.count, 1);
	ck_assert_str_eq(faults.fault[0].text, "/: Is a directory");
	config_fault_list_fini(&faults);
}
END_TEST

START_TEST(the_example_is_valid)
{
	const char *source = getenv("SRCDIR");
	char path[4096];

	snprintf(path, sizeof(path), "%s/conf/nfsgather.conf",
		 source == NULL ? "." : source);
	ck_assert_int_eq(config_file_load(path, &config, &faults), 0);
	ck_assert_uint_eq(config.upstream_count, 1);
	config_free(&config);
}
END_TEST

/*
 * The example shows each key with its default, commented out: with those lines made
 * real it must still be valid, and no key may be missing.
 */
START_TEST(the_example_shows_every_key)
{
	static const char *const keys[] = { "log_level",
					    "memory",
					    "server",
					    "port",
					    "mount_port",
					    "listen",
					    "exports",
					    "clients",
					    "connections",
					    "register",
					    "dirty_background_bytes",
					    "dirty_bytes",
					    "dirty_expire",
					    "plug_max",
					    "retained_bytes",
					    "retained_expire" };
	const char *source = getenv("SRCDIR");
	char path[4096];
	char line[256];
	char *text = NULL;
	size_t text_bytes;
	FILE *example;
	FILE *stream;

	snprintf(path, sizeof(path), "%s/conf/nfsgather.conf",
		 source == NULL ? "." : source);
	example = fopen(path, "r");
	ck_assert_ptr_nonnull(example);
	stream = open_memstream(&text, &text_bytes);
	while (fgets(line, sizeof(line), example) != NULL) {
		/* Prose starts with "# ", a key that is commented out with "#key". */
		bool key = line[0] == '#' && line[1] >= 'a' && line[1] <= 'z';

		fputs(key ? line + 1 : line, stream);
	}
	fclose(example);
	fclose(stream);
	expect_valid(text);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		snprintf(line, sizeof(line), "\n%s = ", keys[i]);
		ck_assert_msg(strstr(text, line) != NULL, "no %s", keys[i]);
	}
	free(text);
	config_free(&config);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("config_file");
	TCase *lines = unit_case(suite, "lines");
	TCase *files = unit_case(suite, "files");

	tcase_add_test(lines, sections_are_judged);
	tcase_add_test(lines, section_lines_are_judged);
	tcase_add_test(lines, a_section_comes_once);
	tcase_add_test(lines, faults_come_in_order_of_lines);
	tcase_add_test(lines, long_lines_are_refused_not_cut);
	tcase_add_test(lines, long_values_are_shown_shortened);
	tcase_add_test(lines, bytes_of_value_zero_are_refused);
	tcase_add_test(lines, an_indented_first_key_is_a_key);
	tcase_add_test(files, files_that_cannot_be_read_are_named);
	tcase_add_test(files, the_example_is_valid);
	tcase_add_test(files, the_example_shows_every_key);
	return unit_run(suite);
}
