/*
 * The host's monotonic clock as a struct clock.
 *
 * It stands still while the host is suspended, so an age measured with it is the time
 * that this process could have acted in, not the time that passed outside.
 */
#include "nfsgather/clock.h"

#include <time.h>

#include "nfsgather/invariant.h"

static mono_us system_now(const struct clock *clock)
{
	struct timespec now;

	(void)clock;
	int failed = clock_gettime(CLOCK_MONOTONIC, &now);
	INVARIANT(failed == 0);
	return (mono_us)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

const struct clock *clock_system(void)
{
	static const struct clock system_clock = { .now = system_now };

	return &system_clock;
}
