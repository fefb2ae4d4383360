/*
 * Clock, events, chance, memory and trace of a simulated run.
 *
 * The hard case is replay: a seed must give the same run again, event by event. So equal
 * times are ordered by when the events were set, nothing depends on addresses, and chance
 * comes in streams of its own for each part of the world.
 *
 * Does not know NFS.
 */
#include "sim/sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIM_CHUNK_BYTES = 256 * 1024, SIM_ALIGN = 16 };

struct sim_chunk {
	struct sim_chunk *next;
	size_t capacity_bytes;
	size_t used_bytes;
	_Alignas(SIM_ALIGN) uint8_t bytes[];
};

/* splitmix64 */
uint64_t sim_random_next(struct sim_random *random)
{
	uint64_t z = random->state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

void sim_random_init(struct sim_random *random, uint64_t seed, uint64_t stream)
{
	random->state = seed * 0xd1342543de82ef95 + stream;
	random->state = sim_random_next(random);
}

uint64_t sim_random_below(struct sim_random *random, uint64_t below)
{
	return below == 0 ? 0 : sim_random_next(random) % below;
}

uint64_t sim_random_between(struct sim_random *random, uint64_t low, uint64_t high)
{
	return low + sim_random_below(random, high - low + 1);
}

bool sim_random_chance(struct sim_random *random, unsigned int permille)
{
	return permille > 0 && sim_random_below(random, 1000) < permille;
}

void sim_init(struct sim *sim, uint64_t seed, bool is_tracing)
{
	*sim = (struct sim){ .seed = seed, .is_tracing = is_tracing };
	sim_random_init(&sim->weather_random, seed, 1);
	sim_random_init(&sim->network_random, seed, 2);
	sim_random_init(&sim->upstream_random, seed, 3);
}

void sim_fini(struct sim *sim)
{
	while (sim->chunks != NULL) {
		struct sim_chunk *chunk = sim->chunks;

		sim->chunks = chunk->next;
		free(chunk);
	}
	free(sim->heap);
}

static void *sim_must(void *memory)
{
	if (memory == NULL) {
		fputs("check_sim: out of memory\n", stderr);
		abort();
	}
	return memory;
}

void *sim_alloc(struct sim *sim, size_t bytes)
{
	struct sim_chunk *chunk = sim->chunks;
	void *memory;

	bytes = (bytes + SIM_ALIGN - 1) / SIM_ALIGN * SIM_ALIGN;
	if (chunk == NULL || chunk->capacity_bytes - chunk->used_bytes < bytes) {
		size_t capacity = bytes > SIM_CHUNK_BYTES ? bytes : SIM_CHUNK_BYTES;

		chunk = sim_must(malloc(sizeof(*chunk) + capacity));
		chunk->capacity_bytes = capacity;
		chunk->used_bytes = 0;
		chunk->next = sim->chunks;
		sim->chunks = chunk;
	}
	memory = chunk->bytes + chunk->used_bytes;
	chunk->used_bytes += bytes;
	return memset(memory, 0, bytes);
}

/* heap[1] is the earliest; heap[0] is not used. */
static bool sim_is_before(const struct sim_event *a, const struct sim_event *b)
{
	return a->at_us < b->at_us || (a->at_us == b->at_us && a->order < b->order);
}

static void sim_heap_put(struct sim *sim, struct sim_event *event, size_t place)
{
	sim->heap[place] = event;
	event->place = place;
}

static void sim_heap_rise(struct sim *sim, struct sim_event *event, size_t place)
{
	while (place > 1 && sim_is_before(event, sim->heap[place / 2])) {
		sim_heap_put(sim, sim->heap[place / 2], place);
		place /= 2;
	}
	sim_heap_put(sim, event, place);
}

static void sim_heap_sink(struct sim *sim, struct sim_event *event, size_t place)
{
	for (;;) {
		size_t child = place * 2;

		if (child > sim->heap_count)
			break;
		if (child < sim->heap_count &&
		    sim_is_before(sim->heap[child + 1], sim->heap[child]))
			child++;
		if (!sim_is_before(sim->heap[child], event))
			break;
		sim_heap_put(sim, sim->heap[child], place);
		place = child;
	}
	sim_heap_put(sim, event, place);
}

void sim_cancel_event(struct sim *sim, struct sim_event *event)
{
	struct sim_event *last;
	size_t place = event->place;

	if (place == 0)
		return;
	event->place = 0;
	last = sim->heap[sim->heap_count--];
	if (last == event)
		return;
	if (place > 1 && sim_is_before(last, sim->heap[place / 2]))
		sim_heap_rise(sim, last, place);
	else
		sim_heap_sink(sim, last, place);
}

void sim_set_event(struct sim *sim, struct sim_event *event, uint64_t delay_us)
{
	sim_cancel_event(sim, event);
	event->at_us = sim->now_us + delay_us;
	event->order = ++sim->last_order;
	if (sim->heap_count + 2 > sim->heap_capacity) {
		size_t capacity = sim->heap_capacity * 2 + 256;

		/* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers they are */
		sim->heap = sim_must(realloc(sim->heap, capacity * sizeof(*sim->heap)));
		sim->heap_capacity = capacity;
	}
	sim_heap_rise(sim, event, ++sim->heap_count);
}

bool sim_step(struct sim *sim)
{
	struct sim_event *event;

	if (sim->heap_count == 0)
		return false;
	event = sim->heap[1];
	sim_cancel_event(sim, event);
	sim->now_us = event->at_us;
	sim->events_run++;
	event->run(sim, event);
	return true;
}

void sim_fail(struct sim *sim, const char *rule, const char *format, ...)
{
	va_list args;

	if (sim_has_failed(sim))
		return;
	snprintf(sim->failed_rule, sizeof(sim->failed_rule), "%s", rule);
	va_start(args, format);
	vsnprintf(sim->failed_text, sizeof(sim->failed_text), format, args);
	va_end(args);
	sim_trace(sim, "BROKEN %s: %s", sim->failed_rule, sim->failed_text);
}

bool sim_has_failed(const struct sim *sim)
{
	return sim->failed_rule[0] != '\0';
}

void sim_trace_line(const struct sim *sim, const char *format, ...)
{
	va_list args;

	printf("%10.6f ", (double)sim->now_us / SIM_S);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}
