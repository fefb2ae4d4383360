/*
 * NFS clients as the world sees them: connections in, replies in, faults in.
 *
 * What a client does with what it is told differs by kind (sim_client_kind.c); all of
 * them keep pages, send them, and are the ones that are hurt when a promise is broken.
 */
#ifndef SIM_CLIENT_H
#define SIM_CLIENT_H

#include "sim/sim.h"
#include "sim/sim_call.h"

struct sim_client *sim_client_new(struct sim *sim, unsigned int number);
unsigned int sim_client_number(const struct sim_client *client);
void sim_client_start(struct sim_client *client);

/* sim_network.c */
void sim_client_on_connected(struct sim_client *client, unsigned int slot);
void sim_client_on_disconnected(struct sim_client *client, unsigned int slot);
void sim_client_on_reply(struct sim_client *client, unsigned int slot,
			 const struct sim_reply *reply);

/* Faults. */
void sim_client_break_session(struct sim_client *client);
/* The proxy stops reading from it; `leaves`: the client gives up waiting. */
void sim_client_pause_session(struct sim_client *client, uint64_t for_us, bool leaves);
void sim_client_be_away(struct sim_client *client, uint64_t for_us);

/* How long its oldest call is out; 0: it waits for no reply. */
uint64_t sim_client_waits_us(const struct sim_client *client);
/* It has taken all its steps. */
bool sim_client_is_done(const struct sim_client *client);
/* From now on it only syncs all files until nothing is left to do. */
void sim_client_finish(struct sim_client *client);
bool sim_client_is_quiet(const struct sim_client *client);
/* What it still waits for, for the report. */
void sim_client_describe(const struct sim_client *client, char *text, size_t bytes);
/* Calls it has sent, retransmissions not counted. */
uint64_t sim_client_calls(const struct sim_client *client);
/* Answers it has got. */
uint64_t sim_client_answers(const struct sim_client *client);

#endif
