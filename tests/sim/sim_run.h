/* One seed from beginning to end. */
#ifndef SIM_RUN_H
#define SIM_RUN_H

#include "sim/sim.h"

/* Runs it; sim_has_failed() says how it went. The caller ends it with sim_fini(). */
void sim_run(struct sim *sim, uint64_t seed, bool is_tracing);

#endif
