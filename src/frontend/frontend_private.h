/*
 * What the files of this folder share about their frontend. No other folder includes it.
 */
#ifndef FRONTEND_FRONTEND_PRIVATE_H
#define FRONTEND_FRONTEND_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nfsgather/credential.h"
#include "nfsgather/engine.h"
#include "nfsgather/log.h"

#include "admission.h"
#include "call.h"
#include "client.h"
#include "frontend.h"
#include "limits.h"
#include "reply_cache.h"
#include "upstream_io.h"

struct listener_set;
struct session_set;

enum {
	FRONTEND_READ_MAX_BYTES = 1024 * 1024, /* the largest READ libnfs can bring */
	/* Around a WRITE's payload: RPC header with the largest credential, arguments. */
	FRONTEND_RECORD_EXTRA_BYTES = 4096,
	FRONTEND_WTMAX_UNKNOWN_BYTES = 4 * 1024 * 1024,
	/* What every client takes for granted, also when one file system has less. */
	FRONTEND_WTMAX_FLOOR_BYTES = 1024 * 1024,
	/* The reply cache, at most: this part of what the upstream owns of `memory`. */
	FRONTEND_REPLY_CACHE_PART = 16,
	FRONTEND_PEER_LIMITS = 64,
};

struct frontend {
	char *name; /* of the upstream, which is freed first */
	/* from the configuration */
	struct event_base *base;
	const struct clock *clock;
	const struct upstream_ops *upstream_ops;
	struct upstream *upstream;
	struct stats *stats;
	struct access_rules rules;
	char **exports; /* normalised; see call_mount.h */
	size_t export_count;

	struct admission_share *share;
	struct engine *engine;
	struct event *engine_timer; /* engine_clock.c */
	uint64_t engine_wakes_us;   /* when it fires; UINT64_MAX: never */
	uint64_t relieves_us; /* next look at who waits for memory; or UINT64_MAX */
	struct upstream_io_pool ios;
	struct credential_table credentials;
	struct limits limits;
	bool is_draining;
	struct reply_cache *replies;
	struct client_table clients;
	struct call_pool calls;
	/* Calls there was no memory to let into the engine, in order of arrival; engine_glue.c. */
	struct call_list starved;
	struct listener_set *listeners;
	struct session_set *sessions;
	uint32_t wtmax_seen_bytes; /* largest FSINFO wtmax that passed; 0: none yet */
	struct log_limit loss_limit;
	struct log_limit garbled_limit;
	struct log_limit peer_limits[FRONTEND_PEER_LIMITS];
};

/* For log lines: the [upstream NAME]. */
const char *frontend_name(const struct frontend *frontend);
/* What is reserved for the buffer goes with its bytes, wherever they go. */
void frontend_attach_charge(struct frontend *frontend, struct buf *buf,
			    size_t charge_bytes);
/* The longest record a session may send now. */
uint32_t frontend_record_max_bytes(const struct frontend *frontend);
/* May another line about this peer's faults be written now? */
bool frontend_peer_may_log(struct frontend *frontend, const struct sockaddr *addr);
/* Work that waits for time to pass; about once a second while frontend_is_busy(). */
void frontend_tick(struct frontend *frontend);
/* Is there anything left that a tick would have to look after? */
bool frontend_is_busy(const struct frontend *frontend);

#endif
