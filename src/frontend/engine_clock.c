/*
 * One timer for the engine of a frontend.
 *
 * The hard case is cost: the engine's next deadline moves with nearly every WRITE. The
 * timer is left alone unless the deadline became earlier; when it fires too early
 * the engine finds nothing due and it is set anew.
 *
 * Does not promise more than the loop's resolution, a millisecond.
 */
#include "engine_clock.h"

#include <errno.h>
#include <event2/event.h>

#include "frontend_private.h"

enum {
	/* Also the distance between two ticks when the engine wants one at once. */
	ENGINE_CLOCK_MIN_US = 1000,
	ENGINE_CLOCK_RELIEF_US = 50 * 1000,
	ENGINE_CLOCK_MAX_S = 3600,
};

static uint64_t engine_clock_now_us(const struct frontend *frontend)
{
	return (uint64_t)clock_now(frontend->clock);
}

static void engine_clock_relieve(struct frontend *frontend)
{
	uint64_t now_us = engine_clock_now_us(frontend);

	if (frontend->relieves_us > now_us)
		return;
	frontend->relieves_us = UINT64_MAX;
	if (!admission_has_waiters(frontend->share))
		return;
	frontend->relieves_us = now_us + ENGINE_CLOCK_RELIEF_US;
	engine_relieve(frontend->engine);
}

static void engine_clock_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct frontend *frontend = arg;

	(void)fd;
	(void)what;
	frontend->engine_wakes_us = UINT64_MAX;
	engine_tick(engine_clock_enter(frontend));
	engine_clock_relieve(frontend);
	engine_clock_leave(frontend);
}

int engine_clock_init(struct frontend *frontend)
{
	frontend->engine_wakes_us = UINT64_MAX;
	frontend->relieves_us = UINT64_MAX;
	frontend->engine_timer =
		evtimer_new(frontend->base, engine_clock_on_timer, frontend);
	return frontend->engine_timer ? 0 : -ENOMEM;
}

void engine_clock_fini(struct frontend *frontend)
{
	if (frontend->engine_timer)
		event_free(frontend->engine_timer);
	frontend->engine_timer = NULL;
}

/* Not from here: who waits may be in the middle of reading. */
void engine_clock_want_relief(struct frontend *frontend)
{
	if (frontend->relieves_us == UINT64_MAX)
		frontend->relieves_us = engine_clock_now_us(frontend);
	engine_clock_leave(frontend);
}

struct engine *engine_clock_enter(struct frontend *frontend)
{
	engine_set_now(frontend->engine, engine_clock_now_us(frontend));
	return frontend->engine;
}

void engine_clock_leave(struct frontend *frontend)
{
	uint64_t deadline_us = engine_next_deadline_us(frontend->engine);
	uint64_t now_us;
	uint64_t delay_us;
	struct timeval delay;

	if (frontend->relieves_us < deadline_us)
		deadline_us = frontend->relieves_us;
	if (deadline_us >= frontend->engine_wakes_us)
		return;
	now_us = engine_clock_now_us(frontend);
	delay_us = deadline_us > now_us ? deadline_us - now_us : 0;
	if (delay_us < ENGINE_CLOCK_MIN_US)
		delay_us = ENGINE_CLOCK_MIN_US;
	if (delay_us > (uint64_t)ENGINE_CLOCK_MAX_S * 1000000)
		delay_us = (uint64_t)ENGINE_CLOCK_MAX_S * 1000000;
	delay.tv_sec = (time_t)(delay_us / 1000000);
	delay.tv_usec = (suseconds_t)(delay_us % 1000000);
	/* Replaces the later one; fails only for want of memory, and then the tick helps. */
	if (evtimer_add(frontend->engine_timer, &delay) == 0)
		frontend->engine_wakes_us = deadline_us;
}
