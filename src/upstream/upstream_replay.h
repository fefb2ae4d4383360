/*
 * A second look at errors that our own re-sending may have caused: the first sending of
 * the call may have run, so the second found its work done.
 */
#ifndef UPSTREAM_UPSTREAM_REPLAY_H
#define UPSTREAM_UPSTREAM_REPLAY_H

#include <stdbool.h>
#include <sys/queue.h>

#include "nfsgather/upstream.h"

struct upstream;

/*
 * Looks at a call that has its answer. True: the answer is taken care of, done() runs
 * (possibly has run) with the same one or a better one. False: it stands as it is.
 */
bool upstream_replay_start(struct upstream *upstream, struct upstream_request *request);
/* Timer callback: starts those that had no memory to be looked at. */
void upstream_replay_on_memory(int fd, short what, void *arg);
/* While closing: those go back to the done list as they are. */
void upstream_replay_give_up_waiting(struct upstream *upstream);

#endif
