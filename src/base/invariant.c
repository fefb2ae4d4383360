/*
 * The end of a process that found a bug in itself: one line in the log, then abort(), so
 * that a core can be kept. Nothing is flushed or answered: clients re-send.
 */
#include "nfsgather/invariant.h"

#include <stdlib.h>

#include "nfsgather/log.h"

_Noreturn void invariant_failed(const char *expr, const char *file, int line)
{
	log_error("bug: %s:%d: %s", file, line, expr);
	abort();
}
