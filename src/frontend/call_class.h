/*
 * Where a call goes once dispatch.c has checked it: one start function for each class of
 * call, in call_<class>.c. Every one ends, now or later, in exactly one function of
 * reply.h, which frees the call.
 */
#ifndef FRONTEND_CALL_CLASS_H
#define FRONTEND_CALL_CLASS_H

#include "call.h"

/* WRITE and COMMIT: through the engine (call_write.c, call_commit.c). */
void call_write_start(struct call *call);
void call_commit_start(struct call *call);
/* Relayed when buffered bytes are out of the way (call_barrier.c, call_name.c). */
void call_barrier_start(struct call *call);
void call_name_start(struct call *call);
/* Everything that passes as it is, but for what the proxy must change in results. */
void call_relay_start(struct call *call);
/* MOUNT program, but for what dispatch.c answers itself. */
void call_mount_start(struct call *call);

/* Submits the call as it is; done() gets call_of_request(request). */
void call_submit(struct call *call, void (*done)(struct upstream_request *request));
/* Answers a relayed call. */
void call_relay_done(struct upstream_request *request);
/* The call this request or engine op is part of. */
struct call *call_of_request(struct upstream_request *request);
struct call *call_of_op(struct engine_op *op);
/* Takes attributes out of its results that must not be shown now (call_attrs.c). */
void call_hide_unsettled(struct call *call, struct buf *results);
/* Changes in its results what must not pass unchanged, and counts (call_relay.c). */
void call_relay_adjust(const struct call *call, struct buf *results);

#endif
