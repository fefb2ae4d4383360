/*
 * The real NFS server: takes calls, carries them out in any order and at any time, and
 * makes every mistake that a server may make.
 *
 *   arrived --> carried out --> replied    COMMIT: arrived --> begun --> carried out ..
 *       \___________\________ abandoned: perhaps carried out, nobody is told
 */
#ifndef SIM_UPSTREAM_H
#define SIM_UPSTREAM_H

#include "sim/sim.h"
#include "sim/sim_call.h"
#include "sim/sim_disk.h"

enum sim_up_state {
	SIM_UP_IDLE,
	SIM_UP_ARRIVED,
	SIM_UP_BEGUN, /* COMMIT */
	SIM_UP_CARRIED_OUT,
};

/* A call at the upstream and what came of it; part of a link call. */
struct sim_up_call {
	struct sim_args args;
	const uint8_t *data; /* WRITE: blocks, in the order of the file */
	/* Runs when its reply leaves. */
	void (*replied)(struct sim *sim, struct sim_up_call *call);
	struct sim_event event;
	enum sim_up_state state;
	struct sim_disk_snapshot snapshot;

	/* results */
	int refusal;
	struct sim_reply reply;
};

struct sim_upstream *sim_upstream_new(struct sim *sim);
/* A call reached it. */
void sim_upstream_arrive(struct sim_upstream *upstream, struct sim_up_call *call);
/* Its connection is gone: carried out or not, there will be no reply. */
void sim_upstream_abandon(struct sim_upstream *upstream, struct sim_up_call *call);
bool sim_upstream_is_up(const struct sim_upstream *upstream);

/* Faults; sim_weather.c decides when. */
void sim_upstream_reboot(struct sim_upstream *upstream, uint64_t down_us);
void sim_upstream_rotate(struct sim_upstream *upstream);
void sim_upstream_drop(struct sim_upstream *upstream, uint32_t file);
/* WRITEs of the file fail: the next one, or all until `lasts_us` from now. */
void sim_upstream_break_file(struct sim_upstream *upstream, uint32_t file,
			     uint32_t status, uint64_t lasts_us);
void sim_upstream_deny(struct sim_upstream *upstream, uint32_t file, uint32_t uid,
		       uint64_t lasts_us);
/* Faults are over: from now on it is a good server. */
void sim_upstream_recover(struct sim_upstream *upstream);

#endif
