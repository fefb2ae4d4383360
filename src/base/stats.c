/*
 * Names and explanations of what is counted, from the tables in stats.h, and the bucket
 * a value falls into.
 */
#include "nfsgather/stats.h"

#include "nfsgather/invariant.h"

#define X(upper, lower, help) #lower,
static const char *const counter_names[STAT_COUNT] = { STATS_TABLE(X) };
static const char *const gauge_names[GAUGE_COUNT] = { STATS_GAUGE_TABLE(X) };
static const char *const histogram_names[HISTOGRAM_COUNT] = { STATS_HISTOGRAM_TABLE(
	X) };
static const char *const write_reason_names[WRITE_REASON_COUNT] = { WRITE_REASON_TABLE(
	X) };
static const char *const commit_reason_names[COMMIT_REASON_COUNT] = {
	COMMIT_REASON_TABLE(X)
};
#undef X

#define X(upper, lower, help) help,
static const char *const counter_helps[STAT_COUNT] = { STATS_TABLE(X) };
static const char *const gauge_helps[GAUGE_COUNT] = { STATS_GAUGE_TABLE(X) };
static const char *const histogram_helps[HISTOGRAM_COUNT] = { STATS_HISTOGRAM_TABLE(
	X) };
static const char *const write_reason_helps[WRITE_REASON_COUNT] = { WRITE_REASON_TABLE(
	X) };
static const char *const commit_reason_helps[COMMIT_REASON_COUNT] = {
	COMMIT_REASON_TABLE(X)
};
#undef X

/* 0 and 1 fall into bucket 0; else the power of two that is not below the value. */
static unsigned int stats_bucket(uint64_t value)
{
	unsigned int bucket = 0;

	if (value > 1)
		bucket = 64 - (unsigned int)__builtin_clzll(value - 1);
	return bucket < STATS_HISTOGRAM_BUCKETS ? bucket : STATS_HISTOGRAM_BUCKETS - 1;
}

void stats_observe(struct stats *stats, enum stats_histogram histogram, uint64_t value)
{
	INVARIANT((unsigned int)histogram < HISTOGRAM_COUNT);
	stats->histogram[histogram][stats_bucket(value)]++;
}

static const char *stats_text(const char *const *texts, unsigned int index,
			      unsigned int count)
{
	INVARIANT(index < count);
	return texts[index];
}

const char *stats_name(enum stats_counter counter)
{
	return stats_text(counter_names, counter, STAT_COUNT);
}

const char *stats_help(enum stats_counter counter)
{
	return stats_text(counter_helps, counter, STAT_COUNT);
}

const char *stats_gauge_name(enum stats_gauge gauge)
{
	return stats_text(gauge_names, gauge, GAUGE_COUNT);
}

const char *stats_gauge_help(enum stats_gauge gauge)
{
	return stats_text(gauge_helps, gauge, GAUGE_COUNT);
}

const char *stats_histogram_name(enum stats_histogram histogram)
{
	return stats_text(histogram_names, histogram, HISTOGRAM_COUNT);
}

const char *stats_histogram_help(enum stats_histogram histogram)
{
	return stats_text(histogram_helps, histogram, HISTOGRAM_COUNT);
}

const char *write_reason_name(enum write_reason reason)
{
	return stats_text(write_reason_names, reason, WRITE_REASON_COUNT);
}

const char *write_reason_help(enum write_reason reason)
{
	return stats_text(write_reason_helps, reason, WRITE_REASON_COUNT);
}

const char *commit_reason_name(enum commit_reason reason)
{
	return stats_text(commit_reason_names, reason, COMMIT_REASON_COUNT);
}

const char *commit_reason_help(enum commit_reason reason)
{
	return stats_text(commit_reason_helps, reason, COMMIT_REASON_COUNT);
}
