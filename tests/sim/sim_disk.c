/*
 * Blocks with two copies, and chance between them.
 *
 * The hard case is a reboot: of every block the stable copy may come back, the last written
 * one, or one in between, each for itself, so that WRITEs seem to have been done in another
 * order or in part. Sizes fall back too, as far as no kept block holds them up.
 *
 * Parts of a block are never lost: the upstream takes and keeps whole blocks.
 */
#include "sim/sim_disk.h"

#include "sim/sim_oracle.h"

enum { SIM_DISK_HISTORY = 3 };

/* How much of what is not stable survives a reboot. */
enum sim_disk_fate {
	SIM_DISK_KEEPS_ALL,
	SIM_DISK_KEEPS_NONE,
	SIM_DISK_KEEPS_ANY,
	SIM_DISK_FATE_COUNT
};

struct sim_disk_block {
	uint32_t written;
	uint32_t stable;
	uint32_t written_sequence;
	uint32_t stable_sequence;
	/* Written since it was stable last, and written over: newest at the end. */
	uint32_t history[SIM_DISK_HISTORY];
	uint32_t history_count;
};

struct sim_disk_file {
	struct sim_disk_block block[SIM_BLOCKS_MAX];
	uint32_t size;
	uint32_t stable_size;
};

struct sim_disk {
	struct sim *sim;
	uint32_t last_sequence;
	struct sim_disk_file file[SIM_FILES_MAX];
};

struct sim_disk *sim_disk_new(struct sim *sim)
{
	struct sim_disk *disk = sim_alloc(sim, sizeof(*disk));

	disk->sim = sim;
	return disk;
}

uint32_t sim_disk_written(const struct sim_disk *disk, uint32_t file, uint32_t block)
{
	return disk->file[file].block[block].written;
}

uint32_t sim_disk_stable(const struct sim_disk *disk, uint32_t file, uint32_t block)
{
	return disk->file[file].block[block].stable;
}

bool sim_disk_is_hole(const struct sim_disk *disk, uint32_t file, uint32_t block)
{
	return sim_oracle_is_cut(disk->sim->oracle,
				 sim_disk_written(disk, file, block));
}

uint32_t sim_disk_size(const struct sim_disk *disk, uint32_t file)
{
	return disk->file[file].size;
}

bool sim_disk_is_dirty(const struct sim_disk *disk, uint32_t file)
{
	const struct sim_disk_file *f = &disk->file[file];
	uint32_t i;

	for (i = 0; i < SIM_BLOCKS_MAX; i++)
		if (f->block[i].written != f->block[i].stable)
			return true;
	return f->size != f->stable_size;
}

static void sim_disk_set_stable(struct sim_disk *disk, uint32_t file, uint32_t block,
				uint32_t rank, uint32_t sequence)
{
	struct sim_disk_block *state = &disk->file[file].block[block];

	state->stable = rank;
	state->stable_sequence = sequence;
	state->history_count = 0;
	sim_oracle_check_stable(disk->sim->oracle, file, block, rank);
}

static void sim_disk_remember(struct sim_disk_block *state)
{
	uint32_t i;

	if (state->written == state->stable)
		return;
	if (state->history_count == SIM_DISK_HISTORY) {
		for (i = 1; i < SIM_DISK_HISTORY; i++)
			state->history[i - 1] = state->history[i];
		state->history_count--;
	}
	state->history[state->history_count++] = state->written;
}

void sim_disk_write(struct sim_disk *disk, uint32_t file, uint32_t block, uint32_t rank,
		    bool is_stable)
{
	struct sim_disk_file *f = &disk->file[file];
	struct sim_disk_block *state = &f->block[block];

	sim_oracle_check_write(disk->sim->oracle, file, block, state->written, rank);
	sim_disk_remember(state);
	state->written = rank;
	state->written_sequence = ++disk->last_sequence;
	if (f->size < block + 1)
		f->size = block + 1;
	if (!is_stable)
		return;
	sim_disk_set_stable(disk, file, block, rank, state->written_sequence);
	if (f->stable_size < block + 1)
		f->stable_size = block + 1;
}

void sim_disk_cut(struct sim_disk *disk, uint32_t file, uint32_t blocks, uint32_t rank)
{
	struct sim_disk_file *f = &disk->file[file];
	uint32_t i;

	for (i = blocks; i < SIM_BLOCKS_MAX; i++) {
		sim_oracle_check_write(disk->sim->oracle, file, i, f->block[i].written,
				       rank);
		f->block[i].written = rank;
		f->block[i].written_sequence = ++disk->last_sequence;
		sim_disk_set_stable(disk, file, i, rank, disk->last_sequence);
	}
	f->size = blocks;
	f->stable_size = blocks;
}

void sim_disk_begin_commit(const struct sim_disk *disk, uint32_t file,
			   struct sim_disk_snapshot *snapshot)
{
	const struct sim_disk_file *f = &disk->file[file];
	uint32_t i;

	snapshot->size = f->size;
	for (i = 0; i < SIM_BLOCKS_MAX; i++) {
		snapshot->rank[i] = f->block[i].written;
		snapshot->sequence[i] = f->block[i].written_sequence;
	}
}

void sim_disk_end_commit(struct sim_disk *disk, uint32_t file,
			 const struct sim_disk_snapshot *snapshot)
{
	struct sim_disk_file *f = &disk->file[file];
	uint32_t size = snapshot->size < f->size ? snapshot->size : f->size;
	uint32_t i;

	for (i = 0; i < SIM_BLOCKS_MAX; i++)
		if (snapshot->sequence[i] > f->block[i].stable_sequence)
			sim_disk_set_stable(disk, file, i, snapshot->rank[i],
					    snapshot->sequence[i]);
	if (f->stable_size < size)
		f->stable_size = size;
}

/* One of the copies a block has had since it was stable. */
static uint32_t sim_disk_any_copy(struct sim_random *random,
				  const struct sim_disk_block *state)
{
	uint64_t n = sim_random_below(random, state->history_count + 2);

	if (n == 0)
		return state->stable;
	if (n == 1)
		return state->written;
	return state->history[n - 2];
}

void sim_disk_write_back(struct sim_disk *disk, uint32_t file)
{
	struct sim_random *random = &disk->sim->upstream_random;
	uint32_t i;

	for (i = 0; i < SIM_BLOCKS_MAX; i++) {
		struct sim_disk_block *state = &disk->file[file].block[i];

		if (state->written != state->stable && sim_random_chance(random, 300))
			sim_disk_set_stable(disk, file, i, state->written,
					    state->written_sequence);
	}
}

bool sim_disk_drop(struct sim_disk *disk, uint32_t file)
{
	struct sim_random *random = &disk->sim->upstream_random;
	bool any = false;
	uint32_t i;

	for (i = 0; i < SIM_BLOCKS_MAX; i++) {
		struct sim_disk_block *state = &disk->file[file].block[i];

		if (state->written == state->stable || sim_random_chance(random, 300))
			continue;
		sim_trace(disk->sim, "  upstream drops change %u of file %u block %u",
			  sim_oracle_id(disk->sim->oracle, state->written), file, i);
		sim_oracle_hide(disk->sim->oracle, file, i, state->written);
		state->written = state->stable;
		state->written_sequence = state->stable_sequence;
		state->history_count = 0;
		any = true;
	}
	return any;
}

static void sim_disk_reboot_file(struct sim_disk *disk, uint32_t file,
				 enum sim_disk_fate fate)
{
	struct sim_disk_file *f = &disk->file[file];
	uint32_t i;

	f->size = fate == SIM_DISK_KEEPS_ALL ? f->size : f->stable_size;
	for (i = 0; i < SIM_BLOCKS_MAX; i++) {
		struct sim_disk_block *state = &f->block[i];
		uint32_t rank = state->stable;

		if (fate == SIM_DISK_KEEPS_ALL)
			rank = state->written;
		else if (fate == SIM_DISK_KEEPS_ANY)
			rank = sim_disk_any_copy(&disk->sim->upstream_random, state);
		if (rank != state->written)
			sim_trace(disk->sim,
				  "  file %u block %u: change %u instead of %u", file,
				  i, sim_oracle_id(disk->sim->oracle, rank),
				  sim_oracle_id(disk->sim->oracle, state->written));
		state->written = rank;
		if (rank != state->stable)
			state->written_sequence = ++disk->last_sequence;
		else
			state->written_sequence = state->stable_sequence;
		sim_disk_set_stable(disk, file, i, rank, state->written_sequence);
		if (!sim_disk_is_hole(disk, file, i) && f->size < i + 1)
			f->size = i + 1;
	}
	f->stable_size = f->size;
}

void sim_disk_reboot(struct sim_disk *disk)
{
	uint32_t file;

	for (file = 0; file < SIM_FILES_MAX; file++)
		sim_disk_reboot_file(disk, file,
				     (enum sim_disk_fate)sim_random_below(
					     &disk->sim->upstream_random,
					     SIM_DISK_FATE_COUNT));
}
