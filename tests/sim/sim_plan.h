/*
 * What kind of run a seed makes: who takes part, how large everything is, and which
 * faults may happen.
 *
 * A quarter of all seeds are calm: nothing goes wrong at the upstream and the proxy lives.
 * In those it is also checked what is not done (no byte written twice, no COMMIT for
 * nothing). The others have a few faults each, not all of them: many faults at once hide
 * what each of them does.
 */
#ifndef SIM_PLAN_H
#define SIM_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "nfsgather/engine.h"

struct sim;

enum {
	SIM_CLIENTS_MAX = 5,
	SIM_FILES_MAX = 3,
	SIM_BLOCKS_MAX = 48, /* of a file */
	SIM_BLOCK_BYTES = 8,
	SIM_CALL_BLOCKS_MAX = 8, /* of a READ or WRITE */
};

/* Chances are per mille: of each step a client takes, or of each call it may happen to. */
#define SIM_FAULT_TABLE(X)                                                             \
	/* At each step of a client: */                                                \
	X(REBOOT, "upstream reboots and loses what was not committed")                 \
	X(ROTATE, "upstream changes its verifier and keeps all data")                  \
	X(DROP, "upstream loses written data and says so at the next COMMIT")          \
	X(ERROR, "WRITEs of a file fail")                                              \
	X(DENY, "the upstream refuses a user for a file")                              \
	X(LINK, "a connection to the upstream breaks")                                 \
	X(SESSION, "a client's connection breaks")                                     \
	X(PAUSE, "the proxy stops reading from a session")                             \
	X(KILL, "the proxy is killed and started again")                               \
	X(ABSENCE, "a client is away, without connection, for minutes")                \
	X(PRESSURE, "the proxy is short of memory")                                    \
	/* At each reply of the proxy: */                                              \
	X(REPLY, "a client's connection breaks under a reply")                         \
	/* At each call at the upstream: */                                            \
	X(SHORT, "a WRITE takes fewer bytes than asked")                               \
	X(JUKEBOX, "try again later")                                                  \
	X(REFUSAL, "the RPC is refused, executed or not")                              \
	X(LOWER, "a stable WRITE is done less stable than asked")                      \
	X(HIGHER, "an UNSTABLE WRITE is done FILE_SYNC")                               \
	X(SLOW, "a COMMIT takes long")

enum sim_fault {
#define X(name, text) SIM_FAULT_##name,
	SIM_FAULT_TABLE(X)
#undef X
		SIM_FAULT_COUNT
};

enum sim_client_kind {
	SIM_CLIENT_LINUX,
	SIM_CLIENT_LINUX_DIRECT,
	SIM_CLIENT_FREEBSD,
	SIM_CLIENT_SOLARIS,
	SIM_CLIENT_LIBNFS,
	SIM_CLIENT_FILE_SYNC,
	SIM_CLIENT_DATA_SYNC,
	SIM_CLIENT_KIND_COUNT
};

struct sim_plan {
	bool is_calm;
	unsigned int client_count;
	enum sim_client_kind kind[SIM_CLIENTS_MAX];
	bool own_files;		/* each client has its own, else all share all */
	bool many_uids;		/* a client writes as one of two users */
	unsigned int slots;	/* connections of a client */
	unsigned int steps;	/* of each client */
	uint64_t think_us;	/* mean time between them */
	unsigned int calls_max; /* of a client at once */
	unsigned int file_count;
	uint32_t blocks;       /* of each file */
	uint32_t wsize_blocks; /* of clients */
	uint32_t wtmax_blocks; /* of the upstream; 0: the proxy never hears of it */
	struct engine_config engine;

	unsigned int fault[SIM_FAULT_COUNT]; /* 0: does not happen in this run */
	bool is_error_possible; /* some fault above may make a client see an error */
	bool errors_rotate;	/* an upstream error changes the upstream's verifier */
	bool zero_verifiers;	/* in replies to stable WRITEs */
	bool omits_attributes;	/* the upstream, now and then */
	uint64_t network_us;	/* one way, at most */
	uint64_t upstream_us;	/* to carry out a call, at most */
	uint64_t commit_us;	/* the same for a COMMIT */
	uint64_t commit_group_us; /* COMMITs end together at multiples of this; 0: alone */
	bool drains;		  /* the proxy drains before the clients are done */
};

const char *sim_fault_text(enum sim_fault fault);
void sim_plan_make(struct sim_plan *plan, uint64_t seed);
void sim_plan_trace(const struct sim *sim);

#endif
