/*
 * Connections between clients and the proxy: in order both ways, until they break. What was
 * on its way then may still arrive at the proxy, late, on a session that the client has
 * left; replies on their way back are lost.
 *
 * Each end has its own view: the client knows at once that it gave a connection up, the
 * proxy learns of it later or never.
 */
#ifndef SIM_NETWORK_H
#define SIM_NETWORK_H

#include "sim/sim.h"
#include "sim/sim_call.h"

struct sim_session;

struct sim_connection {
	struct sim_client *client;
	unsigned int slot;
	bool is_given_up;	     /* the client's view */
	struct sim_session *session; /* the proxy's; NULL: not accepted yet, or closed */
	bool was_accepted;

	/* sim_network.c */
	uint64_t last_there_us;
	uint64_t last_back_us;
	uint64_t answers; /* the client's count when it was given up */
	uint64_t late_us; /* what was on its way when it was given up is late by this */
	bool lost_some;	  /* and nothing behind what was lost arrives */
	struct sim_event accept;
	struct sim_event hang_up;
	struct sim_event reset;
};

/* Connects; the client hears of it with sim_client_on_connected(). */
struct sim_connection *sim_network_connect(struct sim *sim, struct sim_client *client,
					   unsigned int slot);
void sim_network_send(struct sim *sim, struct sim_connection *connection,
		      const struct sim_args *args);
void sim_network_reply(struct sim *sim, struct sim_connection *connection,
		       const struct sim_reply *reply);
/* The client gives the connection up. */
void sim_network_give_up(struct sim *sim, struct sim_connection *connection);
/* The proxy closed it, or died: the client hears of it. */
void sim_network_reset(struct sim *sim, struct sim_connection *connection);

#endif
