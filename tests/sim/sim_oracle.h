/*
 * What must be true, whatever happens: the oracle is told everything by everybody and
 * knows nothing of how the engine works.
 *
 * Every WRITE call and every SETATTR of the size has an id, given when its client issues it,
 * and a rank, given when the engine takes it in: the order of arrival, which P4 makes the
 * order of effects. A WRITE that is sent again by a client as a new call has a new id; one
 * that is retransmitted and carried out by a new proxy keeps its id and gets a new rank.
 * Clients know ids, the disk knows ranks.
 *
 * Of every block it keeps
 *   floor    the highest rank a client was told is stable: neither the stable nor the
 *            written copy may ever be older (rule a)
 *   acked    the highest rank acknowledged and not given up: no READ may show older (b)
 *   lost     ranks up to here were given up by a rotation, a restart or a loss that was
 *            announced, so that older bytes may show, until they are sent again
 *   hidden   ranks up to here were lost by the upstream, which has not told anybody yet
 *   hole     the highest rank of a SETATTR that cut the block off
 */
#ifndef SIM_ORACLE_H
#define SIM_ORACLE_H

#include "sim/sim.h"
#include "sim/sim_call.h"

/* What a READ or GETATTR may show, noted when it is issued. */
struct sim_view {
	uint32_t acked[SIM_CALL_BLOCKS_MAX];
	uint32_t floor[SIM_CALL_BLOCKS_MAX]; /* what stays when acks are taken back */
	uint32_t size_low;
	uint32_t size_floor; /* what stays of it when acks are taken back */
	uint32_t cut;	     /* the last SETATTR of the size that was acked */
	uint32_t last_id;
	uint32_t losses;
};

struct sim_oracle *sim_oracle_new(struct sim *sim);

/* A client issues a call that changes the file; returns its id. */
uint32_t sim_oracle_issue(struct sim_oracle *oracle, const struct sim_args *args);
/* The engine takes it in, in this life of the proxy: once in each (P7). */
void sim_oracle_take(struct sim_oracle *oracle, uint32_t id, unsigned int life);
/*
 * The proxy sends its answer; after an error, what the upstream has of it counts for
 * nothing.
 */
void sim_oracle_send_answer(struct sim_oracle *oracle, uint32_t id, bool ok);
/* A COMMIT told the client of an error: it is about all that it was answered so far. */
void sim_oracle_tell_error(struct sim_oracle *oracle, uint32_t client, uint32_t file);
bool sim_oracle_is_told_error(const struct sim_oracle *oracle, uint32_t id);
/* Its client has the reply: `ok`, it was acknowledged. */
void sim_oracle_answer(struct sim_oracle *oracle, uint32_t id, bool ok);
/* A client knows from now on that this block of WRITE `id` is stable. */
void sim_oracle_promise(struct sim_oracle *oracle, uint32_t id, uint32_t block,
			const char *by);

/* The proxy gave up acked bytes that were not stable, of all files or of a range. */
void sim_oracle_lose_all(struct sim_oracle *oracle);
void sim_oracle_lose(struct sim_oracle *oracle, uint32_t file, uint32_t first,
		     uint32_t count);
/* The upstream lost bytes of this rank by an error nobody can know of yet. */
void sim_oracle_hide(struct sim_oracle *oracle, uint32_t file, uint32_t block,
		     uint32_t rank);

/* The upstream's written copy of a block changes from one rank to another by a call. */
void sim_oracle_check_write(struct sim_oracle *oracle, uint32_t file, uint32_t block,
			    uint32_t old_rank, uint32_t new_rank);
/* The upstream's stable copy is this one now. */
void sim_oracle_check_stable(struct sim_oracle *oracle, uint32_t file, uint32_t block,
			     uint32_t rank);
/* The rank of a change is the one it was last taken in with. */
uint32_t sim_oracle_rank(const struct sim_oracle *oracle, uint32_t id);
uint32_t sim_oracle_id(const struct sim_oracle *oracle, uint32_t rank);
bool sim_oracle_is_cut(const struct sim_oracle *oracle, uint32_t rank);

void sim_oracle_look(const struct sim_oracle *oracle, const struct sim_args *args,
		     struct sim_view *view);
void sim_oracle_check_read(struct sim_oracle *oracle, const struct sim_args *args,
			   const struct sim_view *view, const struct sim_reply *reply);
/* Attributes in the reply to a call of `view`. */
void sim_oracle_check_size(struct sim_oracle *oracle, const struct sim_args *args,
			   const struct sim_view *view, uint64_t size);

/* Attributes in a reply the proxy sends now: not from before what it acked early. */
void sim_oracle_check_shown(struct sim_oracle *oracle, const struct sim_args *args,
			    uint64_t size);

/* When the proxy answered it OK, in that life. */
uint64_t sim_oracle_done_us(const struct sim_oracle *oracle, uint32_t id);
/* The life of the proxy that took it in last. */
unsigned int sim_oracle_life(const struct sim_oracle *oracle, uint32_t id);
/* Who wrote it: P6 at the upstream. */
uint32_t sim_oracle_uid(const struct sim_oracle *oracle, uint32_t id);
/* Is there such a WRITE, and does it cover this block? */
bool sim_oracle_covers(const struct sim_oracle *oracle, uint32_t id, uint32_t file,
		       uint32_t block);
/* Has any of it been sent upstream in this life of the proxy? */
bool sim_oracle_was_sent(const struct sim_oracle *oracle, uint32_t id);
/* Counts a block written upstream; returns how often it was so far. */
unsigned int sim_oracle_count_write(struct sim_oracle *oracle, uint32_t id,
				    uint32_t block);

/* One more verifier is shown: it must be new and not zero (P3). */
void sim_oracle_new_verifier(struct sim_oracle *oracle, struct nfs3_verifier verifier);
/* The number of the verifier now shown, from 1. */
unsigned int sim_oracle_verifier_number(const struct sim_oracle *oracle);
/* An answer to a call that came when `number` was shown carries this one. */
void sim_oracle_check_verifier(struct sim_oracle *oracle, unsigned int number,
			       struct nfs3_verifier verifier);

#endif
