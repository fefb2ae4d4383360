/*
 * The single exit of calls. Each function takes the call, settles its entry in the reply
 * cache, queues the answer on the session that should get it, and frees the call.
 */
#ifndef FRONTEND_REPLY_H
#define FRONTEND_REPLY_H

#include <stdint.h>

#include "call.h"

/*
 * Results without header, with room for one before them. Takes the reference; NULL means
 * memory ran out while they were made: SYSTEM_ERR.
 */
void reply_results(struct call *call, struct buf *results);
/* A failure the procedure can express, without attributes. */
void reply_failure(struct call *call, uint32_t status);
void reply_accept_error(struct call *call, enum rpc_accept accept);
void reply_prog_mismatch(struct call *call, uint32_t low, uint32_t high);
void reply_rpc_mismatch(struct call *call);
void reply_auth_error(struct call *call, enum rpc_auth_error error);
/*
 * What the upstream made of a call it did not answer with results. The client gets the
 * same RPC error it would have got without the proxy between: a version mismatch names
 * version 3, a denial becomes AUTH_TOOWEAK (the only one the proxy's own address and port
 * can be the cause of). UPSTREAM_CANCELLED is dropped: nobody is there to be answered.
 */
void reply_outcome(struct call *call, enum upstream_outcome outcome);
/* The refusal in an engine's result (upstream_io.h). */
void reply_refusal(struct call *call, int refusal);
/* No answer, and no trace in the cache: as if it had never come. */
void reply_drop(struct call *call);

#endif
