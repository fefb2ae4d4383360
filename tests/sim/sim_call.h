/*
 * Calls and replies as they travel in the simulator: values without pointers, so that a
 * copy that stays behind in an old connection is as good as the original.
 *
 * A block is 8 bytes that name who wrote it: see sim_block.
 */
#ifndef SIM_CALL_H
#define SIM_CALL_H

#include "nfsgather/call.h"
#include "nfsgather/engine.h"
#include "sim/sim_plan.h"

struct sim_args {
	uint32_t xid;
	enum nfs3_proc proc; /* READ, WRITE, COMMIT, GETATTR, SETATTR */
	uint32_t client;
	uint32_t uid;
	uint32_t file;
	uint32_t first; /* READ, WRITE: blocks first .. first + count - 1 */
	uint32_t count;
	enum nfs3_stable stable; /* WRITE */
	bool sets_size;		 /* SETATTR: to `first` blocks */
	uint32_t id; /* WRITE, SETATTR of the size: the oracle's name for it */
};

struct sim_reply {
	uint32_t xid;
	enum nfs3_proc proc;
	uint32_t status; /* enum nfs3_status, or SIM_STATUS_RPC_ERROR */
	enum nfs3_stable committed;
	uint32_t count; /* blocks */
	struct nfs3_verifier verifier;
	bool has_size;
	uint64_t size; /* blocks */
	uint64_t block[SIM_CALL_BLOCKS_MAX];
};

enum {
	SIM_STATUS_RPC_ERROR = 20000, /* no results; no NFS status has this number */
	SIM_FIRST_UID = 100,
	SIM_UIDS = 2,
};

/* What a WRITE `id` puts into a block; 0 is a hole. */
static inline uint64_t sim_block_make(uint32_t id, uint32_t file, uint32_t block)
{
	return (uint64_t)id << 32 | file << 16 | block;
}

static inline uint32_t sim_block_id(uint64_t word)
{
	return (uint32_t)(word >> 32);
}

static inline bool sim_block_is_at(uint64_t word, uint32_t file, uint32_t block)
{
	return (uint32_t)word == (file << 16 | block);
}

const char *sim_proc_name(enum nfs3_proc proc);
const char *sim_status_name(uint32_t status);

#endif
