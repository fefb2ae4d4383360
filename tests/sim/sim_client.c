/*
 * A client's calls and connections: every call is retransmitted with its xid until it is
 * answered, on the same connection after a minute, on the next one after a break.
 *
 * The hard case is an answer that comes for a call already answered (it was retransmitted):
 * it is dropped, like everything from a connection that was given up.
 *
 * Does not know what the answers mean: sim_client_pages.c does.
 */
#include "sim/sim_client_private.h"

#include <stdio.h>

#include "sim/sim_frontend.h"
#include "sim/sim_proxy.h"

enum {
	SIM_RETRANSMIT_US = 60 * SIM_S,
	SIM_PATIENCE_US = 500 * SIM_MS, /* with a connection that stands still */
	SIM_PATIENCE_STEPS = 60,	/* without it */
	SIM_STREAM_CLIENT = 100,
};

const char *sim_proc_name(enum nfs3_proc proc)
{
	static const char *const names[] = {
#define X(number, name, text) [number] = (text),
		NFS3_PROC_TABLE(X)
#undef X
	};

	return names[proc];
}

const char *sim_status_name(uint32_t status)
{
	return status == SIM_STATUS_RPC_ERROR ? "an RPC error"
					      : nfs3_status_name(status);
}

static void sim_client_on_reconnect(struct sim *sim, struct sim_event *event);
static void sim_client_on_leave(struct sim *sim, struct sim_event *event);

struct sim_client *sim_client_new(struct sim *sim, unsigned int number)
{
	struct sim_client *client = sim_alloc(sim, sizeof(*client));
	unsigned int i;

	client->sim = sim;
	client->number = number;
	client->kind = &sim_kinds[sim->plan.kind[number]];
	client->steps_left = sim->plan.steps;
	sim_random_init(&client->random, sim->seed, SIM_STREAM_CLIENT + number);
	client->last_xid = (uint32_t)sim_random_below(&client->random, 1000) * 1000;
	TAILQ_INIT(&client->calls);
	client->step.run = sim_app_on_step;
	client->kick.run = sim_app_on_kick;
	for (i = 0; i < SIM_SLOTS_MAX; i++) {
		client->slot[i].client = client;
		client->slot[i].reconnect.run = sim_client_on_reconnect;
		client->slot[i].leave.run = sim_client_on_leave;
	}
	return client;
}

unsigned int sim_client_number(const struct sim_client *client)
{
	return client->number;
}

uint64_t sim_client_calls(const struct sim_client *client)
{
	return client->calls_sent;
}

uint64_t sim_client_answers(const struct sim_client *client)
{
	return client->calls_sent - client->call_count;
}

void sim_client_start(struct sim_client *client)
{
	unsigned int i;

	sim_trace(client->sim, "client %u is %s", client->number, client->kind->name);
	for (i = 0; i < client->sim->plan.slots; i++)
		client->slot[i].connection =
			sim_network_connect(client->sim, client, i);
	sim_set_event(client->sim, &client->step,
		      sim_random_below(&client->random, client->sim->plan.think_us));
}

/* --- calls --- */

static void sim_client_transmit(struct sim_client_call *call)
{
	struct sim_client *client = call->client;

	sim_network_send(client->sim, client->slot[call->slot].connection, &call->args);
	sim_set_event(client->sim, &call->retransmit, SIM_RETRANSMIT_US);
}

static void sim_client_on_retransmit(struct sim *sim, struct sim_event *event)
{
	struct sim_client_call *call =
		container_of(event, struct sim_client_call, retransmit);

	(void)sim;
	if (call->client->slot[call->slot].is_connected)
		sim_client_transmit(call);
}

bool sim_client_may_call(const struct sim_client *client)
{
	return client->call_count < client->sim->plan.calls_max;
}

struct sim_client_call *sim_client_issue(struct sim_client *client,
					 const struct sim_args *args)
{
	struct sim *sim = client->sim;
	struct sim_client_call *call = sim_alloc(sim, sizeof(*call));

	call->client = client;
	call->issued_us = sim->now_us;
	call->slot = (unsigned int)sim_random_below(&client->random, sim->plan.slots);
	call->args = *args;
	call->args.xid = ++client->last_xid;
	call->args.client = client->number;
	if (args->proc == NFS3_PROC_WRITE || args->sets_size)
		call->args.id = sim_oracle_issue(sim->oracle, &call->args);
	sim_oracle_look(sim->oracle, &call->args, &call->view);
	call->retransmit.run = sim_client_on_retransmit;
	TAILQ_INSERT_TAIL(&client->calls, call, link);
	client->call_count++;
	client->calls_sent++;
	sim_trace(sim, "client %u: xid %u %s file %u blocks %u+%u stable %d change %u",
		  client->number, call->args.xid, sim_proc_name(args->proc), args->file,
		  args->first, args->count, (int)args->stable, call->args.id);
	if (client->slot[call->slot].is_connected)
		sim_client_transmit(call);
	return call;
}

static struct sim_client_call *sim_client_find(struct sim_client *client,
					       const struct sim_reply *reply)
{
	struct sim_client_call *call;

	TAILQ_FOREACH(call, &client->calls, link) {
		if (call->args.xid == reply->xid)
			return call;
	}
	return NULL;
}

/* An error that nothing in this run can have caused. */
static void sim_client_check_status(struct sim_client *client,
				    const struct sim_client_call *call,
				    const struct sim_reply *reply)
{
	if (reply->status == NFS3_OK || reply->status == NFS3ERR_JUKEBOX ||
	    client->sim->plan.is_error_possible)
		return;
	sim_fail(client->sim, "I3", "client %u is told %s by %s without any cause",
		 client->number, sim_status_name(reply->status),
		 sim_proc_name(call->args.proc));
}

static void sim_client_take_reply(struct sim_client *client,
				  const struct sim_client_call *call,
				  const struct sim_reply *reply)
{
	struct sim_oracle *oracle = client->sim->oracle;
	struct sim_client_file *file = &client->file[call->args.file];

	if (call->args.id != 0)
		sim_oracle_answer(oracle, call->args.id, reply->status == NFS3_OK);
	if (call->args.proc == NFS3_PROC_WRITE) {
		file->writes_out--;
		sim_pages_on_write_reply(client, call, reply);
	} else if (call->args.proc == NFS3_PROC_COMMIT) {
		file->commits_out--;
		sim_pages_on_commit_reply(client, call, reply);
	} else if (call->args.proc == NFS3_PROC_READ) {
		if (reply->status == NFS3_OK)
			sim_oracle_check_read(oracle, &call->args, &call->view, reply);
	} else if (call->args.sets_size) {
		file->cut_out = false;
	}
}

void sim_client_on_reply(struct sim_client *client, unsigned int slot,
			 const struct sim_reply *reply)
{
	struct sim_client_call *call = sim_client_find(client, reply);
	uint32_t file;

	(void)slot;
	if (call == NULL)
		return;
	sim_trace(client->sim, "client %u: xid %u %s answered: %s", client->number,
		  reply->xid, sim_proc_name(call->args.proc),
		  sim_status_name(reply->status));
	TAILQ_REMOVE(&client->calls, call, link);
	client->call_count--;
	sim_cancel_event(client->sim, &call->retransmit);
	sim_client_check_status(client, call, reply);
	if (reply->has_size)
		sim_oracle_check_size(client->sim->oracle, &call->args, &call->view,
				      reply->size);
	sim_client_take_reply(client, call, reply);
	for (file = 0; file < client->sim->plan.file_count; file++)
		sim_app_go_on(client, file);
}

/* --- connections --- */

static unsigned int sim_slot_number(const struct sim_slot *slot)
{
	return (unsigned int)(slot - slot->client->slot);
}

static void sim_client_on_reconnect(struct sim *sim, struct sim_event *event)
{
	struct sim_slot *slot = container_of(event, struct sim_slot, reconnect);

	slot->connection =
		sim_network_connect(sim, slot->client, sim_slot_number(slot));
}

void sim_client_on_disconnected(struct sim_client *client, unsigned int slot)
{
	struct sim *sim = client->sim;
	uint64_t delay_us = sim_random_below(
		&client->random,
		sim_random_chance(&client->random, 200) ? 5 * SIM_S : 20 * SIM_MS);
	uint64_t away_us = client->away_until_us > sim->now_us
				   ? client->away_until_us - sim->now_us
				   : 0;

	/* Meanwhile calls on the other connection must not push out what is kept for it. */
	if (delay_us > sim->plan.think_us * SIM_PATIENCE_STEPS)
		delay_us = sim->plan.think_us * SIM_PATIENCE_STEPS;
	sim_trace(sim, "client %u: connection %u is gone", client->number, slot);
	client->slot[slot].is_connected = false;
	sim_set_event(sim, &client->slot[slot].reconnect, delay_us + away_us);
}

static void sim_client_give_up(struct sim_client *client, unsigned int slot)
{
	if (!client->slot[slot].is_connected)
		return;
	sim_network_give_up(client->sim, client->slot[slot].connection);
	sim_client_on_disconnected(client, slot);
}

void sim_client_on_connected(struct sim_client *client, unsigned int slot)
{
	struct sim_client_call *call;

	client->slot[slot].is_connected = true;
	if (client->away_until_us > client->sim->now_us) {
		sim_client_give_up(client, slot);
		return;
	}
	TAILQ_FOREACH(call, &client->calls, link) {
		if (call->slot == slot)
			sim_client_transmit(call);
	}
}

static void sim_client_on_leave(struct sim *sim, struct sim_event *event)
{
	struct sim_slot *slot = container_of(event, struct sim_slot, leave);

	(void)sim;
	sim_client_give_up(slot->client, sim_slot_number(slot));
}

static unsigned int sim_client_any_slot(struct sim_client *client)
{
	return (unsigned int)sim_random_below(&client->random, client->sim->plan.slots);
}

void sim_client_break_session(struct sim_client *client)
{
	sim_client_give_up(client, sim_client_any_slot(client));
}

void sim_client_pause_session(struct sim_client *client, uint64_t for_us, bool leaves)
{
	unsigned int slot = sim_client_any_slot(client);

	if (!client->slot[slot].is_connected ||
	    client->slot[slot].connection->session == NULL)
		return;
	sim_frontend_pause(client->slot[slot].connection->session, for_us);
	if (leaves)
		sim_set_event(client->sim, &client->slot[slot].leave,
			      sim_random_below(&client->random, SIM_PATIENCE_US));
}

void sim_client_be_away(struct sim_client *client, uint64_t for_us)
{
	unsigned int i;

	sim_trace(client->sim, "client %u is away for %.1f s", client->number,
		  (double)for_us / SIM_S);
	client->away_until_us = client->sim->now_us + for_us;
	for (i = 0; i < client->sim->plan.slots; i++)
		sim_client_give_up(client, i);
}

/* --- the end --- */

uint64_t sim_client_waits_us(const struct sim_client *client)
{
	const struct sim_client_call *oldest = TAILQ_FIRST(&client->calls);

	return oldest == NULL ? 0 : client->sim->now_us - oldest->issued_us + 1;
}

bool sim_client_is_done(const struct sim_client *client)
{
	return client->steps_left == 0;
}

void sim_client_finish(struct sim_client *client)
{
	uint32_t file;

	client->is_finishing = true;
	for (file = 0; file < SIM_FILES_MAX; file++)
		client->file[file].rounds = 0;
	sim_set_event(client->sim, &client->kick, 0);
}

bool sim_client_is_quiet(const struct sim_client *client)
{
	uint32_t file;

	if (client->call_count > 0)
		return false;
	for (file = 0; file < client->sim->plan.file_count; file++) {
		if (client->file[file].is_syncing ||
		    sim_pages_count(client, file, SIM_PAGE_CLEAN) != SIM_BLOCKS_MAX)
			return false;
	}
	return true;
}

void sim_client_describe(const struct sim_client *client, char *text, size_t bytes)
{
	const struct sim_client_call *call = TAILQ_FIRST(&client->calls);

	if (call == NULL)
		snprintf(text, bytes, "client %u (%s) waits for nothing",
			 client->number, client->kind->name);
	else
		snprintf(text, bytes, "client %u (%s) waits for xid %u, %s of file %u",
			 client->number, client->kind->name, call->args.xid,
			 sim_proc_name(call->args.proc), call->args.file);
}
