/*
 * Draws the plan of a run from its seed.
 *
 * The hard case is to have every threshold of the engine crossed in some runs and far away in
 * others: so sizes are drawn from a few that differ widely, not evenly from a range.
 *
 * Says what may happen, not when: sim_weather.c does.
 */
#include "sim/sim_plan.h"

#include "sim/sim.h"

enum { SIM_STREAM_PLAN = 4 };

static const char *const sim_fault_texts[] = {
#define X(name, text) [SIM_FAULT_##name] = (text),
	SIM_FAULT_TABLE(X)
#undef X
};

/* How likely each is, where it happens at all. */
static const unsigned int sim_fault_permille[SIM_FAULT_COUNT] = {
	[SIM_FAULT_REBOOT] = 12,  [SIM_FAULT_ROTATE] = 12, [SIM_FAULT_DROP] = 25,
	[SIM_FAULT_ERROR] = 15,	  [SIM_FAULT_DENY] = 12,   [SIM_FAULT_LINK] = 15,
	[SIM_FAULT_SESSION] = 25, [SIM_FAULT_PAUSE] = 25,  [SIM_FAULT_KILL] = 8,
	[SIM_FAULT_ABSENCE] = 8,  [SIM_FAULT_SHORT] = 60,  [SIM_FAULT_JUKEBOX] = 40,
	[SIM_FAULT_REFUSAL] = 12, [SIM_FAULT_LOWER] = 150, [SIM_FAULT_HIGHER] = 100,
	[SIM_FAULT_SLOW] = 150,	  [SIM_FAULT_REPLY] = 40,  [SIM_FAULT_PRESSURE] = 15,
};

/* These leave the upstream's data and the proxy alone: calm runs may have them. */
static bool sim_fault_is_calm(enum sim_fault fault)
{
	return fault == SIM_FAULT_SESSION || fault == SIM_FAULT_PAUSE ||
	       fault == SIM_FAULT_REPLY || fault == SIM_FAULT_PRESSURE ||
	       fault == SIM_FAULT_SLOW;
}

static bool sim_fault_makes_errors(enum sim_fault fault)
{
	return fault == SIM_FAULT_DROP || fault == SIM_FAULT_ERROR ||
	       fault == SIM_FAULT_DENY || fault == SIM_FAULT_REFUSAL;
}

const char *sim_fault_text(enum sim_fault fault)
{
	return sim_fault_texts[fault];
}

#define SIM_PICK(random, list)                                                         \
	((list)[sim_random_below((random), sizeof(list) / sizeof((list)[0]))])

static void sim_plan_clients(struct sim_plan *plan, struct sim_random *random)
{
	static const unsigned int counts[] = { 1, 1, 2, 2, 3, 5 };
	static const unsigned int steps[] = { 100, 400, 800, 1500 };
	static const uint64_t thinks[] = { 300, 2 * SIM_MS, 20 * SIM_MS, 400 * SIM_MS };
	static const unsigned int calls[] = { 1, 4, 16 };
	static const uint32_t wsizes[] = { 1, 2, 4, SIM_CALL_BLOCKS_MAX };
	unsigned int i;

	plan->client_count = SIM_PICK(random, counts);
	/* Only those that do not look at verifiers see whether errors are told. */
	for (i = 0; i < SIM_CLIENTS_MAX; i++)
		plan->kind[i] = sim_random_chance(random, 150)
					? SIM_CLIENT_LIBNFS
					: (enum sim_client_kind)sim_random_below(
						  random, SIM_CLIENT_KIND_COUNT);
	plan->own_files = sim_random_chance(random, 400);
	plan->many_uids = sim_random_chance(random, 250);
	plan->slots = sim_random_chance(random, 250) ? 2 : 1;
	plan->steps = SIM_PICK(random, steps);
	if (plan->client_count > 3)
		plan->steps /= 2;
	plan->think_us = SIM_PICK(random, thinks);
	plan->calls_max = SIM_PICK(random, calls);
	plan->wsize_blocks = SIM_PICK(random, wsizes);
}

static void sim_plan_engine(struct sim_plan *plan, struct sim_random *random)
{
	static const uint32_t wtmaxes[] = { 0, 2, 3, 8, 16, 16, 48, 48 };
	static const uint64_t bytes[] = { 16, 64, 200, 1000, 1000000, 1000000 };
	static const uint64_t plugs[] = { 0, 500, 2 * SIM_MS, 2 * SIM_MS, 50 * SIM_MS };
	static const uint64_t ages[] = { 5 * SIM_MS, 200 * SIM_MS, SIM_S, 5 * SIM_S };
	static const uint64_t grants[] = { 10 * SIM_MS, SIM_S, 30 * SIM_S };
	static const uint64_t waits[] = { 20 * SIM_MS, 2 * SIM_S, 30 * SIM_S };
	static const uint64_t stickies[] = { 600 * SIM_S, 600 * SIM_S, 20 * SIM_S };

	plan->wtmax_blocks = SIM_PICK(random, wtmaxes);
	plan->engine = (struct engine_config){
		.dirty_background_bytes = SIM_PICK(random, bytes),
		.dirty_bytes = SIM_PICK(random, bytes),
		.retained_bytes = SIM_PICK(random, bytes),
		.plug_max_us = SIM_PICK(random, plugs),
		.dirty_expire_us = SIM_PICK(random, ages),
		.retained_expire_us = SIM_PICK(random, ages),
		.grant_us = SIM_PICK(random, grants),
		.shared_us = SIM_PICK(random, waits),
		.quarantine_us = SIM_PICK(random, waits),
		.sticky_us = SIM_PICK(random, stickies),
		.retry_first_us = 10 * SIM_MS,
		.retry_max_us = SIM_S,
	};
}

static void sim_plan_upstream(struct sim_plan *plan, struct sim_random *random)
{
	static const uint64_t times[] = { 100, SIM_MS, 10 * SIM_MS };

	plan->errors_rotate = sim_random_chance(random, 500);
	plan->zero_verifiers = sim_random_chance(random, 200);
	plan->omits_attributes = sim_random_chance(random, 200);
	plan->network_us = SIM_PICK(random, times);
	plan->upstream_us = SIM_PICK(random, times);
	plan->commit_us = 10 * SIM_PICK(random, times);
	plan->commit_group_us = sim_random_chance(random, 250) ? 5 * SIM_MS : 0;
	plan->drains = sim_random_chance(random, 100);
}

static void sim_plan_faults(struct sim_plan *plan, struct sim_random *random)
{
	/* A few kinds of fault in most runs, all of them in some. */
	static const unsigned int chances[] = { 100, 250, 250, 600 };
	unsigned int chance = SIM_PICK(random, chances);
	unsigned int i;

	plan->is_calm = sim_random_chance(random, 250);
	for (i = 0; i < SIM_FAULT_COUNT; i++) {
		if ((plan->is_calm && !sim_fault_is_calm(i)) ||
		    !sim_random_chance(random, chance))
			continue;
		plan->fault[i] = sim_fault_permille[i];
		/* Some servers are like that all the time. */
		if (i == SIM_FAULT_LOWER && sim_random_chance(random, 300))
			plan->fault[i] = 900;
		plan->is_error_possible |= sim_fault_makes_errors(i);
	}
}

void sim_plan_make(struct sim_plan *plan, uint64_t seed)
{
	static const uint32_t blocks[] = { 4, 12, 24, SIM_BLOCKS_MAX };
	struct sim_random random;

	sim_random_init(&random, seed, SIM_STREAM_PLAN);
	*plan = (struct sim_plan){
		.file_count =
			(unsigned int)sim_random_between(&random, 1, SIM_FILES_MAX),
		.blocks = SIM_PICK(&random, blocks),
	};
	sim_plan_clients(plan, &random);
	sim_plan_engine(plan, &random);
	sim_plan_upstream(plan, &random);
	sim_plan_faults(plan, &random);
}

void sim_plan_trace(const struct sim *sim)
{
	const struct sim_plan *plan = &sim->plan;
	unsigned int i;

	sim_trace(sim, "seed %llu: %u clients, %u files of %u blocks, wtmax %u, %s",
		  (unsigned long long)sim->seed, plan->client_count, plan->file_count,
		  plan->blocks, plan->wtmax_blocks, plan->is_calm ? "calm" : "faults");
	sim_trace(sim,
		  "dirty %llu/%llu retained %llu bytes, plug %llu expire %llu/%llu us",
		  (unsigned long long)plan->engine.dirty_background_bytes,
		  (unsigned long long)plan->engine.dirty_bytes,
		  (unsigned long long)plan->engine.retained_bytes,
		  (unsigned long long)plan->engine.plug_max_us,
		  (unsigned long long)plan->engine.dirty_expire_us,
		  (unsigned long long)plan->engine.retained_expire_us);
	sim_trace(sim, "grant %llu shared %llu quarantine %llu sticky %llu us",
		  (unsigned long long)plan->engine.grant_us,
		  (unsigned long long)plan->engine.shared_us,
		  (unsigned long long)plan->engine.quarantine_us,
		  (unsigned long long)plan->engine.sticky_us);
	for (i = 0; i < SIM_FAULT_COUNT; i++)
		if (plan->fault[i] > 0)
			sim_trace(sim, "may happen: %s", sim_fault_text(i));
}
