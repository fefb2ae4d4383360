/*
 * What the upstream's FSINFO says about WRITEs, as the engine needs to know it.
 */
#ifndef FRONTEND_LIMITS_H
#define FRONTEND_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "nfsgather/call.h"
#include "nfsgather/clock.h"
#include "nfsgather/upstream.h"

struct call;
struct frontend;

/* Of all file systems seen, the smallest of each; 0: not known. */
struct limits {
	uint32_t wtmax_bytes;
	uint64_t maxfilesize_bytes;
	/* Our own FSINFO, while it is out. */
	bool is_asking;
	bool has_asked;
	mono_us asked;
	struct rpc_cred cred;
	struct nfs_call call;
	struct upstream_request request;
};

/* A FSINFO came back, whoever asked, with this wtmax (0: a failure). */
void limits_on_fsinfo(struct frontend *frontend, uint32_t wtmax_bytes);
/* A WRITE came; when the limits are not known yet, asks in its name. */
void limits_want(const struct call *call);

#endif
