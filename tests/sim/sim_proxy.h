/*
 * One life of the proxy: the real engine, and what the daemon puts around it.
 */
#ifndef SIM_PROXY_H
#define SIM_PROXY_H

#include "sim/sim.h"
#include "sim/sim_frontend.h"

struct sim_proxy *sim_proxy_new(struct sim *sim);
/*
 * It dies, or is fenced: all it holds is gone, what has arrived at the upstream may still be
 * carried out. Then a new one takes its place.
 */
void sim_proxy_restart(struct sim_proxy *proxy);
void sim_proxy_free(struct sim_proxy *proxy);
/* Counts lives, from 1. */
unsigned int sim_proxy_life(const struct sim_proxy *proxy);

/* A call that is no duplicate; sim_frontend_answer() follows. */
void sim_proxy_start(struct sim_proxy *proxy, struct call *call);
void sim_proxy_on_disconnect(struct sim_proxy *proxy);
void sim_proxy_drain(struct sim_proxy *proxy);
/* Memory is short. */
void sim_proxy_relieve(struct sim_proxy *proxy);
/* Nothing acked is unproven. */
bool sim_proxy_is_clean(const struct sim_proxy *proxy);
/* Nothing acked is unproven: then the gauges say so too. */
void sim_proxy_check_gauges(const struct sim_proxy *proxy);
/* How long an error waits for its client. */
uint64_t sim_proxy_sticky_us(const struct sim_proxy *proxy);

#endif
