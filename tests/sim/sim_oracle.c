/*
 * Keeps the books on every block and says when a rule is broken.
 *
 * The hard case is to be strict without being wrong: what a client was told is stable
 * has to stay, for ever and over every fault; what was merely acknowledged may be lost, but
 * only after the proxy has announced it, by a new verifier or by an error. So there are two
 * books: floors, which never sink, and acknowledgements, which a loss takes back.
 *
 * Does not judge what clients do with what they are told (sim_client.c), nor what goes on
 * between engine and upstream at the same time (sim_upstream.c). What READs and attributes may
 * show is in sim_oracle_view.c.
 */
#include "sim/sim_oracle_private.h"

#include <string.h>

enum { SIM_ORACLE_FIRST_CAPACITY = 512 };

struct sim_oracle *sim_oracle_new(struct sim *sim)
{
	struct sim_oracle *oracle = sim_alloc(sim, sizeof(*oracle));
	uint32_t file;

	oracle->sim = sim;
	oracle->capacity = SIM_ORACLE_FIRST_CAPACITY;
	oracle->change = sim_alloc(sim, oracle->capacity * sizeof(*oracle->change));
	oracle->rank_capacity = SIM_ORACLE_FIRST_CAPACITY;
	oracle->by_rank =
		sim_alloc(sim, oracle->rank_capacity * sizeof(*oracle->by_rank));
	oracle->id_count = 1; /* 0: nobody; likewise rank 0 */
	for (file = 0; file < SIM_FILES_MAX; file++) {
		oracle->file[file].live_capacity = SIM_ORACLE_FIRST_CAPACITY;
		oracle->file[file].live =
			sim_alloc(sim, SIM_ORACLE_FIRST_CAPACITY * sizeof(uint32_t));
	}
	return oracle;
}

void *sim_oracle_grow(const struct sim_oracle *oracle, const void *array,
		      uint32_t *capacity, size_t element_bytes)
{
	void *bigger = sim_alloc(oracle->sim, (size_t)*capacity * 2 * element_bytes);

	memcpy(bigger, array, *capacity * element_bytes);
	*capacity *= 2;
	return bigger;
}

uint32_t sim_oracle_issue(struct sim_oracle *oracle, const struct sim_args *args)
{
	if (oracle->id_count == oracle->capacity)
		oracle->change = sim_oracle_grow(oracle, oracle->change,
						 &oracle->capacity,
						 sizeof(*oracle->change));
	oracle->change[oracle->id_count] = (struct sim_change){
		.file = args->file,
		.first = args->first,
		.count = args->proc == NFS3_PROC_WRITE ? args->count : 0,
		.client = args->client,
		.uid = args->uid,
		.is_cut = args->proc != NFS3_PROC_WRITE,
	};
	sim_oracle_add_live(oracle, oracle->id_count);
	return oracle->id_count++;
}

uint32_t sim_oracle_rank(const struct sim_oracle *oracle, uint32_t id)
{
	return oracle->change[id].rank;
}

uint32_t sim_oracle_id(const struct sim_oracle *oracle, uint32_t rank)
{
	return oracle->by_rank[rank];
}

bool sim_oracle_is_cut(const struct sim_oracle *oracle, uint32_t rank)
{
	return rank == 0 || oracle->change[oracle->by_rank[rank]].is_cut;
}

uint64_t sim_oracle_done_us(const struct sim_oracle *oracle, uint32_t id)
{
	return oracle->change[id].done_us;
}

unsigned int sim_oracle_life(const struct sim_oracle *oracle, uint32_t id)
{
	return oracle->change[id].life;
}

uint32_t sim_oracle_uid(const struct sim_oracle *oracle, uint32_t id)
{
	return oracle->change[id].uid;
}

bool sim_oracle_covers(const struct sim_oracle *oracle, uint32_t id, uint32_t file,
		       uint32_t block)
{
	const struct sim_change *change = &oracle->change[id];

	return id > 0 && id < oracle->id_count && !change->is_cut &&
	       change->file == file && block >= change->first &&
	       block < change->first + change->count;
}

unsigned int sim_oracle_count_write(struct sim_oracle *oracle, uint32_t id,
				    uint32_t block)
{
	struct sim_change *change = &oracle->change[id];

	change->is_sent = true;
	return ++change->written[block - change->first];
}

bool sim_oracle_was_sent(const struct sim_oracle *oracle, uint32_t id)
{
	return oracle->change[id].is_sent;
}

void sim_oracle_take(struct sim_oracle *oracle, uint32_t id, unsigned int life)
{
	struct sim_change *change = &oracle->change[id];
	uint32_t block;

	if (change->is_answered)
		sim_fail(oracle->sim, "P7",
			 "change %u of client %u runs again after its answer", id,
			 change->client);
	if (change->life == life)
		sim_fail(oracle->sim, "P7",
			 "change %u of client %u runs twice in one life of the proxy",
			 id, change->client);
	change->life = life;
	change->is_done = false;
	change->sent_claim = 0;
	change->is_sent = false;
	change->rank = ++oracle->last_rank;
	if (change->rank == oracle->rank_capacity)
		oracle->by_rank = sim_oracle_grow(oracle, oracle->by_rank,
						  &oracle->rank_capacity,
						  sizeof(*oracle->by_rank));
	oracle->by_rank[change->rank] = id;
	if (!change->is_cut)
		return;
	for (block = change->first; block < SIM_BLOCKS_MAX; block++)
		oracle->file[change->file].block[block].hole = change->rank;
}

/* How large the file is by this change, without what was given up since. */
static uint32_t sim_oracle_claim(const struct sim_oracle *oracle,
				 const struct sim_change *change)
{
	const struct sim_oracle_block *blocks = oracle->file[change->file].block;
	uint32_t end = change->first + change->count;

	while (end > change->first && blocks[end - 1].floor < change->rank &&
	       blocks[end - 1].lost >= change->rank)
		end--;
	return end > change->first ? end : 0;
}

void sim_oracle_send_answer(struct sim_oracle *oracle, uint32_t id, bool ok)
{
	struct sim_change *change = &oracle->change[id];

	change->is_done = ok;
	change->done_us = oracle->sim->now_us;
	/* What the upstream has done when it is answered, it may show in any order. */
	if (ok && !change->is_cut && !change->is_sent)
		change->sent_claim = sim_oracle_claim(oracle, change);
}

void sim_oracle_tell_error(struct sim_oracle *oracle, uint32_t client, uint32_t file)
{
	uint32_t i;

	for (i = 1; i < oracle->id_count; i++) {
		struct sim_change *change = &oracle->change[i];

		if (change->client == client && change->file == file &&
		    (change->is_acked || change->is_done))
			change->is_told_error = true;
	}
}

bool sim_oracle_is_told_error(const struct sim_oracle *oracle, uint32_t id)
{
	return oracle->change[id].is_told_error;
}

static void sim_oracle_ack_blocks(struct sim_oracle *oracle, struct sim_change *change)
{
	struct sim_oracle_block *blocks = oracle->file[change->file].block;
	uint32_t end = change->is_cut ? SIM_BLOCKS_MAX : change->first + change->count;
	uint32_t i;

	for (i = change->first; i < end; i++) {
		if (change->rank <= blocks[i].lost)
			continue;
		if (change->rank > blocks[i].hidden && blocks[i].acked < change->rank)
			blocks[i].acked = change->rank;
	}
}

void sim_oracle_answer(struct sim_oracle *oracle, uint32_t id, bool ok)
{
	struct sim_change *change = &oracle->change[id];

	change->is_answered = true;
	if (!ok)
		return;
	change->is_acked = true;
	if (!change->is_cut)
		change->claim = sim_oracle_claim(oracle, change);
	sim_oracle_ack_blocks(oracle, change);
	if (change->is_cut)
		sim_oracle_note_cut(oracle, id);
}

void sim_oracle_promise(struct sim_oracle *oracle, uint32_t id, uint32_t block,
			const char *by)
{
	struct sim_change *change = &oracle->change[id];
	struct sim_oracle_block *state = &oracle->file[change->file].block[block];
	uint32_t stable = sim_disk_stable(oracle->sim->disk, change->file, block);

	if (change->rank == 0 || stable < change->rank) {
		sim_fail(
			oracle->sim, "P1",
			"client %u was told by %s that file %u block %u of change %u is "
			"stable, but the upstream's stable copy is of change %u",
			change->client, by, change->file, block, id,
			sim_oracle_id(oracle, stable));
		return;
	}
	if (state->floor < change->rank)
		state->floor = change->rank;
	if (state->acked < change->rank)
		state->acked = change->rank;
	if (change->claim < block + 1)
		change->claim = block + 1;
}

void sim_oracle_lose(struct sim_oracle *oracle, uint32_t file, uint32_t first,
		     uint32_t count)
{
	struct sim_oracle_block *blocks = oracle->file[file].block;
	uint32_t i;

	oracle->losses++;
	for (i = first; i < first + count; i++) {
		blocks[i].acked = blocks[i].floor;
		blocks[i].lost = oracle->last_rank;
	}
	for (i = 0; i < oracle->file[file].live_count; i++) {
		struct sim_change *change = &oracle->change[oracle->file[file].live[i]];

		if (change->claim > 0)
			change->claim = sim_oracle_claim(oracle, change);
		if (change->sent_claim > 0)
			change->sent_claim = sim_oracle_claim(oracle, change);
	}
}

void sim_oracle_lose_all(struct sim_oracle *oracle)
{
	uint32_t file;

	for (file = 0; file < SIM_FILES_MAX; file++)
		sim_oracle_lose(oracle, file, 0, SIM_BLOCKS_MAX);
}

void sim_oracle_hide(struct sim_oracle *oracle, uint32_t file, uint32_t block,
		     uint32_t rank)
{
	struct sim_oracle_block *state = &oracle->file[file].block[block];

	oracle->losses++;
	if (state->hidden < rank)
		state->hidden = rank;
	state->acked = state->floor;
}

void sim_oracle_check_write(struct sim_oracle *oracle, uint32_t file, uint32_t block,
			    uint32_t old_rank, uint32_t new_rank)
{
	const struct sim_oracle_block *state = &oracle->file[file].block[block];
	uint32_t old_id = sim_oracle_id(oracle, old_rank);
	uint32_t new_id = sim_oracle_id(oracle, new_rank);

	if (new_rank < state->floor)
		sim_fail(oracle->sim, "P1",
			 "change %u is written over file %u block %u, of which "
			 "something newer was told to be stable",
			 new_id, file, block);
	if (new_rank < old_rank && oracle->change[old_id].is_done &&
	    old_rank > state->lost)
		sim_fail(oracle->sim, "P4",
			 "change %u is written over the newer change %u in file %u "
			 "block %u",
			 new_id, old_id, file, block);
}

void sim_oracle_check_stable(struct sim_oracle *oracle, uint32_t file, uint32_t block,
			     uint32_t rank)
{
	const struct sim_oracle_block *state = &oracle->file[file].block[block];

	if (rank < state->floor)
		sim_fail(oracle->sim, "P1",
			 "file %u block %u falls back to change %u, of which something "
			 "newer was told to be stable",
			 file, block, sim_oracle_id(oracle, rank));
}

static bool sim_verifier_equal(struct nfs3_verifier a, struct nfs3_verifier b)
{
	return memcmp(a.data, b.data, sizeof(a.data)) == 0;
}

void sim_oracle_new_verifier(struct sim_oracle *oracle, struct nfs3_verifier verifier)
{
	static const struct nfs3_verifier zero;
	unsigned int i;

	if (sim_verifier_equal(verifier, zero))
		sim_fail(oracle->sim, "P3", "the verifier is zero");
	for (i = 0; i < oracle->verifier_count; i++)
		if (sim_verifier_equal(verifier, oracle->verifier[i]))
			sim_fail(oracle->sim, "P3", "verifier %u is used again", i + 1);
	if (oracle->verifier_count == SIM_ORACLE_VERIFIERS) {
		sim_fail(oracle->sim, "P3", "the verifier changes without end");
		return;
	}
	oracle->verifier[oracle->verifier_count++] = verifier;
}

unsigned int sim_oracle_verifier_number(const struct sim_oracle *oracle)
{
	return oracle->verifier_count;
}

void sim_oracle_check_verifier(struct sim_oracle *oracle, unsigned int number,
			       struct nfs3_verifier verifier)
{
	unsigned int i;

	for (i = number - 1; i < oracle->verifier_count; i++)
		if (sim_verifier_equal(verifier, oracle->verifier[i]))
			return;
	sim_fail(oracle->sim, "P3", "an answer carries another verifier than is shown");
}
