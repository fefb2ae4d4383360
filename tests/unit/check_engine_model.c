/*
 * The relaying engine against a model of everything around it: clients that drop their copy
 * when a COMMIT says they may (as Linux does, WRITE by WRITE), and an upstream that keeps
 * UNSTABLE data apart, loses it, changes its verifier, swallows errors and is cut off.
 * After every promise made to a client the model looks whether the upstream really has the
 * bytes. Each seed is one run; a failing one is printed and runs again alone with
 *   ENGINE_MODEL_SEED=N tests/unit/check_engine_model
 * and ENGINE_MODEL_SEEDS=N runs that many.
 *
 * Not reached: memory running out, and calls left over on a connection that was cut.
 */
#include <stdio.h>
#include <string.h>

#include "nfsgather/engine.h"
#include "unit/unit.h"

enum {
	FILES = 3,
	BLOCKS = 6,
	CLIENTS = 3,
	FLIGHTS = 12,
	STEPS = 400,
	SEEDS = 1500,
};

enum copy_state {
	COPY_NONE,     /* nothing written, or told that it is lost */
	COPY_SENT,     /* WRITE out */
	COPY_UNSTABLE, /* answered; the client still holds the bytes */
	COPY_STABLE,   /* promised: the client has dropped its copy */
};

/* One client's newest bytes of one block; values grow in order of arrival. */
struct copy {
	enum copy_state state;
	uint64_t value;
	struct nfs3_verifier verifier;
	uint64_t answered_at;
};

/* One call between the engine and the upstream. */
struct flight {
	bool used;
	bool at_upstream;
	bool executed;
	bool proving;
	struct engine_op op;
	unsigned int client;
	unsigned int file;
	unsigned int first_block;
	unsigned int block_count;
	uint64_t value;
	uint64_t issued_at;
	unsigned int sent_count;
	struct engine_write_result write_result;
	struct engine_commit_result commit_result;
};

struct world {
	uint64_t random;
	uint64_t clock;
	uint64_t last_value;
	struct nfs3_verifier upstream_verifier;
	uint64_t applied[FILES][BLOCKS];
	uint64_t stable[FILES][BLOCKS];
	struct copy copy[CLIENTS][FILES][BLOCKS];
	struct flight flight[FLIGHTS];
	struct engine *engine;
	struct stats stats;
	bool quiet; /* no more faults */
	unsigned int promises;
	unsigned int rotations;
	char fault[256];
};

static struct nfs3_fh fhs[FILES] = { { .len = 1, .data = "x" },
				     { .len = 1, .data = "y" },
				     { .len = 1, .data = "z" } };

static uint32_t world_random(struct world *world, uint32_t below)
{
	world->random = world->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(world->random >> 33) % below;
}

static bool world_chance(struct world *world, uint32_t percent)
{
	return world_random(world, 100) < percent;
}

static struct flight *flight_of(struct engine_op *op)
{
	return container_of(op, struct flight, op);
}

static void world_fail(struct world *world, const char *what)
{
	if (world->fault[0] == '\0')
		snprintf(world->fault, sizeof(world->fault), "step %llu: %s",
			 (unsigned long long)world->clock, what);
}

static void new_upstream_verifier(struct world *world)
{
	for (size_t i = 0; i < sizeof(world->upstream_verifier.data); i++)
		world->upstream_verifier.data[i] = (uint8_t)world_random(world, 256);
}

static void lose_unstable(struct world *world, unsigned int file)
{
	memcpy(world->applied[file], world->stable[file], sizeof(world->applied[file]));
}

static bool flights_overlap(const struct flight *a, const struct flight *b)
{
	return a->file == b->file && a->first_block < b->first_block + b->block_count &&
	       b->first_block < a->first_block + a->block_count;
}

static void flight_send(struct world *world, struct flight *flight)
{
	flight->at_upstream = true;
	flight->executed = false;
	flight->sent_count = 1;
	for (unsigned int i = 0; i < FLIGHTS && flight->op.kind == ENGINE_OP_WRITE;
	     i++) {
		struct flight *other = &world->flight[i];

		if (other != flight && other->used && other->at_upstream &&
		    other->op.kind == ENGINE_OP_WRITE && flights_overlap(flight, other))
			world_fail(world, "P4: overlapping WRITEs at the upstream");
	}
}

static void send_write(void *owner, struct engine_op *op)
{
	flight_of(op)->proving = false;
	flight_send(owner, flight_of(op));
}

static void send_commit(void *owner, struct engine_op *op)
{
	flight_send(owner, flight_of(op));
}

static void send_proving_commit(void *owner, struct engine_op *op)
{
	flight_of(op)->proving = true;
	flight_send(owner, flight_of(op));
}

static void send_truncate(void *owner, struct engine_op *op)
{
	(void)op;
	world_fail(owner, "nothing truncates here");
}

static void on_rotation(void *owner, const char *reason)
{
	struct world *world = owner;

	(void)reason;
	world->rotations++;
}

/* The client was told that its bytes are stable. */
static void world_promise(struct world *world, unsigned int file, unsigned int block,
			  struct copy *copy)
{
	copy->state = COPY_STABLE;
	world->promises++;
	if (world->stable[file][block] < copy->value)
		world_fail(world,
			   "P1/P2: promised stable, but the upstream has not got it");
}

static void answer_write(void *owner, struct engine_op *op,
			 const struct engine_write_result *result)
{
	struct world *world = owner;
	struct flight *flight = flight_of(op);

	for (unsigned int i = 0; i < flight->block_count; i++) {
		unsigned int block = flight->first_block + i;
		struct copy *copy = &world->copy[flight->client][flight->file][block];

		if (copy->value != flight->value)
			continue; /* the client wrote again meanwhile */
		copy->verifier = result->verifier;
		copy->answered_at = ++world->clock;
		if (result->status != NFS3_OK)
			copy->state = COPY_NONE;
		else if (op->stable != NFS3_UNSTABLE)
			world_promise(world, flight->file, block, copy);
		else
			copy->state = COPY_UNSTABLE;
	}
	if (result->status == NFS3_OK && result->committed < op->stable)
		world_fail(world, "P2: committed less than asked");
	flight->used = false;
}

static void answer_commit(void *owner, struct engine_op *op,
			  const struct engine_commit_result *result)
{
	struct world *world = owner;
	struct flight *flight = flight_of(op);

	for (unsigned int block = 0; block < BLOCKS; block++) {
		struct copy *copy = &world->copy[flight->client][flight->file][block];

		if (copy->state != COPY_UNSTABLE ||
		    copy->answered_at > flight->issued_at)
			continue;
		if (result->status != NFS3_OK)
			copy->state = COPY_NONE; /* the application gets the error */
		else if (memcmp(&copy->verifier, &result->verifier,
				sizeof(copy->verifier)) == 0)
			world_promise(world, flight->file, block, copy);
	}
	flight->used = false;
}

static const struct engine_ops ops = {
	.send_write = send_write,
	.send_commit = send_commit,
	.send_truncate = send_truncate,
	.send_proving_commit = send_proving_commit,
	.answer_write = answer_write,
	.answer_commit = answer_commit,
	.on_rotation = on_rotation,
};

static struct flight *flight_new(struct world *world)
{
	for (unsigned int i = 0; i < FLIGHTS; i++)
		if (!world->flight[i].used) {
			world->flight[i] = (struct flight){
				.used = true,
				.client = world_random(world, CLIENTS),
				.file = world_random(world, FILES),
				.issued_at = ++world->clock,
			};
			return &world->flight[i];
		}
	return NULL;
}

static void client_write(struct world *world, struct flight *flight)
{
	flight->value = ++world->last_value;
	flight->op = (struct engine_op){
		.fh = &fhs[flight->file],
		.client_id = flight->client,
		.offset = flight->first_block * 10,
		.count = flight->block_count * 10,
		.stable = world_chance(world, 20) ? NFS3_FILE_SYNC : NFS3_UNSTABLE,
	};
	for (unsigned int i = 0; i < flight->block_count; i++)
		world->copy[flight->client][flight->file][flight->first_block + i] =
			(struct copy){ .state = COPY_SENT, .value = flight->value };
	ck_assert_int_eq(engine_write(world->engine, &flight->op), 0);
}

static void client_write_somewhere(struct world *world)
{
	struct flight *flight = flight_new(world);

	if (flight == NULL)
		return;
	flight->first_block = world_random(world, BLOCKS);
	flight->block_count = 1 + world_random(world, BLOCKS - flight->first_block);
	client_write(world, flight);
}

static void client_commit(struct world *world, unsigned int client, unsigned int file)
{
	struct flight *flight = flight_new(world);

	if (flight == NULL)
		return;
	flight->client = client;
	flight->file = file;
	flight->op = (struct engine_op){ .fh = &fhs[file], .client_id = client };
	ck_assert_int_eq(engine_commit(world->engine, &flight->op), 0);
}

static void upstream_execute_write(struct world *world, struct flight *flight)
{
	bool downgrade = !world->quiet && world_chance(world, 30);
	bool stable = flight->op.stable != NFS3_UNSTABLE && !downgrade;

	for (unsigned int i = 0; i < flight->block_count; i++) {
		unsigned int block = flight->first_block + i;

		if (world->applied[flight->file][block] > flight->value)
			world_fail(world, "P4: older bytes put over newer ones");
		world->applied[flight->file][block] = flight->value;
		if (stable)
			world->stable[flight->file][block] = flight->value;
	}
	flight->write_result = (struct engine_write_result){
		.status = NFS3_OK,
		.count = flight->op.count,
		.committed = stable ? NFS3_FILE_SYNC : NFS3_UNSTABLE,
		.verifier = world->upstream_verifier,
	};
}

static void upstream_execute_commit(struct world *world, struct flight *flight)
{
	bool fails = !world->quiet && world_chance(world, 10);

	/* A write error is told once, to whoever asks first, and the bytes are gone. */
	if (fails)
		lose_unstable(world, flight->file);
	memcpy(world->stable[flight->file], world->applied[flight->file],
	       sizeof(world->stable[0]));
	flight->commit_result = (struct engine_commit_result){
		.status = fails ? NFS3ERR_IO : NFS3_OK,
		.verifier = world->upstream_verifier,
	};
}

static bool flight_is_commit(const struct flight *flight)
{
	return flight->proving || flight->op.kind == ENGINE_OP_COMMIT;
}

static void upstream_execute(struct world *world, struct flight *flight)
{
	flight->executed = true;
	if (flight_is_commit(flight))
		upstream_execute_commit(world, flight);
	else
		upstream_execute_write(world, flight);
}

static void reply_arrives(struct world *world, struct flight *flight)
{
	flight->at_upstream = false;
	if (flight_is_commit(flight))
		engine_on_commit_result(world->engine, &flight->op,
					&flight->commit_result, flight->sent_count > 1);
	else
		engine_on_write_result(world->engine, &flight->op,
				       &flight->write_result);
}

/* Every call out there is sent again; whether it was executed nobody knows. */
static void connection_cut(struct world *world)
{
	for (unsigned int i = 0; i < FLIGHTS; i++) {
		struct flight *flight = &world->flight[i];

		if (!flight->used || !flight->at_upstream)
			continue;
		if (!flight->executed && world_chance(world, 50))
			upstream_execute(world, flight);
		flight->executed = false;
		flight->sent_count++;
	}
}

static void upstream_restarts(struct world *world)
{
	for (unsigned int file = 0; file < FILES; file++)
		lose_unstable(world, file);
	new_upstream_verifier(world);
	/* Replies already on the way may still arrive, or not. */
	if (world_chance(world, 60))
		connection_cut(world);
}

static void upstream_moves(struct world *world)
{
	struct flight *flight = &world->flight[world_random(world, FLIGHTS)];

	if (!flight->used || !flight->at_upstream)
		return;
	if (flight->executed)
		reply_arrives(world, flight);
	else
		upstream_execute(world, flight);
}

static void world_step(struct world *world)
{
	uint32_t dice = world_random(world, 1000);

	if (dice < 250)
		client_write_somewhere(world);
	else if (dice < 350)
		client_commit(world, world_random(world, CLIENTS),
			      world_random(world, FILES));
	else if (dice < 358)
		upstream_restarts(world);
	else if (dice < 370)
		connection_cut(world);
	else
		upstream_moves(world);
}

static bool world_idle(const struct world *world)
{
	for (unsigned int i = 0; i < FLIGHTS; i++)
		if (world->flight[i].used)
			return false;
	return true;
}

static void world_drain(struct world *world)
{
	for (unsigned int i = 0; i < 100000 && !world_idle(world); i++)
		upstream_moves(world);
	if (!world_idle(world))
		world_fail(world, "a call was never answered");
}

/* What a client does with bytes whose verifier did not match: it writes them again. */
static void client_resend(struct world *world, unsigned int client, unsigned int file)
{
	for (unsigned int block = 0; block < BLOCKS; block++) {
		struct flight *flight;

		if (world->copy[client][file][block].state != COPY_UNSTABLE)
			continue;
		flight = flight_new(world);
		ck_assert_ptr_nonnull(flight);
		flight->client = client;
		flight->file = file;
		flight->first_block = block;
		flight->block_count = 1;
		client_write(world, flight);
		world_drain(world);
	}
}

/* Without further faults, committing and re-sending ends with every byte promised. */
static void world_settle(struct world *world)
{
	world->quiet = true;
	world_drain(world);
	for (unsigned int i = 0; i < CLIENTS * FILES * 3; i++) {
		unsigned int client = i % CLIENTS;
		unsigned int file = i / CLIENTS % FILES;

		client_commit(world, client, file);
		world_drain(world);
		client_resend(world, client, file);
		client_commit(world, client, file);
		world_drain(world);
	}
	for (unsigned int i = 0; i < CLIENTS * FILES * BLOCKS; i++) {
		const struct copy *copy = &world->copy[0][0][0] + i;

		if (copy->state == COPY_SENT || copy->state == COPY_UNSTABLE)
			world_fail(world, "bytes that never became stable");
	}
	if (engine_file_count(world->engine) != 0)
		world_fail(world, "file records left over");
}

static void world_run(uint64_t seed, struct world *world)
{
	struct nfs3_verifier first = { "firstone" };

	memset(world, 0, sizeof(*world));
	world->random = seed * 2654435761u + 1;
	new_upstream_verifier(world);
	world->engine = engine_new(&ops, world, first, &world->stats);
	ck_assert_ptr_nonnull(world->engine);
	for (unsigned int i = 0; i < STEPS && world->fault[0] == '\0'; i++)
		world_step(world);
	if (world->fault[0] == '\0')
		world_settle(world);
	engine_free(world->engine);
}

START_TEST(p1_p2_p3_p4_hold_in_random_worlds)
{
	const char *only = getenv("ENGINE_MODEL_SEED");
	uint64_t first = only != NULL ? strtoull(only, NULL, 10) : 0;
	const char *seeds = getenv("ENGINE_MODEL_SEEDS");
	uint64_t count = seeds != NULL ? strtoull(seeds, NULL, 10) : SEEDS;
	uint64_t last = only != NULL ? first : count - 1;
	static struct world world;
	unsigned long promises = 0;
	unsigned long rotations = 0;

	for (uint64_t seed = first; seed <= last; seed++) {
		world_run(seed, &world);
		ck_assert_msg(world.fault[0] == '\0', "ENGINE_MODEL_SEED=%llu: %s",
			      (unsigned long long)seed, world.fault);
		promises += world.promises;
		rotations += world.rotations;
	}
	/* the worlds were eventful enough to mean something */
	ck_assert_uint_gt(promises, (last - first + 1) * 10);
	ck_assert(only != NULL || rotations > count);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("engine_model");
	TCase *tcase = unit_case(suite, "relay");

	tcase_set_timeout(tcase, 600);
	tcase_add_test(tcase, p1_p2_p3_p4_hold_in_random_worlds);
	return unit_run(suite);
}
