/*
 * Names and explanations of the counters, from the one table in stats.h.
 */
#include "nfsgather/stats.h"

#include "nfsgather/invariant.h"

static const char *const names[STAT_COUNT] = {
#define X(upper, lower, help) [STAT_##upper] = #lower,
	STATS_TABLE(X)
#undef X
};

static const char *const helps[STAT_COUNT] = {
#define X(upper, lower, help) [STAT_##upper] = (help),
	STATS_TABLE(X)
#undef X
};

const char *stats_name(enum stats_counter counter)
{
	INVARIANT((unsigned int)counter < STAT_COUNT);
	return names[counter];
}

const char *stats_help(enum stats_counter counter)
{
	INVARIANT((unsigned int)counter < STAT_COUNT);
	return helps[counter];
}
