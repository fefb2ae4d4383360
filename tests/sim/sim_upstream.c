/*
 * The upstream: how calls are carried out, well or badly.
 *
 * The hard case is an error on the medium after a WRITE was answered: the bytes are gone,
 * one COMMIT (or stable WRITE) of the file is told, whoever sent it and whether or not its
 * reply arrives, and the next one says OK again. Some servers change their verifier then,
 * some do not.
 *
 * What a COMMIT makes stable is what was written when it began; it does not look back at its
 * end. One thing it never does is to carry out a call of a broken connection later than
 * one of a newer connection: no proxy could stand that (doc/semantics.md, known limits).
 */
#include "sim/sim_upstream.h"

#include <string.h>

#include "sim/sim_oracle.h"

struct sim_up_file {
	uint32_t pending_error; /* told once, to the next COMMIT */
	uint32_t status;	/* of WRITEs; NFS3_OK: they work */
	bool only_once;
	uint64_t status_until_us;
	uint32_t denied_uid;
	uint64_t denied_until_us;
};

struct sim_upstream {
	struct sim *sim;
	struct nfs3_verifier verifier;
	uint64_t up_at_us;
	struct sim_up_file file[SIM_FILES_MAX];
};

static void sim_upstream_new_verifier(struct sim_upstream *upstream)
{
	uint64_t bits = sim_random_next(&upstream->sim->upstream_random);

	memcpy(upstream->verifier.data, &bits, sizeof(bits));
}

struct sim_upstream *sim_upstream_new(struct sim *sim)
{
	struct sim_upstream *upstream = sim_alloc(sim, sizeof(*upstream));

	upstream->sim = sim;
	sim_upstream_new_verifier(upstream);
	return upstream;
}

bool sim_upstream_is_up(const struct sim_upstream *upstream)
{
	return upstream->sim->now_us >= upstream->up_at_us;
}

/* Does a fault that may happen to any call happen to this one? */
static bool sim_upstream_chance(struct sim_upstream *upstream, enum sim_fault fault)
{
	struct sim *sim = upstream->sim;

	return !sim->is_over_weather &&
	       sim_random_chance(&sim->upstream_random, sim->plan.fault[fault]);
}

/* Errors of the medium make some servers say that they rebooted. */
static void sim_upstream_on_error(struct sim_upstream *upstream, uint32_t status)
{
	if (upstream->sim->plan.errors_rotate && status != NFS3ERR_STALE &&
	    status != NFS3ERR_ACCES)
		sim_upstream_new_verifier(upstream);
}

static uint32_t sim_upstream_take_pending(struct sim_upstream *upstream, uint32_t file)
{
	uint32_t status = upstream->file[file].pending_error;

	upstream->file[file].pending_error = NFS3_OK;
	return status;
}

static bool sim_upstream_denies(const struct sim_upstream *upstream,
				const struct sim_args *args)
{
	const struct sim_up_file *file = &upstream->file[args->file];

	return args->uid == file->denied_uid &&
	       upstream->sim->now_us < file->denied_until_us;
}

static uint32_t sim_upstream_write_status(struct sim_upstream *upstream,
					  const struct sim_args *args)
{
	struct sim_up_file *file = &upstream->file[args->file];
	uint32_t status;

	if (sim_upstream_denies(upstream, args))
		return NFS3ERR_ACCES;
	if (sim_upstream_chance(upstream, SIM_FAULT_JUKEBOX))
		return NFS3ERR_JUKEBOX;
	if (file->status != NFS3_OK &&
	    (file->only_once || upstream->sim->now_us < file->status_until_us)) {
		status = file->status;
		if (file->only_once)
			file->status = NFS3_OK;
		return status;
	}
	/* A stable WRITE has to wait for the medium, and may be the one that is told. */
	if (args->stable != NFS3_UNSTABLE && file->pending_error != NFS3_OK &&
	    sim_random_chance(&upstream->sim->upstream_random, 500)) {
		sim_upstream_new_verifier(upstream);
		return sim_upstream_take_pending(upstream, args->file);
	}
	return NFS3_OK;
}

static enum nfs3_stable sim_upstream_stability(struct sim_upstream *upstream,
					       enum nfs3_stable asked)
{
	if (asked == NFS3_UNSTABLE)
		return sim_upstream_chance(upstream, SIM_FAULT_HIGHER) ? NFS3_FILE_SYNC
								       : asked;
	if (sim_upstream_chance(upstream, SIM_FAULT_LOWER))
		return (enum nfs3_stable)sim_random_below(
			&upstream->sim->upstream_random, (uint64_t)asked);
	return asked;
}

/* P6, and whether the bytes are those that a client wrote there. */
static void sim_upstream_check_block(const struct sim_upstream *upstream,
				     const struct sim_args *args, uint32_t block,
				     uint64_t word)
{
	struct sim *sim = upstream->sim;
	uint32_t id = sim_block_id(word);

	if (!sim_block_is_at(word, args->file, block) ||
	    !sim_oracle_covers(sim->oracle, id, args->file, block))
		sim_fail(
			sim, "P4",
			"bytes are written to file %u block %u that nobody wrote there",
			args->file, block);
	else if (sim_oracle_uid(sim->oracle, id) != args->uid)
		sim_fail(sim, "P6",
			 "bytes of user %u are written as user %u to file %u block %u",
			 sim_oracle_uid(sim->oracle, id), args->uid, args->file, block);
}

/* Takes the first `taken` blocks of a WRITE. */
static void sim_upstream_write_blocks(struct sim_upstream *upstream,
				      struct sim_up_call *call, uint32_t taken,
				      bool is_stable)
{
	struct sim *sim = upstream->sim;
	const struct sim_args *args = &call->args;
	uint32_t i;

	for (i = 0; i < args->count; i++) {
		uint64_t word;
		uint32_t id;

		memcpy(&word, call->data + (size_t)i * SIM_BLOCK_BYTES, sizeof(word));
		id = sim_block_id(word);
		sim_upstream_check_block(upstream, args, args->first + i, word);
		if (sim_has_failed(sim))
			return;
		if (i < taken)
			sim_disk_write(sim->disk, args->file, args->first + i,
				       sim_oracle_rank(sim->oracle, id), is_stable);
	}
}

static void sim_upstream_write(struct sim_upstream *upstream, struct sim_up_call *call)
{
	struct sim_args *args = &call->args;
	struct sim_reply *reply = &call->reply;
	uint32_t taken = args->count;

	reply->status = sim_upstream_write_status(upstream, args);
	if (reply->status != NFS3_OK) {
		if (reply->status != NFS3ERR_JUKEBOX)
			sim_upstream_on_error(upstream, reply->status);
		return;
	}
	if (taken > 1 && sim_upstream_chance(upstream, SIM_FAULT_SHORT))
		taken = (uint32_t)sim_random_between(&upstream->sim->upstream_random, 1,
						     taken - 1);
	reply->count = taken;
	reply->committed = sim_upstream_stability(upstream, args->stable);
	sim_upstream_write_blocks(upstream, call, taken,
				  reply->committed != NFS3_UNSTABLE);
}

static void sim_upstream_read(const struct sim_upstream *upstream,
			      struct sim_up_call *call)
{
	const struct sim_disk *disk = upstream->sim->disk;
	const struct sim_args *args = &call->args;
	uint32_t size = sim_disk_size(disk, args->file);
	uint32_t i;

	for (i = 0; i < args->count && args->first + i < size; i++) {
		uint32_t block = args->first + i;
		uint32_t rank = sim_disk_written(disk, args->file, block);

		if (!sim_disk_is_hole(disk, args->file, block))
			call->reply.block[i] = sim_block_make(
				sim_oracle_id(upstream->sim->oracle, rank), args->file,
				block);
	}
	call->reply.count = i;
}

static void sim_upstream_setattr(struct sim_upstream *upstream,
				 const struct sim_up_call *call)
{
	struct sim *sim = upstream->sim;

	if (call->args.sets_size)
		sim_disk_cut(sim->disk, call->args.file, call->args.first,
			     sim_oracle_rank(sim->oracle, call->args.id));
}

static void sim_upstream_finish(struct sim_upstream *upstream, struct sim_up_call *call)
{
	struct sim *sim = upstream->sim;
	struct sim_reply *reply = &call->reply;

	reply->verifier = upstream->verifier;
	if (call->args.proc == NFS3_PROC_WRITE && reply->committed != NFS3_UNSTABLE &&
	    sim->plan.zero_verifiers)
		reply->verifier = (struct nfs3_verifier){ 0 };
	reply->size = sim_disk_size(sim->disk, call->args.file);
	reply->has_size = call->args.proc == NFS3_PROC_GETATTR ||
			  !sim->plan.omits_attributes ||
			  sim_random_chance(&sim->upstream_random, 800);
	call->state = SIM_UP_CARRIED_OUT;
}

static void sim_upstream_carry_out(struct sim_upstream *upstream,
				   struct sim_up_call *call)
{
	/* GETATTR needs no more than the attributes every reply has. */
	if (call->args.proc == NFS3_PROC_WRITE)
		sim_upstream_write(upstream, call);
	else if (call->args.proc == NFS3_PROC_READ)
		sim_upstream_read(upstream, call);
	else if (call->args.proc == NFS3_PROC_SETATTR)
		sim_upstream_setattr(upstream, call);
	sim_upstream_finish(upstream, call);
}

static void sim_upstream_end_commit(struct sim_upstream *upstream,
				    struct sim_up_call *call)
{
	uint32_t file = call->args.file;
	struct sim_reply *reply = &call->reply;

	if (sim_upstream_denies(upstream, &call->args))
		reply->status = NFS3ERR_ACCES;
	else if (sim_upstream_chance(upstream, SIM_FAULT_JUKEBOX))
		reply->status = NFS3ERR_JUKEBOX;
	else
		reply->status = sim_upstream_take_pending(upstream, file);
	if (reply->status == NFS3_OK)
		sim_disk_end_commit(upstream->sim->disk, file, &call->snapshot);
	else if (reply->status != NFS3ERR_JUKEBOX)
		sim_upstream_on_error(upstream, reply->status);
	sim_upstream_finish(upstream, call);
}

static void sim_upstream_on_reply(struct sim *sim, struct sim_event *event)
{
	struct sim_up_call *call = container_of(event, struct sim_up_call, event);

	call->state = SIM_UP_IDLE;
	call->replied(sim, call);
}

/* Replies do not leave in the order in which calls were carried out. */
static void sim_upstream_reply(struct sim_upstream *upstream, struct sim_up_call *call)
{
	struct sim *sim = upstream->sim;
	bool is_late = sim_random_chance(&sim->upstream_random, 250);

	call->event.run = sim_upstream_on_reply;
	sim_set_event(sim, &call->event,
		      is_late ? sim_random_below(&sim->upstream_random,
						 5 * sim->plan.upstream_us)
			      : 0);
}

static void sim_upstream_on_commit_end(struct sim *sim, struct sim_event *event)
{
	struct sim_up_call *call = container_of(event, struct sim_up_call, event);

	/* When the medium has to take it, it shows what it is worth. */
	if (sim_upstream_chance(sim->upstream, SIM_FAULT_DROP))
		sim_upstream_drop(sim->upstream, call->args.file);
	sim_upstream_end_commit(sim->upstream, call);
	sim_upstream_reply(sim->upstream, call);
}

/* How long a COMMIT takes from when it begins. */
static uint64_t sim_upstream_commit_us(struct sim_upstream *upstream)
{
	struct sim *sim = upstream->sim;
	uint64_t us = sim_random_below(&sim->upstream_random, sim->plan.commit_us);
	uint64_t group = sim->plan.commit_group_us;

	if (sim_upstream_chance(upstream, SIM_FAULT_SLOW))
		us += sim_random_below(&sim->upstream_random, 3 * SIM_S);
	if (group > 0)
		us = (sim->now_us + us + group) / group * group - sim->now_us;
	return us;
}

/* The RPC is refused; what it asked for may have been done all the same. */
static bool sim_upstream_refuses(struct sim_upstream *upstream,
				 struct sim_up_call *call)
{
	bool is_write = call->args.proc == NFS3_PROC_WRITE;

	if ((!is_write && call->args.proc != NFS3_PROC_COMMIT) ||
	    !sim_upstream_chance(upstream, SIM_FAULT_REFUSAL))
		return false;
	if (is_write && sim_random_chance(&upstream->sim->upstream_random, 500))
		sim_upstream_carry_out(upstream, call);
	call->refusal = 1;
	call->state = SIM_UP_CARRIED_OUT;
	return true;
}

static void sim_upstream_on_turn(struct sim *sim, struct sim_event *event)
{
	struct sim_up_call *call = container_of(event, struct sim_up_call, event);

	if (sim_upstream_refuses(sim->upstream, call)) {
		sim_upstream_reply(sim->upstream, call);
		return;
	}
	if (call->args.proc != NFS3_PROC_COMMIT) {
		sim_upstream_carry_out(sim->upstream, call);
		sim_upstream_reply(sim->upstream, call);
		return;
	}
	call->state = SIM_UP_BEGUN;
	sim_disk_begin_commit(sim->disk, call->args.file, &call->snapshot);
	call->event.run = sim_upstream_on_commit_end;
	sim_set_event(sim, &call->event, sim_upstream_commit_us(sim->upstream));
}

void sim_upstream_arrive(struct sim_upstream *upstream, struct sim_up_call *call)
{
	struct sim *sim = upstream->sim;

	call->state = SIM_UP_ARRIVED;
	call->refusal = 0;
	call->reply = (struct sim_reply){ .proc = call->args.proc };
	call->event.run = sim_upstream_on_turn;
	sim_set_event(sim, &call->event,
		      sim_random_below(&sim->upstream_random, sim->plan.upstream_us));
}

void sim_upstream_abandon(struct sim_upstream *upstream, struct sim_up_call *call)
{
	struct sim *sim = upstream->sim;
	bool is_done = sim_random_chance(&sim->upstream_random, 500);

	sim_cancel_event(sim, &call->event);
	if (is_done && call->state == SIM_UP_ARRIVED) {
		if (call->args.proc == NFS3_PROC_COMMIT)
			sim_disk_begin_commit(sim->disk, call->args.file,
					      &call->snapshot);
		else
			sim_upstream_carry_out(upstream, call);
	}
	if (is_done && call->args.proc == NFS3_PROC_COMMIT &&
	    (call->state == SIM_UP_ARRIVED || call->state == SIM_UP_BEGUN))
		sim_upstream_end_commit(upstream, call);
	call->state = SIM_UP_IDLE;
}

void sim_upstream_reboot(struct sim_upstream *upstream, uint64_t down_us)
{
	uint32_t file;

	sim_upstream_new_verifier(upstream);
	upstream->up_at_us = upstream->sim->now_us + down_us;
	for (file = 0; file < SIM_FILES_MAX; file++)
		upstream->file[file].pending_error = NFS3_OK;
	sim_disk_reboot(upstream->sim->disk);
}

void sim_upstream_rotate(struct sim_upstream *upstream)
{
	sim_upstream_new_verifier(upstream);
}

void sim_upstream_drop(struct sim_upstream *upstream, uint32_t file)
{
	static const uint32_t statuses[] = { NFS3ERR_IO, NFS3ERR_NOSPC, NFS3ERR_DQUOT };
	struct sim_random *random = &upstream->sim->upstream_random;
	uint32_t status = statuses[sim_random_below(random, 3)];

	if (!sim_disk_drop(upstream->sim->disk, file))
		return;
	upstream->file[file].pending_error = status;
	/* It may not be over: then what is written again fails, too. */
	if (sim_random_chance(random, 300))
		sim_upstream_break_file(upstream, file, status,
					sim_random_below(random, SIM_S));
}

void sim_upstream_break_file(struct sim_upstream *upstream, uint32_t file,
			     uint32_t status, uint64_t lasts_us)
{
	upstream->file[file].status = status;
	upstream->file[file].only_once = lasts_us == 0;
	upstream->file[file].status_until_us = upstream->sim->now_us + lasts_us;
}

void sim_upstream_deny(struct sim_upstream *upstream, uint32_t file, uint32_t uid,
		       uint64_t lasts_us)
{
	upstream->file[file].denied_uid = uid;
	upstream->file[file].denied_until_us = upstream->sim->now_us + lasts_us;
}

void sim_upstream_recover(struct sim_upstream *upstream)
{
	uint32_t file;

	for (file = 0; file < SIM_FILES_MAX; file++) {
		upstream->file[file].status = NFS3_OK;
		upstream->file[file].denied_until_us = 0;
	}
}
