/*
 * Between the engine and the upstream: what src/upstream is in the daemon. READs, WRITEs
 * and COMMITs of a file always go over the same one of two connections, attributes over a
 * third; calls in order on the way there, replies in order on the way back; after a break
 * all that was not answered is sent again, in order.
 *
 * Also the place where it is checked what may be on the way at the same time (P4).
 */
#ifndef SIM_LINK_H
#define SIM_LINK_H

#include <sys/queue.h>

#include "sim/sim.h"
#include "sim/sim_upstream.h"

enum { SIM_LINK_BULK = 2, SIM_LINK_CONNECTIONS = SIM_LINK_BULK + 1 };

enum sim_link_state {
	SIM_LINK_QUEUED, /* its connection is down */
	SIM_LINK_TRAVELLING,
	SIM_LINK_AT_UPSTREAM,
	SIM_LINK_RETURNING,
};

/* The sender's memory until `done` runs, or until sim_link_cut(). */
struct sim_link_call {
	struct sim_up_call up; /* args and data are the sender's to set */
	void (*done)(struct sim *sim, struct sim_link_call *call);
	unsigned int sent_count;

	/* the link's */
	enum sim_link_state state;
	struct sim_event event;
	TAILQ_ENTRY(sim_link_call) link;
};

struct sim_link *sim_link_new(struct sim *sim);
void sim_link_send(struct sim_link *link, struct sim_link_call *call);
/* The proxy died: what has arrived may be carried out, nothing comes back. */
void sim_link_cut(struct sim_link *link);
/* One connection breaks, or all of them because the upstream went down. */
void sim_link_break(struct sim_link *link, unsigned int number);
void sim_link_break_all(struct sim_link *link);
/* Calls that were sent and have no result yet. */
size_t sim_link_count(const struct sim_link *link);
/* A COMMIT or a FILE_SYNC WRITE of the file succeeded in this life of the proxy. */
bool sim_link_is_proven(const struct sim_link *link, uint32_t file);
/* Calls that were sent, all in all. */
uint64_t sim_link_sent(const struct sim_link *link);

#endif
