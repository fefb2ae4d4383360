/* The oracle's books; seen by sim_oracle.c and sim_oracle_view.c only. */
#ifndef SIM_ORACLE_PRIVATE_H
#define SIM_ORACLE_PRIVATE_H

#include "sim/sim_disk.h"
#include "sim/sim_oracle.h"

enum { SIM_ORACLE_VERIFIERS = 512 };

/* A WRITE call, or a SETATTR of the size. */
struct sim_change {
	uint32_t file;
	uint32_t first; /* block; a cut: the new size */
	uint32_t count; /* 0 for a cut */
	uint32_t client;
	uint32_t uid;
	bool is_cut;
	bool is_acked;
	bool is_answered;
	bool is_done; /* the proxy answered OK, in the life it was last taken in */
	uint64_t done_us;
	bool is_sent; /* in that life */
	bool is_told_error;
	unsigned int life; /* of the proxy that took it in last; 0: none did */
	uint32_t rank;	   /* the last one; 0: was never taken in */
	/* The file is at least so large because of it: as answered early, as received. */
	uint32_t sent_claim;
	uint32_t claim;
	uint8_t written[SIM_CALL_BLOCKS_MAX]; /* how often upstream */
};

struct sim_oracle_block {
	uint32_t floor;
	uint32_t acked;
	uint32_t lost;
	uint32_t hidden;
	uint32_t hole;
};

struct sim_oracle_file {
	struct sim_oracle_block block[SIM_BLOCKS_MAX];
	uint32_t cut; /* id of the last one, by rank, that was acked; 0: none */
	/* Ids of the changes that matter for the size: not those before the last cut. */
	uint32_t *live;
	uint32_t live_count;
	uint32_t live_capacity;
};

struct sim_oracle {
	struct sim *sim;
	struct sim_change *change; /* by id */
	uint32_t id_count;
	uint32_t capacity;
	uint32_t *by_rank; /* the change that was taken in with it */
	uint32_t rank_capacity;
	uint32_t last_rank;
	uint32_t losses; /* counts everything that takes acknowledgements back */
	struct sim_oracle_file file[SIM_FILES_MAX];
	unsigned int verifier_count;
	struct nfs3_verifier verifier[SIM_ORACLE_VERIFIERS];
};

/* A copy of twice the size, of an array whose capacity is not 0. */
void *sim_oracle_grow(const struct sim_oracle *oracle, const void *array,
		      uint32_t *capacity, size_t element_bytes);

/* sim_oracle_view.c: a change was issued; a cut was acknowledged. */
void sim_oracle_add_live(struct sim_oracle *oracle, uint32_t id);
void sim_oracle_note_cut(struct sim_oracle *oracle, uint32_t id);

#endif
