/*
 * The ground the simulator stands on: a clock that only moves from event to event, chance
 * that follows from the seed alone, memory that is given back at once, a trace, and the
 * first broken rule.
 *
 *   sim_main.c      seeds, replay, report
 *   sim_run.c       one seed from beginning to end
 *   sim_plan.c      what kind of run a seed makes       sim_weather.c   faults, as it goes
 *   sim_client*.c   NFS clients                         sim_network.c   their connections
 *   sim_frontend.c  sessions and duplicates             sim_proxy.c     around the engine
 *   sim_link.c      from the engine to the upstream     sim_upstream.c  answers calls
 *   sim_disk.c      what survives a reboot              sim_oracle*.c   what must be true
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nfsgather/hash.h"
#include "nfsgather/invariant.h"
#include "sim/sim_plan.h"

enum { SIM_MESSAGE_BYTES = 400 };

/* In microseconds. */
#define SIM_MS UINT64_C(1000)
#define SIM_S (1000 * SIM_MS)

struct sim;
struct sim_oracle;
struct sim_disk;
struct sim_upstream;
struct sim_link;
struct sim_frontend;
struct sim_proxy;
struct sim_client;

/* A stream of chance; each part of the world has its own, so that one does not move another. */
struct sim_random {
	uint64_t state;
};

void sim_random_init(struct sim_random *random, uint64_t seed, uint64_t stream);
uint64_t sim_random_next(struct sim_random *random);
/* 0 .. below - 1; 0 when `below` is 0. */
uint64_t sim_random_below(struct sim_random *random, uint64_t below);
/* low .. high, both possible. */
uint64_t sim_random_between(struct sim_random *random, uint64_t low, uint64_t high);
bool sim_random_chance(struct sim_random *random, unsigned int permille);

/* Embedded in what it is about; runs once for each time it is set. */
struct sim_event {
	void (*run)(struct sim *sim, struct sim_event *event);
	uint64_t at_us;
	uint64_t order; /* of setting: breaks ties */
	size_t place;	/* in the heap, from 1; 0: not set */
};

struct sim {
	uint64_t seed;
	uint64_t now_us;
	bool is_tracing;
	bool is_over_weather; /* faults have stopped */
	/* The first broken rule, or "". */
	char failed_rule[32];
	char failed_text[SIM_MESSAGE_BYTES];
	struct sim_plan plan;

	struct sim_random weather_random;
	struct sim_random network_random;
	struct sim_random upstream_random;

	struct sim_oracle *oracle;
	struct sim_disk *disk;
	struct sim_upstream *upstream;
	struct sim_link *link;
	struct sim_frontend *frontend;
	struct sim_proxy *proxy;
	struct sim_client *client[SIM_CLIENTS_MAX];

	/* sim.c */
	struct sim_event **heap;
	size_t heap_count;
	size_t heap_capacity;
	uint64_t last_order;
	uint64_t events_run;
	struct sim_chunk *chunks;
};

void sim_init(struct sim *sim, uint64_t seed, bool is_tracing);
/* Gives all memory of sim_alloc() back. */
void sim_fini(struct sim *sim);
/* Zeroed, and there until sim_fini(). */
void *sim_alloc(struct sim *sim, size_t bytes);

/* Once, `delay_us` from now; one that is set already is moved. */
void sim_set_event(struct sim *sim, struct sim_event *event, uint64_t delay_us);
void sim_cancel_event(struct sim *sim, struct sim_event *event);
/* Runs the next event; false: there is none. */
bool sim_step(struct sim *sim);

/* Notes a broken rule; only the first one counts, and the run ends soon after. */
void sim_fail(struct sim *sim, const char *rule, const char *format, ...)
	PRINTF_LIKE(3, 4);
bool sim_has_failed(const struct sim *sim);

void sim_trace_line(const struct sim *sim, const char *format, ...) PRINTF_LIKE(2, 3);
/* Costs nothing when nobody reads it. */
#define sim_trace(sim, ...)                                                            \
	do {                                                                           \
		if ((sim)->is_tracing)                                                 \
			sim_trace_line((sim), __VA_ARGS__);                            \
	} while (0)

#endif
