/*
 * Log lines on standard error, one write() each, so that lines of several processes do
 * not mix.
 *
 * The hard case: parts of a line come from peers (names, texts of errors). Whatever they
 * hold, one event stays one line, of printable ASCII, and of bounded length: bytes from
 * 0x80 on may be control codes to a terminal, so names in other scripts are not readable.
 * A line that standard error does not take is lost; nobody waits for it.
 *
 * Not promised: that a terminal with room for half a line, or a pipe that another process
 * fills just then, is not waited for.
 */
#include "nfsgather/log.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 2048 };

static const struct {
	const char *text;
	int syslog;
} levels[] = {
#define X(name, text, syslog) [name] = { text, syslog },
	LOG_LEVEL_TABLE(X)
#undef X
};

enum { LEVEL_COUNT = sizeof(levels) / sizeof(levels[0]) };

static enum log_level threshold = LOG_LEVEL_INFO;

void log_set_level(enum log_level level)
{
	threshold = level;
}

bool log_enabled(enum log_level level)
{
	return level <= threshold;
}

int log_level_parse(const char *text, enum log_level *level)
{
	for (unsigned int i = 0; i < LEVEL_COUNT; i++) {
		if (strcmp(text, levels[i].text) == 0) {
			*level = (enum log_level)i;
			return 0;
		}
	}
	return -EINVAL;
}

const char *log_level_names(void)
{
	return "error, warn, info, debug or trace";
}

/*
 * systemd names the device and inode of the journal's stream in JOURNAL_STREAM; a child
 * whose standard error was redirected elsewhere still has the variable.
 */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	uintmax_t device;
	uintmax_t inode;
	struct stat st;

	/* NOLINTNEXTLINE(cert-err34-c): a value that overflows just does not match */
	if (stream == NULL || sscanf(stream, "%ju:%ju", &device, &inode) != 2)
		return false;
	if (fstat(STDERR_FILENO, &st) != 0)
		return false;
	return st.st_dev == device && st.st_ino == inode;
}

/* The message in `line` after `used` bytes of prefix; its new length without a newline. */
PRINTF_LIKE(3, 0)
static size_t append_message(char *line, size_t used, const char *format, va_list args)
{
	size_t room = LINE_MAX_BYTES - used - 1; /* the newline */
	int wanted = vsnprintf(line + used, room, format, args);

	if (wanted < 0)
		return used;
	size_t end = used + (size_t)wanted;
	if ((size_t)wanted >= room) {
		end = used + room - 1;
		memset(line + end - 3, '.', 3);
	}
	for (size_t i = used; i < end; i++) {
		unsigned char byte = (unsigned char)line[i];
		if (byte < 0x20 || byte >= 0x7f)
			line[i] = '?';
	}
	return end;
}

/*
 * Asked before each write, since standard error may be a pipe whose reader has stopped. It
 * is not made non-blocking instead: others who have it open would see that too.
 */
static bool stderr_has_room(void)
{
	struct pollfd standard_error = { .fd = STDERR_FILENO, .events = POLLOUT };
	int ready;

	do
		ready = poll(&standard_error, 1, 0);
	while (ready < 0 && errno == EINTR);
	return ready > 0 && (standard_error.revents & POLLOUT) != 0;
}

/* A pipe with any room has PIPE_BUF bytes of it, and so takes a line whole or not. */
static_assert(LINE_MAX_BYTES <= PIPE_BUF, "a line may be longer than a pipe's room");

static void write_line(const char *line, size_t len)
{
	while (len > 0 && stderr_has_room()) {
		ssize_t written = write(STDERR_FILENO, line, len);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return;
		line += written;
		len -= (size_t)written;
	}
}

void log_write(enum log_level level, const char *format, ...)
{
	char line[LINE_MAX_BYTES];
	int saved_errno = errno;
	va_list args;
	int prefix;

	if (!log_enabled(level))
		return;
	if (stderr_is_journal())
		prefix = snprintf(line, sizeof(line), "<%d>", levels[level].syslog);
	else
		prefix = snprintf(line, sizeof(line), "%s ", levels[level].text);
	va_start(args, format);
	size_t len = append_message(line, (size_t)prefix, format, args);
	va_end(args);
	line[len++] = '\n';
	write_line(line, len);
	errno = saved_errno;
}

bool log_limit_allows(struct log_limit *limit, mono_us now)
{
	if (limit->used == 0 || now - limit->window_start >= LOG_LIMIT_WINDOW_US) {
		if (limit->suppressed > 0)
			log_warn("lines like the next one that were left out: %" PRIu64,
				 limit->suppressed);
		limit->window_start = now;
		limit->used = 0;
		limit->suppressed = 0;
	}
	if (limit->used < LOG_LIMIT_BURST) {
		limit->used++;
		return true;
	}
	limit->suppressed++;
	return false;
}
