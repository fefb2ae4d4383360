/*
 * Faults, a moment after a client's step, so that they fall into what the step began.
 *
 * The hard case is to hit moments that are short: the time between a WRITE's reply and
 * its COMMIT, or between an error and the client that is told. So faults come with activity
 * and not with time.
 *
 * Faults of single calls at the upstream are in sim_upstream.c.
 */
#include "sim/sim_weather.h"

#include "sim/sim_call.h"
#include "sim/sim_client.h"
#include "sim/sim_disk.h"
#include "sim/sim_link.h"
#include "sim/sim_proxy.h"
#include "sim/sim_upstream.h"

enum {
	SIM_LAST_STEP_FAULT = SIM_FAULT_PRESSURE,
	SIM_WRITE_BACK_PERMILLE = 60,
	SIM_PATIENCE_US = 25 * SIM_S,
};

struct sim_fault_event {
	struct sim_event event;
	enum sim_fault fault;
	struct sim_client *client;
};

static uint32_t sim_weather_file(struct sim *sim)
{
	return (uint32_t)sim_random_below(&sim->weather_random, sim->plan.file_count);
}

/* Mostly short, sometimes long. */
static uint64_t sim_weather_time(struct sim *sim, uint64_t long_us)
{
	struct sim_random *random = &sim->weather_random;

	return sim_random_chance(random, 250) ? sim_random_below(random, long_us)
					      : sim_random_below(random, 200 * SIM_MS);
}

static void sim_weather_break_file(struct sim *sim)
{
	static const uint32_t statuses[] = {
		NFS3ERR_NOSPC, NFS3ERR_DQUOT, NFS3ERR_IO,    NFS3ERR_ROFS,
		NFS3ERR_ACCES, NFS3ERR_FBIG,  NFS3ERR_STALE, NFS3ERR_PERM,
	};
	uint32_t status = statuses[sim_random_below(
		&sim->weather_random, sizeof(statuses) / sizeof(statuses[0]))];
	uint64_t lasts_us = sim_random_chance(&sim->weather_random, 500)
				    ? 0
				    : sim_weather_time(sim, 5 * SIM_S);
	uint32_t file = sim_weather_file(sim);

	sim_trace(sim, "WRITEs of file %u fail with %s for %.3f s", file,
		  sim_status_name(status), (double)lasts_us / SIM_S);
	sim_upstream_break_file(sim->upstream, file, status, lasts_us);
}

static void sim_weather_reboot(struct sim *sim)
{
	sim_trace(sim, "the upstream reboots");
	sim_link_break_all(sim->link);
	sim_upstream_reboot(sim->upstream, sim_weather_time(sim, 10 * SIM_S));
}

static void sim_weather_schedule(struct sim *sim, enum sim_fault fault,
				 struct sim_client *client, uint64_t within_us);

/* Sometimes it is the beginning of worse: one connection is down when all others break. */
static void sim_weather_link(struct sim *sim, struct sim_client *client)
{
	struct sim_random *random = &sim->weather_random;

	sim_link_break(sim->link,
		       (unsigned int)sim_random_below(random, SIM_LINK_CONNECTIONS));
	if (sim->plan.fault[SIM_FAULT_REBOOT] > 0 && sim_random_chance(random, 300))
		sim_weather_schedule(sim, SIM_FAULT_REBOOT, client, 100 * SIM_MS);
}

static void sim_weather_drop(struct sim *sim)
{
	uint32_t file = sim_weather_file(sim);

	sim_trace(sim, "an error of the medium in file %u", file);
	sim_upstream_drop(sim->upstream, file);
}

static void sim_weather_deny(struct sim *sim)
{
	uint32_t file = sim_weather_file(sim);
	uint32_t uid = SIM_FIRST_UID +
		       (uint32_t)sim_random_below(&sim->weather_random, SIM_UIDS);

	sim_trace(sim, "user %u may not write file %u", uid, file);
	sim_upstream_deny(sim->upstream, file, uid, sim_weather_time(sim, 5 * SIM_S));
}

static void sim_weather_pause(struct sim *sim, struct sim_client *client)
{
	struct sim_random *random = &sim->weather_random;
	bool leaves = sim_random_chance(random, 500);
	uint64_t most_us = 200 * SIM_MS;

	/* A connection nobody waits for may be forgotten for as long as one likes. */
	if (sim_random_chance(random, 300))
		most_us = leaves ? 300 * SIM_S : SIM_PATIENCE_US;
	sim_client_pause_session(client, sim_random_below(random, most_us), leaves);
}

/*
 * The reply cache keeps for two minutes what a client may not have received (P7): nobody who
 * waits stays away that long.
 */
static void sim_weather_absence(struct sim *sim, struct sim_client *client)
{
	uint64_t waited_us = sim_client_waits_us(client);
	uint64_t most_us = waited_us == 0 ? 400 * SIM_S : SIM_PATIENCE_US;

	if (waited_us < SIM_PATIENCE_US)
		sim_client_be_away(client,
				   sim_random_below(&sim->weather_random, most_us));
}

static void sim_weather_strike(struct sim *sim, enum sim_fault fault,
			       struct sim_client *client)
{
	switch (fault) {
	case SIM_FAULT_REBOOT:
		sim_weather_reboot(sim);
		return;
	case SIM_FAULT_ROTATE:
		sim_trace(sim, "the upstream changes its verifier");
		sim_upstream_rotate(sim->upstream);
		return;
	case SIM_FAULT_DROP:
		sim_weather_drop(sim);
		return;
	case SIM_FAULT_ERROR:
		sim_weather_break_file(sim);
		return;
	case SIM_FAULT_DENY:
		sim_weather_deny(sim);
		return;
	case SIM_FAULT_LINK:
		sim_weather_link(sim, client);
		return;
	case SIM_FAULT_SESSION:
		sim_client_break_session(client);
		return;
	case SIM_FAULT_PAUSE:
		sim_weather_pause(sim, client);
		return;
	case SIM_FAULT_KILL:
		sim_proxy_restart(sim->proxy);
		return;
	case SIM_FAULT_ABSENCE:
		sim_weather_absence(sim, client);
		return;
	case SIM_FAULT_PRESSURE:
		sim_proxy_relieve(sim->proxy);
		return;
	case SIM_FAULT_REPLY:
	case SIM_FAULT_SHORT:
	case SIM_FAULT_JUKEBOX:
	case SIM_FAULT_REFUSAL:
	case SIM_FAULT_LOWER:
	case SIM_FAULT_HIGHER:
	case SIM_FAULT_SLOW:
	case SIM_FAULT_COUNT:
		break;
	}
	UNREACHABLE();
}

static void sim_weather_on_fault(struct sim *sim, struct sim_event *event)
{
	struct sim_fault_event *fault =
		container_of(event, struct sim_fault_event, event);

	if (!sim->is_over_weather)
		sim_weather_strike(sim, fault->fault, fault->client);
}

static void sim_weather_schedule(struct sim *sim, enum sim_fault fault,
				 struct sim_client *client, uint64_t within_us)
{
	struct sim_fault_event *event = sim_alloc(sim, sizeof(*event));

	event->fault = fault;
	event->client = client;
	event->event.run = sim_weather_on_fault;
	sim_set_event(sim, &event->event,
		      sim_random_below(&sim->weather_random, within_us));
}

void sim_weather_on_step(struct sim *sim, struct sim_client *client)
{
	struct sim_random *random = &sim->weather_random;
	unsigned int i;

	if (sim_random_chance(random, SIM_WRITE_BACK_PERMILLE))
		sim_disk_write_back(sim->disk, sim_weather_file(sim));
	for (i = 0; i <= SIM_LAST_STEP_FAULT; i++)
		if (sim_random_chance(random, sim->plan.fault[i]))
			sim_weather_schedule(sim, i, client, 10 * SIM_MS);
}

void sim_weather_end(struct sim *sim)
{
	sim_trace(sim, "the weather is over");
	sim->is_over_weather = true;
	sim_upstream_recover(sim->upstream);
}
