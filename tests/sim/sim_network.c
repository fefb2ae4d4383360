/*
 * Client connections that break at any moment.
 *
 *   client  --send-->   ....args....   --> session      in order
 *   client  <--         ....reply...   <-- session      in order
 *
 * The hard case is a connection the client has given up: its calls, or the first few of
 * them, may lie in the proxy's socket and be read much later, when their retransmissions
 * have long been answered on another one. Half of these connections never tell the proxy
 * that they are dead.
 *
 * Does not lose single messages: TCP does not either.
 */
#include "sim/sim_network.h"

#include "sim/sim_client.h"
#include "sim/sim_frontend.h"

enum { SIM_LATE_ANSWERS_MAX = 900 };

struct sim_there {
	struct sim_event event;
	struct sim_connection *connection;
	bool was_delayed;
	struct sim_args args;
};

struct sim_back {
	struct sim_event event;
	struct sim_connection *connection;
	struct sim_reply reply;
};

static uint64_t sim_network_delay(struct sim *sim, uint64_t *last_us)
{
	uint64_t at = sim->now_us +
		      sim_random_below(&sim->network_random, sim->plan.network_us);

	if (at < *last_us)
		at = *last_us;
	*last_us = at;
	return at - sim->now_us;
}

static void sim_network_on_accept(struct sim *sim, struct sim_event *event)
{
	struct sim_connection *connection =
		container_of(event, struct sim_connection, accept);

	if (connection->is_given_up)
		return;
	connection->session = sim_frontend_accept(sim->frontend, connection);
	connection->was_accepted = true;
	sim_client_on_connected(connection->client, connection->slot);
}

static void sim_network_on_hang_up(struct sim *sim, struct sim_event *event)
{
	struct sim_connection *connection =
		container_of(event, struct sim_connection, hang_up);

	(void)sim;
	if (connection->session != NULL)
		sim_frontend_hang_up(connection->session);
}

static void sim_network_on_reset(struct sim *sim, struct sim_event *event)
{
	struct sim_connection *connection =
		container_of(event, struct sim_connection, reset);

	(void)sim;
	if (connection->is_given_up)
		return;
	connection->is_given_up = true;
	sim_client_on_disconnected(connection->client, connection->slot);
}

struct sim_connection *sim_network_connect(struct sim *sim, struct sim_client *client,
					   unsigned int slot)
{
	struct sim_connection *connection = sim_alloc(sim, sizeof(*connection));

	connection->client = client;
	connection->slot = slot;
	connection->accept.run = sim_network_on_accept;
	connection->hang_up.run = sim_network_on_hang_up;
	connection->reset.run = sim_network_on_reset;
	sim_set_event(sim, &connection->accept,
		      sim_network_delay(sim, &connection->last_there_us));
	return connection;
}

/* False: it is not to arrive now. */
static bool sim_network_still_arrives(struct sim *sim, struct sim_there *there)
{
	struct sim_connection *connection = there->connection;

	if (!connection->is_given_up)
		return true;
	if (!there->was_delayed && connection->late_us > 0) {
		there->was_delayed = true;
		sim_set_event(sim, &there->event, connection->late_us);
		return false;
	}
	/* P7 ends where the reply cache does, at 1,024 answers. */
	if (sim_random_chance(&sim->network_random, 300) ||
	    sim_client_answers(connection->client) - connection->answers >
		    SIM_LATE_ANSWERS_MAX)
		connection->lost_some = true;
	return !connection->lost_some;
}

static void sim_network_on_there(struct sim *sim, struct sim_event *event)
{
	struct sim_there *there = container_of(event, struct sim_there, event);

	if (!sim_network_still_arrives(sim, there))
		return;
	if (there->connection->session != NULL)
		sim_frontend_receive(there->connection->session, &there->args);
}

void sim_network_send(struct sim *sim, struct sim_connection *connection,
		      const struct sim_args *args)
{
	struct sim_there *there = sim_alloc(sim, sizeof(*there));

	there->connection = connection;
	there->args = *args;
	there->event.run = sim_network_on_there;
	sim_set_event(sim, &there->event,
		      sim_network_delay(sim, &connection->last_there_us));
}

/* The client gives it up a moment before the reply is there. */
static bool sim_network_breaks_under_reply(struct sim *sim,
					   struct sim_connection *connection)
{
	if (sim->is_over_weather || connection->is_given_up ||
	    !sim_random_chance(&sim->network_random, sim->plan.fault[SIM_FAULT_REPLY]))
		return false;
	sim_network_give_up(sim, connection);
	sim_client_on_disconnected(connection->client, connection->slot);
	return true;
}

static void sim_network_on_back(struct sim *sim, struct sim_event *event)
{
	struct sim_back *back = container_of(event, struct sim_back, event);

	if (!sim_network_breaks_under_reply(sim, back->connection) &&
	    !back->connection->is_given_up)
		sim_client_on_reply(back->connection->client, back->connection->slot,
				    &back->reply);
}

void sim_network_reply(struct sim *sim, struct sim_connection *connection,
		       const struct sim_reply *reply)
{
	struct sim_back *back = sim_alloc(sim, sizeof(*back));

	back->connection = connection;
	back->reply = *reply;
	back->event.run = sim_network_on_back;
	sim_set_event(sim, &back->event,
		      sim_network_delay(sim, &connection->last_back_us));
}

void sim_network_give_up(struct sim *sim, struct sim_connection *connection)
{
	struct sim_random *random = &sim->network_random;

	if (connection->is_given_up)
		return;
	connection->is_given_up = true;
	connection->answers = sim_client_answers(connection->client);
	if (sim_random_chance(random, 500))
		connection->late_us = sim_random_below(random, 30 * SIM_S);
	if (sim_random_chance(random, 500))
		sim_set_event(sim, &connection->hang_up,
			      connection->late_us +
				      sim_network_delay(sim,
							&connection->last_there_us));
}

void sim_network_reset(struct sim *sim, struct sim_connection *connection)
{
	connection->session = NULL;
	if (!connection->is_given_up)
		sim_set_event(sim, &connection->reset,
			      sim_network_delay(sim, &connection->last_back_us));
}
