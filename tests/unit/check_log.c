/*
 * log: levels, the shape of a line whatever peers put into it, a reader that reads
 * nothing, and the limit on lines about one peer, with a clock that the test turns.
 */
#include "nfsgather/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "unit/unit.h"

static FILE *captured;
static int saved_stderr = -1;

static void capture_start(void)
{
	captured = tmpfile();
	ck_assert_ptr_nonnull(captured);
	saved_stderr = dup(STDERR_FILENO);
	ck_assert_int_ge(saved_stderr, 0);
	ck_assert_int_ge(dup2(fileno(captured), STDERR_FILENO), 0);
	unsetenv("JOURNAL_STREAM");
	log_set_level(LOG_LEVEL_INFO);
}

static void capture_stop(void)
{
	ck_assert_int_ge(dup2(saved_stderr, STDERR_FILENO), 0);
	close(saved_stderr);
	fclose(captured);
}

/* All that was written since the last call. */
static const char *captured_text(void)
{
	static char text[16 * 1024];

	rewind(captured);
	size_t len = fread(text, 1, sizeof(text) - 1, captured);
	ck_assert_int_eq(ferror(captured), 0);
	text[len] = '\0';
	ck_assert_int_eq(ftruncate(fileno(captured), 0), 0);
	rewind(captured);
	return text;
}

static unsigned int captured_lines(void)
{
	unsigned int lines = 0;

	for (const char *at = captured_text(); *at != '\0'; at++)
		lines += *at == '\n';
	return lines;
}

START_TEST(a_line_is_level_and_message)
{
	log_error("upstream %s: %d", "a", 7);
	ck_assert_str_eq(captured_text(), "error upstream a: 7\n");
	log_warn("x");
	log_info("y");
	ck_assert_str_eq(captured_text(), "warn x\ninfo y\n");
}
END_TEST

START_TEST(levels_below_the_threshold_are_silent)
{
	static const enum log_level all[] = { LOG_LEVEL_ERROR, LOG_LEVEL_WARN,
					      LOG_LEVEL_INFO, LOG_LEVEL_DEBUG,
					      LOG_LEVEL_TRACE };

	for (unsigned int i = 0; i < 5; i++) {
		log_set_level(all[i]);
		for (unsigned int j = 0; j < 5; j++) {
			log_write(all[j], "x");
			ck_assert_uint_eq(captured_lines(), j <= i);
			ck_assert_int_eq(log_enabled(all[j]), j <= i);
		}
	}
}
END_TEST

static int evaluated(int *times)
{
	return ++*times;
}

START_TEST(silent_debug_lines_cost_no_arguments)
{
	int times = 0;

	log_debug("%d", evaluated(&times));
	log_trace("%d", evaluated(&times));
	ck_assert_int_eq(times, 0);
	log_set_level(LOG_LEVEL_TRACE);
	log_debug("%d", evaluated(&times));
	log_trace("%d", evaluated(&times));
	ck_assert_str_eq(captured_text(), "debug 1\ntrace 2\n");
}
END_TEST

START_TEST(one_event_is_one_line_of_printable_bytes)
{
	log_error("name \"%s\"", "a\nerror forged\r\x1b[1m\x7f\t\xc3\xa4");
	ck_assert_str_eq(captured_text(), "error name \"a?error forged??[1m????\"\n");
	/* To some terminals 0x9b is what ESC [ is. */
	log_error("~ \x80\x9b"
		  "31m\xc2\x9b"
		  "2J\xff");
	ck_assert_str_eq(captured_text(), "error ~ ??31m??2J?\n");
}
END_TEST

START_TEST(a_long_message_is_cut_and_says_so)
{
	char message[5000];

	memset(message, 'm', sizeof(message) - 1);
	message[sizeof(message) - 1] = '\0';
	log_error("%s", message);
	const char *text = captured_text();
	size_t len = strlen(text);
	ck_assert_uint_gt(len, 1000);
	ck_assert_uint_le(len, 2048);
	ck_assert_str_eq(text + len - 5, "m...\n");
	ck_assert_ptr_eq(strchr(text, '\n'), text + len - 1);
}
END_TEST

START_TEST(the_longest_whole_message_is_not_cut)
{
	char message[2048];

	/* Grows until it is cut: the one before must have come out whole. */
	for (size_t len = 1900; len < sizeof(message); len++) {
		memset(message, 'm', len);
		message[len] = '\0';
		log_error("%s", message);
		const char *text = captured_text();
		if (strstr(text, "...") != NULL) {
			ck_assert_uint_gt(len, 2000);
			return;
		}
		ck_assert_uint_eq(strlen(text), strlen("error ") + len + 1);
	}
	ck_abort_msg("never cut");
}
END_TEST

START_TEST(the_journal_gets_syslog_levels)
{
	struct stat st;
	char stream[64];

	log_set_level(LOG_LEVEL_TRACE);
	ck_assert_int_eq(fstat(STDERR_FILENO, &st), 0);
	snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)st.st_dev,
		 (uintmax_t)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	log_error("a");
	log_warn("b");
	log_info("c");
	log_debug("d");
	log_trace("e");
	ck_assert_str_eq(captured_text(), "<3>a\n<4>b\n<6>c\n<7>d\n<7>e\n");

	/* Inherited from a parent whose standard error went elsewhere. */
	snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)st.st_dev,
		 (uintmax_t)st.st_ino + 1);
	setenv("JOURNAL_STREAM", stream, 1);
	log_error("a");
	setenv("JOURNAL_STREAM", "nonsense", 1);
	log_error("b");
	ck_assert_str_eq(captured_text(), "error a\nerror b\n");
}
END_TEST

START_TEST(writing_keeps_errno)
{
	ck_assert_int_ge(dup2(saved_stderr, STDERR_FILENO), 0);
	close(STDERR_FILENO);
	errno = ENOTDIR;
	log_error("nobody reads this");
	ck_assert_int_eq(errno, ENOTDIR);
}
END_TEST

/* Writes to the pipe until it takes nothing more; to its writers it blocks again then. */
static void fill_pipe(int write_end)
{
	static const char bytes[4096];
	int flags = fcntl(write_end, F_GETFL);

	ck_assert_int_ge(flags, 0);
	ck_assert_int_eq(fcntl(write_end, F_SETFL, flags | O_NONBLOCK), 0);
	while (write(write_end, bytes, sizeof(bytes)) > 0)
		;
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_int_eq(fcntl(write_end, F_SETFL, flags), 0);
}

/* A log_error() that waits ends with the time that check gives a test. */
START_TEST(a_full_pipe_that_nobody_reads_is_not_waited_for)
{
	static char bytes[1024 * 1024];
	int ends[2];
	ssize_t len;

	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_ge(dup2(ends[1], STDERR_FILENO), 0);
	fill_pipe(ends[1]);
	errno = ENOTDIR;
	log_error("lost");
	ck_assert_int_eq(errno, ENOTDIR);

	len = read(ends[0], bytes, sizeof(bytes));
	ck_assert_int_gt(len, 0);
	ck_assert_ptr_null(memmem(bytes, (size_t)len, "lost", 4));
	log_error("taken");
	len = read(ends[0], bytes, sizeof(bytes));
	ck_assert_int_eq(len, 12);
	ck_assert_mem_eq(bytes, "error taken\n", 12);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

START_TEST(level_names_parse)
{
	enum log_level level = LOG_LEVEL_ERROR;

#define X(name, text, syslog)                                                          \
	ck_assert_int_eq(log_level_parse(text, &level), 0);                            \
	ck_assert_int_eq(level, name);                                                 \
	ck_assert_ptr_nonnull(strstr(log_level_names(), text));
	LOG_LEVEL_TABLE(X)
#undef X
	level = LOG_LEVEL_WARN;
	ck_assert_int_eq(log_level_parse("", &level), -EINVAL);
	ck_assert_int_eq(log_level_parse("Info", &level), -EINVAL);
	ck_assert_int_eq(log_level_parse("info ", &level), -EINVAL);
	ck_assert_int_eq(log_level_parse("inf", &level), -EINVAL);
	ck_assert_int_eq(level, LOG_LEVEL_WARN);
}
END_TEST

static const mono_us start_us = 123456789;

static void use_up(struct log_limit *limit, mono_us now)
{
	for (int i = 0; i < LOG_LIMIT_BURST; i++)
		ck_assert(log_limit_allows(limit, now));
}

START_TEST(a_burst_passes_then_silence)
{
	struct log_limit limit = { 0 };

	use_up(&limit, start_us);
	ck_assert(!log_limit_allows(&limit, start_us));
	ck_assert(!log_limit_allows(&limit, start_us + LOG_LIMIT_WINDOW_US - 1));
	ck_assert_uint_eq(limit.suppressed, 2);
	ck_assert_str_eq(captured_text(), "");
}
END_TEST

START_TEST(the_next_window_tells_how_many_were_left_out)
{
	struct log_limit limit = { 0 };

	use_up(&limit, start_us);
	for (int i = 0; i < 3; i++)
		ck_assert(!log_limit_allows(&limit, start_us + 1));
	ck_assert(log_limit_allows(&limit, start_us + LOG_LIMIT_WINDOW_US));
	const char *text = captured_text();
	ck_assert_ptr_nonnull(strstr(text, "left out: 3\n"));
	ck_assert_int_eq(strncmp(text, "warn ", 5), 0);

	/* Said once, and the new window has a burst of its own. */
	for (int i = 1; i < LOG_LIMIT_BURST; i++)
		ck_assert(log_limit_allows(&limit, start_us + LOG_LIMIT_WINDOW_US));
	ck_assert(!log_limit_allows(&limit, start_us + LOG_LIMIT_WINDOW_US));
	ck_assert_str_eq(captured_text(), "");
	ck_assert(log_limit_allows(&limit, start_us + 2 * LOG_LIMIT_WINDOW_US));
	ck_assert_ptr_nonnull(strstr(captured_text(), "left out: 1\n"));
}
END_TEST

START_TEST(a_window_without_loss_says_nothing)
{
	struct log_limit limit = { 0 };

	use_up(&limit, start_us);
	use_up(&limit, start_us + LOG_LIMIT_WINDOW_US);
	use_up(&limit, start_us + 5 * LOG_LIMIT_WINDOW_US);
	ck_assert_str_eq(captured_text(), "");
}
END_TEST

START_TEST(the_window_starts_with_its_first_line)
{
	struct log_limit limit = { 0 };
	mono_us late = LOG_LIMIT_WINDOW_US - 1;

	/* Time since the start of the process does not eat into the first window. */
	ck_assert(log_limit_allows(&limit, late));
	for (int i = 1; i < LOG_LIMIT_BURST; i++)
		ck_assert(log_limit_allows(&limit, late + 2));
	ck_assert(!log_limit_allows(&limit, late + LOG_LIMIT_WINDOW_US - 1));
	ck_assert(log_limit_allows(&limit, late + LOG_LIMIT_WINDOW_US));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("log");
	TCase *line = unit_case(suite, "line");
	TCase *limit = unit_case(suite, "limit");

	tcase_add_checked_fixture(line, capture_start, capture_stop);
	tcase_add_test(line, a_line_is_level_and_message);
	tcase_add_test(line, levels_below_the_threshold_are_silent);
	tcase_add_test(line, silent_debug_lines_cost_no_arguments);
	tcase_add_test(line, one_event_is_one_line_of_printable_bytes);
	tcase_add_test(line, a_long_message_is_cut_and_says_so);
	tcase_add_test(line, the_longest_whole_message_is_not_cut);
	tcase_add_test(line, the_journal_gets_syslog_levels);
	tcase_add_test(line, writing_keeps_errno);
	tcase_add_test(line, a_full_pipe_that_nobody_reads_is_not_waited_for);
	tcase_add_test(line, level_names_parse);
	tcase_add_checked_fixture(limit, capture_start, capture_stop);
	tcase_add_test(limit, a_burst_passes_then_silence);
	tcase_add_test(limit, the_next_window_tells_how_many_were_left_out);
	tcase_add_test(limit, a_window_without_loss_says_nothing);
	tcase_add_test(limit, the_window_starts_with_its_first_line);
	return unit_run(suite);
}
