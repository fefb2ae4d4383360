/*
 * What READs and attributes may show: the last acknowledged state of the file when they
 * were issued, or anything that was under way since.
 *
 *   issued      the highest rank acknowledged of every block; bounds of the size
 *   answered    every block of that rank or a newer one; the size within the bounds
 *
 * The hard case is a size that is cut while a WRITE extends it: which of the two comes last
 * is decided at the proxy and seen only in the ranks. So a cut that is under way lowers what
 * may be asked for, and one that was acknowledged before limits what may be shown.
 *
 * Does not say which of several permitted contents is the right one.
 */
#include "sim/sim_oracle_private.h"

void sim_oracle_add_live(struct sim_oracle *oracle, uint32_t id)
{
	struct sim_oracle_file *file = &oracle->file[oracle->change[id].file];

	if (file->live_count == file->live_capacity)
		file->live = sim_oracle_grow(oracle, file->live, &file->live_capacity,
					     sizeof(*file->live));
	file->live[file->live_count++] = id;
}

void sim_oracle_note_cut(struct sim_oracle *oracle, uint32_t id)
{
	const struct sim_change *cut = &oracle->change[id];
	struct sim_oracle_file *file = &oracle->file[cut->file];
	uint32_t kept = 0;
	uint32_t i;

	if (cut->rank < oracle->change[file->cut].rank)
		return;
	file->cut = id;
	for (i = 0; i < file->live_count; i++) {
		const struct sim_change *change = &oracle->change[file->live[i]];

		if (!change->is_answered || change->rank > cut->rank)
			file->live[kept++] = file->live[i];
	}
	file->live_count = kept;
}

/* The last block of a change that was promised to be stable, plus 1. */
static uint32_t sim_oracle_promised_end(const struct sim_oracle *oracle,
					const struct sim_change *change)
{
	uint32_t end = change->first + change->count;

	while (end > change->first &&
	       oracle->file[change->file].block[end - 1].floor < change->rank)
		end--;
	return end > change->first ? end : 0;
}

/*
 * The file is at least so large: what was acked since the last cut, less cuts under way.
 * After a loss only what was promised counts.
 */
static uint32_t sim_oracle_size_low(const struct sim_oracle *oracle, uint32_t number,
				    bool after_loss)
{
	const struct sim_oracle_file *file = &oracle->file[number];
	const struct sim_change *cut = &oracle->change[file->cut];
	uint32_t low = cut->first;
	uint32_t lowest_cut = UINT32_MAX;
	uint32_t i;

	for (i = 0; i < file->live_count; i++) {
		const struct sim_change *change = &oracle->change[file->live[i]];
		uint32_t end = change->claim;

		if (change->is_cut) {
			if (change->first < lowest_cut)
				lowest_cut = change->first;
			continue;
		}
		if (after_loss)
			end = sim_oracle_promised_end(oracle, change);
		if (change->rank > cut->rank && end > low)
			low = end;
	}
	return low < lowest_cut ? low : lowest_cut;
}

void sim_oracle_look(const struct sim_oracle *oracle, const struct sim_args *args,
		     struct sim_view *view)
{
	const struct sim_oracle_file *file = &oracle->file[args->file];
	uint32_t i;

	*view = (struct sim_view){
		.size_low = sim_oracle_size_low(oracle, args->file, false),
		.size_floor = sim_oracle_size_low(oracle, args->file, true),
		.cut = file->cut,
		.last_id = oracle->id_count - 1,
		.losses = oracle->losses,
	};
	if (args->proc != NFS3_PROC_READ)
		return;
	for (i = 0; i < args->count; i++) {
		const struct sim_oracle_block *state = &file->block[args->first + i];

		view->acked[i] = state->acked;
		view->floor[i] = state->floor;
	}
}

static void sim_oracle_check_block(struct sim_oracle *oracle,
				   const struct sim_args *args, uint32_t block,
				   uint64_t word, uint32_t needed)
{
	const struct sim_oracle_block *state = &oracle->file[args->file].block[block];
	uint32_t id = sim_block_id(word);
	uint32_t rank = word == 0 ? state->hole : 0;

	if (word != 0) {
		if (!sim_block_is_at(word, args->file, block) ||
		    !sim_oracle_covers(oracle, id, args->file, block)) {
			sim_fail(
				oracle->sim, "P5",
				"client %u reads bytes in file %u block %u that nobody "
				"wrote there",
				args->client, args->file, block);
			return;
		}
		rank = sim_oracle_rank(oracle, id);
	}
	if (rank < needed)
		sim_fail(
			oracle->sim, "P5",
			"client %u reads change %u in file %u block %u, older than what "
			"was acknowledged before",
			args->client, id, args->file, block);
}

void sim_oracle_check_read(struct sim_oracle *oracle, const struct sim_args *args,
			   const struct sim_view *view, const struct sim_reply *reply)
{
	uint32_t i;

	for (i = 0; i < args->count; i++) {
		uint32_t block = args->first + i;
		const struct sim_oracle_block *state =
			&oracle->file[args->file].block[block];
		uint32_t needed = view->acked[i];

		if (needed <= state->lost || needed <= state->hidden)
			needed = view->floor[i];
		sim_oracle_check_block(oracle, args, block,
				       i < reply->count ? reply->block[i] : 0, needed);
	}
}

/* The file is at most so large: the last cut, and what came after it. */
static uint32_t sim_oracle_size_high(const struct sim_oracle *oracle,
				     const struct sim_oracle_file *file)
{
	const struct sim_change *cut = &oracle->change[file->cut];
	uint32_t high = cut->first;
	uint32_t i;

	for (i = 0; i < file->live_count; i++) {
		const struct sim_change *change = &oracle->change[file->live[i]];
		uint32_t end = change->first + change->count;

		if (change->rank > cut->rank && end > high)
			high = end;
	}
	return high;
}

void sim_oracle_check_size(struct sim_oracle *oracle, const struct sim_args *args,
			   const struct sim_view *view, uint64_t size)
{
	const struct sim_oracle_file *file = &oracle->file[args->file];
	uint32_t low = view->size_low;
	uint32_t high;
	uint32_t i;

	/* Another cut was acked meanwhile: what counted before is not known any more. */
	if (view->cut != file->cut)
		return;
	high = sim_oracle_size_high(oracle, file);
	if (view->losses != oracle->losses)
		low = view->size_floor;
	for (i = 0; i < file->live_count; i++) {
		uint32_t id = file->live[i];
		const struct sim_change *change = &oracle->change[id];

		if (id > view->last_id && change->is_cut && change->first < low)
			low = change->first;
	}
	if (size < low || size > high)
		sim_fail(oracle->sim, "P5",
			 "client %u sees %llu blocks in file %u with %s, not %u to %u",
			 args->client, (unsigned long long)size, args->file,
			 sim_proc_name(args->proc), low, high);
}

void sim_oracle_check_shown(struct sim_oracle *oracle, const struct sim_args *args,
			    uint64_t size)
{
	const struct sim_oracle_file *file = &oracle->file[args->file];
	uint32_t low = 0;
	uint32_t cut_rank = oracle->change[file->cut].rank;
	uint32_t i;

	for (i = 0; i < file->live_count; i++) {
		const struct sim_change *change = &oracle->change[file->live[i]];

		/* Cuts that are not acked yet may have been carried out or not. */
		if (change->is_cut && change->rank > cut_rank)
			cut_rank = change->rank;
	}
	for (i = 0; i < file->live_count; i++) {
		const struct sim_change *change = &oracle->change[file->live[i]];

		if (change->rank > cut_rank && change->sent_claim > low)
			low = change->sent_claim;
	}
	if (size < low)
		sim_fail(
			oracle->sim, "P5",
			"a reply to %s of client %u shows %llu blocks of file %u after "
			"WRITEs up to block %u were answered",
			sim_proc_name(args->proc), args->client,
			(unsigned long long)size, args->file, low);
}
