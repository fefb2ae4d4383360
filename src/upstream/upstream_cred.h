/*
 * The credential of each call, as the client sent it, on a libnfs context.
 */
#ifndef UPSTREAM_UPSTREAM_CRED_H
#define UPSTREAM_UPSTREAM_CRED_H

#include <stdbool.h>

#include "nfsgather/call.h"
#include "nfsgather/invariant.h"

struct rpc_context;

/* What is set on one context now; zero it together with a new context. */
struct upstream_cred {
	bool known;
	enum rpc_auth_flavor flavor;
	uint32_t body_len;
	uint8_t body[RPC_AUTH_BODY_MAX_BYTES];
};

/* For the calls made on `rpc` from now on. 0, or -ENOMEM with nothing changed. */
MUST_CHECK int upstream_cred_apply(struct upstream_cred *now, struct rpc_context *rpc,
				   const struct rpc_cred *cred);

#endif
