/*
 * A run: the clients take their steps in bad weather; then the weather ends and they sync
 * until nothing is left; then the proxy drains, and everything that was kept has to be
 * gone and everything that was written has to be stable.
 *
 * The hard case is a run that does not end: events that never stop, or none while
 * somebody waits. Both are failures, with the name of who waits.
 */
#include "sim/sim_run.h"

#include <string.h>

#include "nfsgather/buf.h"
#include "sim/sim_client.h"
#include "sim/sim_disk.h"
#include "sim/sim_frontend.h"
#include "sim/sim_link.h"
#include "sim/sim_oracle.h"
#include "sim/sim_proxy.h"
#include "sim/sim_upstream.h"
#include "sim/sim_weather.h"

enum {
	SIM_EVENTS_MAX = 500 * 1000,
	/* From the end of the weather to the end of the run. */
	SIM_CALM_MAX_S = 2000,
	/* Upstream calls for each client call. */
	SIM_STORM = 30,
	SIM_STORM_FLAT = 3000,
};

static void sim_run_begin(struct sim *sim)
{
	unsigned int i;

	sim_plan_make(&sim->plan, sim->seed);
	sim_plan_trace(sim);
	sim->oracle = sim_oracle_new(sim);
	sim->disk = sim_disk_new(sim);
	sim->upstream = sim_upstream_new(sim);
	sim->link = sim_link_new(sim);
	sim->frontend = sim_frontend_new(sim);
	sim->proxy = sim_proxy_new(sim);
	for (i = 0; i < sim->plan.client_count; i++)
		sim->client[i] = sim_client_new(sim, i);
	for (i = 0; i < sim->plan.client_count; i++)
		sim_client_start(sim->client[i]);
}

static bool sim_run_clients(const struct sim *sim,
			    bool (*are)(const struct sim_client *client))
{
	unsigned int i;

	for (i = 0; i < sim->plan.client_count; i++)
		if (!are(sim->client[i]))
			return false;
	return true;
}

static bool sim_run_all_done(const struct sim *sim)
{
	return sim_run_clients(sim, sim_client_is_done);
}

static bool sim_run_all_quiet(const struct sim *sim)
{
	return sim_run_clients(sim, sim_client_is_quiet);
}

static bool sim_run_is_clean(const struct sim *sim)
{
	return sim_proxy_is_clean(sim->proxy);
}

static void sim_run_fail_stuck(struct sim *sim, const char *why)
{
	char text[SIM_MESSAGE_BYTES / 2] = "the proxy is not clean";
	unsigned int i;

	for (i = 0; i < sim->plan.client_count; i++) {
		if (sim_client_is_quiet(sim->client[i]))
			continue;
		sim_client_describe(sim->client[i], text, sizeof(text));
		break;
	}
	sim_fail(sim, "end", "%s: %s", why, text);
}

static void sim_run_until(struct sim *sim, bool (*is_so)(const struct sim *sim))
{
	uint64_t from_us = sim->now_us;

	while (!sim_has_failed(sim) && !is_so(sim)) {
		if (!sim_step(sim))
			sim_run_fail_stuck(sim, "nothing happens any more");
		else if (sim->events_run > SIM_EVENTS_MAX)
			sim_run_fail_stuck(sim, "it does not stop");
		else if (sim->is_over_weather &&
			 sim->now_us - from_us > SIM_CALM_MAX_S * SIM_S)
			sim_run_fail_stuck(sim, "it takes too long");
	}
}

/* What was asked of the upstream stands in some relation to what clients asked for. */
static void sim_run_check_storm(struct sim *sim)
{
	uint64_t asked = 0;
	uint64_t sent = sim_link_sent(sim->link);
	unsigned int i;

	for (i = 0; i < sim->plan.client_count; i++)
		asked += sim_client_calls(sim->client[i]);
	if (sent > asked * SIM_STORM + SIM_STORM_FLAT)
		sim_fail(sim, "storm", "%llu calls upstream for %llu of clients",
			 (unsigned long long)sent, (unsigned long long)asked);
}

static void sim_run_check_disk(struct sim *sim)
{
	uint32_t file;

	for (file = 0; file < sim->plan.file_count; file++)
		if (sim_disk_is_dirty(sim->disk, file))
			sim_fail(sim, "P1",
				 "all is proven stable, but file %u is not at the "
				 "upstream",
				 file);
}

static void sim_run_end(struct sim *sim)
{
	sim_run_until(sim, sim_run_all_done);
	sim_weather_end(sim);
	for (unsigned int i = 0; i < sim->plan.client_count; i++)
		sim_client_finish(sim->client[i]);
	if (sim->plan.drains && !sim_has_failed(sim))
		sim_proxy_drain(sim->proxy);
	sim_run_until(sim, sim_run_all_quiet);
	if (!sim_has_failed(sim))
		sim_proxy_drain(sim->proxy);
	sim_run_until(sim, sim_run_is_clean);
	if (sim_has_failed(sim))
		return;
	sim_run_check_storm(sim);
	/* Bytes that were given up, or left by a proxy that died, may lie there for ever. */
	if (!sim->plan.is_error_possible && sim->plan.fault[SIM_FAULT_KILL] == 0)
		sim_run_check_disk(sim);
	sim_proxy_check_gauges(sim->proxy);
}

void sim_run(struct sim *sim, uint64_t seed, bool is_tracing)
{
	size_t before_bytes = buf_total_bytes();

	sim_init(sim, seed, is_tracing);
	sim_run_begin(sim);
	sim_run_end(sim);
	sim_proxy_free(sim->proxy);
	if (buf_total_bytes() != before_bytes)
		sim_fail(sim, "leak", "payload is kept after the end");
}
