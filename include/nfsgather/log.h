/*
 * Logging: one line per event on standard error, "<level> message" (the level as a
 * syslog prefix "<3>" when the service manager reads us), never file data, and names
 * of files only at debug and below. A line names who it is about: session, client, upstream.
 */
#ifndef NFSGATHER_LOG_H
#define NFSGATHER_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "nfsgather/clock.h"
#include "nfsgather/invariant.h"

#define LOG_LEVEL_TABLE(X)                                                             \
	X(LOG_LEVEL_ERROR, "error", 3)                                                 \
	X(LOG_LEVEL_WARN, "warn", 4)                                                   \
	X(LOG_LEVEL_INFO, "info", 6)                                                   \
	X(LOG_LEVEL_DEBUG, "debug", 7)                                                 \
	X(LOG_LEVEL_TRACE, "trace", 7)

enum log_level {
#define X(name, text, syslog) name,
	LOG_LEVEL_TABLE(X)
#undef X
};

void log_set_level(enum log_level level);
bool log_enabled(enum log_level level);
/* 0 and *level, or -EINVAL for a text that is no level. */
MUST_CHECK int log_level_parse(const char *text, enum log_level *level);
/* "error, warn, info, debug or trace", for messages about bad input. */
const char *log_level_names(void);
void log_write(enum log_level level, const char *format, ...) PRINTF_LIKE(2, 3);

#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...) log_write(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...) log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)                                                                 \
	(log_enabled(LOG_LEVEL_DEBUG) ? log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)        \
				      : (void)0)
#define log_trace(...)                                                                 \
	(log_enabled(LOG_LEVEL_TRACE) ? log_write(LOG_LEVEL_TRACE, __VA_ARGS__)        \
				      : (void)0)

/*
 * A peer's faults must not fill the log: at most LOG_LIMIT_BURST lines per
 * LOG_LIMIT_WINDOW_US; the first line let through after a silence is preceded by one that
 * says how many were left out. Zero-initialise.
 */
struct log_limit {
	mono_us window_start;
	unsigned int used;
	uint64_t suppressed;
};
enum { LOG_LIMIT_BURST = 5 };
#define LOG_LIMIT_WINDOW_US ((mono_us)10 * 1000 * 1000)

/* True: write the line now. False: it was counted instead. */
bool log_limit_allows(struct log_limit *limit, mono_us now);

#endif
