/*
 * What src/frontend is in the daemon, without sockets: sessions, the real reply cache and
 * the real rules for duplicates around the engine's calls.
 */
#ifndef SIM_FRONTEND_H
#define SIM_FRONTEND_H

#include "nfsgather/credential.h"
#include "nfsgather/engine.h"
#include "sim/sim.h"
#include "sim/sim_call.h"
#include "sim/sim_link.h"
#include "sim/sim_network.h"

struct client;
struct reply_entry;
struct sim_frontend;

/* A call in progress. The reply cache knows calls by this name and never looks inside. */
struct call {
	TAILQ_ENTRY(call) link;
	struct sim_frontend *frontend;
	struct sim_args args;
	struct sim_session *session; /* who gets the reply; NULL: nobody */
	struct client *client;
	struct reply_entry *entry;

	/* sim_proxy.c */
	struct sim_proxy *proxy;
	struct engine_op op;
	struct credential *credential;
	struct buf *payload;
	unsigned int verifier_number; /* shown when it came in */
	uint64_t since;		      /* READ, GETATTR: engine_sequence() when sent */
	struct sim_link_call upstream;
};

struct sim_frontend *sim_frontend_new(struct sim *sim);
/* Every call is forgotten and every session reset. */
void sim_frontend_free(struct sim_frontend *frontend);

struct sim_session *sim_frontend_accept(struct sim_frontend *frontend,
					struct sim_connection *connection);
void sim_frontend_receive(struct sim_session *session, const struct sim_args *args);
/* The proxy hears that the client hung up. */
void sim_frontend_hang_up(struct sim_session *session);
/* Stops reading from it for a while, as admission would. */
void sim_frontend_pause(struct sim_session *session, uint64_t for_us);
uint64_t sim_frontend_client_id(const struct call *call);
/* Answers the call and frees it. */
void sim_frontend_answer(struct call *call, struct sim_reply *reply);

#endif
