/*
 * The upstream's files: of every block what was written and what is stable, and what a
 * reboot makes of the difference.
 *
 *   WRITE UNSTABLE --> written   COMMIT --> stable := written, as it was when it began
 *   reboot: written := stable, or anything that was written since
 */
#ifndef SIM_DISK_H
#define SIM_DISK_H

#include "sim/sim.h"

/* What a COMMIT found when it began. */
struct sim_disk_snapshot {
	uint32_t size;
	uint32_t rank[SIM_BLOCKS_MAX];
	uint32_t sequence[SIM_BLOCKS_MAX];
};

struct sim_disk *sim_disk_new(struct sim *sim);

/* Copies are known by the rank of the change that made them (sim_oracle.h). */
void sim_disk_write(struct sim_disk *disk, uint32_t file, uint32_t block, uint32_t rank,
		    bool is_stable);
/* SETATTR of the size; stable at once. */
void sim_disk_cut(struct sim_disk *disk, uint32_t file, uint32_t blocks, uint32_t rank);
/* Whose bytes are there; a cut's rank, or 0, for a hole. */
uint32_t sim_disk_written(const struct sim_disk *disk, uint32_t file, uint32_t block);
uint32_t sim_disk_stable(const struct sim_disk *disk, uint32_t file, uint32_t block);
bool sim_disk_is_hole(const struct sim_disk *disk, uint32_t file, uint32_t block);
uint32_t sim_disk_size(const struct sim_disk *disk, uint32_t file);
/* Is there anything written that is not stable? */
bool sim_disk_is_dirty(const struct sim_disk *disk, uint32_t file);

void sim_disk_begin_commit(const struct sim_disk *disk, uint32_t file,
			   struct sim_disk_snapshot *snapshot);
void sim_disk_end_commit(struct sim_disk *disk, uint32_t file,
			 const struct sim_disk_snapshot *snapshot);
/* Some of what was written becomes stable without being asked for. */
void sim_disk_write_back(struct sim_disk *disk, uint32_t file);
/* An error on the medium: some of what was written is gone. True: something was. */
bool sim_disk_drop(struct sim_disk *disk, uint32_t file);
void sim_disk_reboot(struct sim_disk *disk);

#endif
