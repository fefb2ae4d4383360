/*
 * Monotonic time, injected: layers that need time are handed a `struct clock`,
 * so that tests can turn the hands. Wall time appears only in log lines.
 */
#ifndef NFSGATHER_CLOCK_H
#define NFSGATHER_CLOCK_H

#include <stdint.h>

typedef int64_t mono_us; /* microseconds since an arbitrary start, never backwards */

struct clock {
	mono_us (*now)(const struct clock *clock);
};

/* CLOCK_MONOTONIC of this host. */
const struct clock *clock_system(void);

static inline mono_us clock_now(const struct clock *clock)
{
	return clock->now(clock);
}

#endif
