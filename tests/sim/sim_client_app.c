/*
 * What the applications of a client do, step by step, and how a sync goes on.
 *
 *   sync: dirty pages --> WRITEs --> all answered --> COMMIT --> answered --> any left? again
 *
 * The hard case is to end: a sync goes on as long as its COMMITs redirty pages. When no
 * faults happen any more it has to come to its end soon.
 *
 * Steps do not wait for each other: several threads of a client work on the same files.
 */
#include <string.h>

#include "sim/sim_client_private.h"
#include "sim/sim_weather.h"

enum {
	SIM_SYNC_ROUNDS_MAX = 40, /* of one sync when the weather is over */
	SIM_KICK_US = 300 * SIM_MS,
};

static struct sim_args sim_app_args(const struct sim_client *client, uint32_t file,
				    enum nfs3_proc proc)
{
	struct sim_args args;

	memset(&args, 0,
	       sizeof(args)); /* padding too: it is part of what is compared */
	args.proc = proc;
	args.file = file;
	args.uid = SIM_FIRST_UID + client->number % SIM_UIDS;
	return args;
}

static uint32_t sim_app_uid(struct sim_client *client)
{
	if (!client->sim->plan.many_uids)
		return SIM_FIRST_UID + client->number % SIM_UIDS;
	return SIM_FIRST_UID + (uint32_t)sim_random_below(&client->random, SIM_UIDS);
}

static uint32_t sim_app_pick_file(struct sim_client *client)
{
	unsigned int count = client->sim->plan.file_count;

	if (client->sim->plan.own_files)
		return client->number % count;
	return (uint32_t)sim_random_below(&client->random, count);
}

static void sim_app_start_sync(struct sim_client *client, uint32_t file)
{
	struct sim_client_file *f = &client->file[file];

	if (!f->is_syncing) {
		f->is_syncing = true;
		f->rounds = 0;
		if (client->kind->syncs_one_at_once &&
		    sim_pages_fit_one_write(client, file))
			sim_pages_flush(client, file, NFS3_FILE_SYNC);
	}
	sim_app_go_on(client, file);
}

void sim_app_go_on(struct sim_client *client, uint32_t file)
{
	struct sim_client_file *f = &client->file[file];

	if (!f->is_syncing || client->sim->now_us < f->held_until_us)
		return;
	sim_pages_flush(client, file, NFS3_UNSTABLE);
	if (sim_pages_count(client, file, SIM_PAGE_DIRTY) > 0 || f->writes_out > 0 ||
	    f->commits_out > 0)
		return;
	if (sim_pages_count(client, file, SIM_PAGE_UNSTABLE) == 0) {
		f->is_syncing = false;
		return;
	}
	if (!sim_client_may_call(client))
		return;
	if (++f->rounds > SIM_SYNC_ROUNDS_MAX && client->sim->is_over_weather)
		sim_fail(client->sim, "end", "client %u (%s) syncs file %u for ever",
			 client->number, client->kind->name, file);
	sim_pages_commit(client, file);
}

static void sim_app_write(struct sim_client *client, uint32_t file)
{
	struct sim_random *random = &client->random;
	struct sim_client_file *f = &client->file[file];
	uint32_t blocks = client->sim->plan.blocks;
	uint32_t first = (uint32_t)sim_random_below(random, blocks);
	uint32_t count = (uint32_t)sim_random_between(random, 1, SIM_CALL_BLOCKS_MAX);

	if (f->cut_out)
		return;
	if (sim_random_chance(random, 600)) {
		first = f->cursor;
		f->cursor = (first + count) % blocks;
	}
	if (count > blocks - first)
		count = blocks - first;
	sim_pages_dirty(client, file, first, count, sim_app_uid(client));
	if (client->kind->syncs_each_write)
		sim_app_start_sync(client, file);
	else if (sim_random_chance(random, 600))
		sim_pages_flush(client, file, NFS3_UNSTABLE);
}

static void sim_app_read(struct sim_client *client, uint32_t file)
{
	struct sim_args args = sim_app_args(client, file, NFS3_PROC_READ);

	args.first =
		(uint32_t)sim_random_below(&client->random, client->sim->plan.blocks);
	args.count =
		(uint32_t)sim_random_between(&client->random, 1, SIM_CALL_BLOCKS_MAX);
	if (args.count > SIM_BLOCKS_MAX - args.first)
		args.count = SIM_BLOCKS_MAX - args.first;
	sim_client_issue(client, &args);
}

static void sim_app_setattr(struct sim_client *client, uint32_t file, bool sets_size)
{
	struct sim_args args = sim_app_args(client, file, NFS3_PROC_SETATTR);
	struct sim_client_file *f = &client->file[file];

	if (sets_size) {
		if (f->writes_out > 0 || f->cut_out)
			return;
		args.sets_size = true;
		args.first = (uint32_t)sim_random_below(&client->random,
							client->sim->plan.blocks + 1);
		f->cut_out = true;
		sim_pages_drop_from(client, file, args.first);
	}
	sim_client_issue(client, &args);
}

/* A COMMIT nobody waits for; now and then one for nothing. */
static void sim_app_commit(struct sim_client *client, uint32_t file)
{
	if (sim_pages_count(client, file, SIM_PAGE_UNSTABLE) > 0 ||
	    sim_random_chance(&client->random, 100))
		sim_pages_commit(client, file);
}

static void sim_app_act(struct sim_client *client)
{
	uint32_t file = sim_app_pick_file(client);
	uint64_t what = sim_random_below(&client->random, 100);
	struct sim_args args;

	if (what < 50) {
		sim_app_write(client, file);
	} else if (what < 60) {
		sim_pages_flush(client, file, NFS3_UNSTABLE);
	} else if (what < 70) {
		sim_app_start_sync(client, file);
	} else if (!sim_client_may_call(client)) {
		return;
	} else if (what < 78) {
		sim_app_commit(client, file);
	} else if (what < 88) {
		sim_app_read(client, file);
	} else if (what < 94) {
		args = sim_app_args(client, file, NFS3_PROC_GETATTR);
		sim_client_issue(client, &args);
	} else {
		sim_app_setattr(client, file, what >= 96);
	}
}

void sim_app_on_step(struct sim *sim, struct sim_event *event)
{
	struct sim_client *client = container_of(event, struct sim_client, step);
	uint64_t think_us = sim->plan.think_us;

	client->steps_left--;
	sim_weather_on_step(sim, client);
	if (sim->now_us >= client->away_until_us)
		sim_app_act(client);
	if (client->steps_left == 0)
		return;
	/* Bursts, and pauses between them. */
	if (sim_random_chance(&client->random, 100))
		think_us *= 20;
	sim_set_event(sim, &client->step,
		      client->away_until_us > sim->now_us
			      ? client->away_until_us - sim->now_us
			      : sim_random_below(&client->random, think_us));
}

void sim_app_on_kick(struct sim *sim, struct sim_event *event)
{
	struct sim_client *client = container_of(event, struct sim_client, kick);
	uint32_t file;

	for (file = 0; file < sim->plan.file_count; file++) {
		if (client->is_finishing)
			sim_app_start_sync(client, file);
		else
			sim_app_go_on(client, file);
	}
	if (client->is_finishing && !sim_client_is_quiet(client))
		sim_set_event(sim, &client->kick, SIM_KICK_US);
}
