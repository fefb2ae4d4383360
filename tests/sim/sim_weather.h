/* When faults happen: chance at every step of a client, out of what the plan allows. */
#ifndef SIM_WEATHER_H
#define SIM_WEATHER_H

#include "sim/sim.h"

void sim_weather_on_step(struct sim *sim, struct sim_client *client);
/* No more faults; those that last end now. */
void sim_weather_end(struct sim *sim);

#endif
