/*
 * The engine's time: it is told how late it is whenever it is entered, and woken when it
 * wants to be.
 */
#ifndef FRONTEND_ENGINE_CLOCK_H
#define FRONTEND_ENGINE_CLOCK_H

#include "nfsgather/invariant.h"

struct engine;
struct frontend;

/* 0 or -ENOMEM. */
MUST_CHECK int engine_clock_init(struct frontend *frontend);
void engine_clock_fini(struct frontend *frontend);

/* Somebody waits for memory: the engine gives back what it can, for as long as that is so. */
void engine_clock_want_relief(struct frontend *frontend);
/* Around every call that goes into the engine; a pair may lie inside another one. */
struct engine *engine_clock_enter(struct frontend *frontend);
void engine_clock_leave(struct frontend *frontend);

#endif
