/*
 * The engine's own state, and what its files offer each other; only src/coalesce sees it.
 *
 *   engine.c     calls in, pump, answers out          admit.c       may it be acked early?
 *   buffer.c     acked bytes come together            quarantine.c  where not, after errors
 *   writeback.c  extents to WRITEs and back           loss.c        lost bytes, telling clients
 *   line.c       order of what overlaps               tick.c        what time brings
 *   commit.c     COMMITs, proofs, replay              policy.c      when, as pure functions
 *   barrier.c    other calls
 */
#ifndef COALESCE_ENGINE_PRIVATE_H
#define COALESCE_ENGINE_PRIVATE_H

#include "coalesce/file.h"
#include "nfsgather/engine.h"

enum {
	ENGINE_IDLE_FILES_MAX = 16384,
	ENGINE_QUARANTINES_MAX = 32,
	/* Clean WRITEs that end a quarantine whose time is over. */
	ENGINE_QUARANTINE_WRITES = 3,
	/* Rewrites as UNSTABLE, then FILE_SYNC, then the bytes count as lost. */
	ENGINE_REPLAYS_UNSTABLE = 2,
	ENGINE_REPLAYS_MAX = 16,
};

/* Early acks are off in a file system, or for one user in it. */
struct quarantine {
	uint64_t fsid;
	bool has_uid;
	uint32_t uid;
	uint64_t until_us;
	unsigned int writes;
};

struct engine {
	const struct engine_ops *ops;
	void *owner;
	struct engine_config config;
	struct stats *stats;
	struct nfs3_verifier verifier;
	uint64_t now_us;
	/* Counts arrivals, sendings and answers, so that "before" is exact. */
	uint64_t sequence;
	uint32_t wtmax_bytes;
	uint64_t maxfilesize_bytes;
	bool is_draining;
	struct file_table files;
	uint64_t unsent_bytes;	 /* of DIRTY extents */
	uint64_t unstable_bytes; /* of UNSTABLE extents: no COMMIT is out for them */
	uint64_t last_rotated;	 /* sequence */
	/* When the upstream may have restarted last: sequence. */
	uint64_t last_suspicion;
	/* The verifier of an upstream that was seen to have restarted last. */
	struct nfs3_verifier restarted_as;
	/* Newest `unsettled` of the files that were given up. */
	uint64_t unsettled_forgotten;

	struct engine_file_list dirty_files;
	struct engine_file_list plugged_files;
	struct engine_file_list retained_files;
	struct engine_file_list retry_files;
	struct engine_file_list sticky_files;
	struct engine_file_list work;
	struct engine_op_list answers; /* ended, not yet told */
	bool is_resting;	       /* false while answers are being given */
	unsigned int quarantine_count;
	struct quarantine quarantine[ENGINE_QUARANTINES_MAX];
};

/* engine.c */
/* Ends every entry into the engine: does what there is to do, then gives the answers. */
void engine_rest(struct engine *engine);
/* The one mover of op states. */
void engine_op_set_state(struct engine_op *op, enum engine_op_state state);
/* The op is over; its answer goes out when the engine rests. */
void engine_end_write(struct engine *engine, struct engine_op *op,
		      struct engine_write_result result);
void engine_end_commit(struct engine *engine, struct engine_op *op,
		       struct engine_commit_result result);
void engine_end_barrier(struct engine *engine, struct engine_op *op);
/* Attributes the upstream gave since `since`, or none when they must not be shown. */
struct nfs3_wcc engine_shown_wcc(const struct engine_file *file,
				 const struct nfs3_wcc *wcc, uint64_t since);
bool engine_file_is_settled(const struct engine_file *file, uint64_t since);

/* admit.c */
bool admit_early(const struct engine_file *file, const struct engine_op *op);
void admit_grant(struct engine_file *file, struct credential *credential);
void admit_void_grants(struct engine_file *file);
/* Notes who uses the file; a second client ends early acks for a while. */
void admit_note_client(struct engine_file *file, uint64_t client_id);

/* buffer.c */
/* Takes an admitted WRITE into the file's dirty bytes: 0, or -ENOMEM and nothing done. */
MUST_CHECK int buffer_add(struct engine_file *file, const struct engine_op *op);
/* Sends all dirty bytes of the file, or those that overlap, on their way. */
void buffer_close_all(struct engine_file *file, enum write_reason reason);
void buffer_close_overlap(struct engine_file *file, uint64_t start, uint64_t end,
			  enum write_reason reason);

/* line.c */
void line_enter(struct engine_file *file, struct line_entry *entry);
void line_leave(struct engine_file *file, struct line_entry *entry);
/* What was out has to go out once more. */
void line_back(struct engine_file *file, struct line_entry *entry);
/* The next that may go out, taken off the list of ready ones and counted as out; or NULL. */
struct line_entry *line_next_ready(struct engine_file *file);

/* writeback.c */
/* A client's WRITE that waits for the upstream: 0 or -ENOMEM. */
MUST_CHECK int writeback_pass(struct engine_file *file, struct engine_op *op);
/* Puts a NEW extent into the line. */
void writeback_enter(struct extent *extent, enum write_reason reason);
void writeback_send(struct extent *extent);
/*
 * These bytes are at the upstream: older ones of theirs must never be written again. What
 * waits for the older ones waits for these from now on, unless they are stable.
 */
void writeback_inherit(struct extent *newer, const struct extent *older);
void writeback_supersede(struct extent *newer, bool newer_is_stable);
/* Written bytes have to be written again. */
void writeback_replay(struct extent *extent, enum nfs3_stable stable);
/* JUKEBOX: nothing of the file goes out for a while, and then these WRITEs first. */
void writeback_back_off(struct engine_file *file);
void writeback_retry(struct engine_file *file);

/* commit.c */
/* `op` waits until all that arrived in the file so far is stable. */
void commit_wait(struct engine_file *file, struct engine_op *op);
/* The engine wants what is written to be proven, without anybody waiting. */
void commit_want(struct engine_file *file, enum commit_reason reason);
/* Sends what COMMIT can go out now and ends those that have what they waited for. */
void commit_pump(struct engine_file *file);
/* WRITEs on the way may have been thrown away by a COMMIT that failed. */
void commit_doubt_writes(struct engine_file *file);
/* Written bytes of the file from `size` on are gone by a client's wish. */
void commit_forget_beyond(struct engine_file *file, uint64_t size);
/* The upstream may have restarted since bytes were written that are not proven yet. */
void commit_suspect(struct engine_file *file);
void commit_suspect_all(struct engine *engine);

/* barrier.c */
/* Nothing is before it in the line: it passes, or waits for its file to be proven. */
void barrier_on_turn(struct engine_op *op);
/* Those that waited for that take their turn. */
void barrier_end_suspicion(struct engine_file *file);

/* tick.c */
/* Starts the writeback and the COMMITs that policy asks for now. */
void tick_apply_policy(struct engine *engine);
/* Keeps the lists by time true for a file whose trees changed. */
void tick_list_file(struct engine_file *file);
/* What the file retains counts as written just now. */
void tick_restart_age(struct engine_file *file);

/* quarantine.c */
bool quarantine_holds(const struct engine_file *file,
		      const struct credential *credential);
void quarantine_impose(struct engine_file *file, const struct credential *credential,
		       uint32_t status);
/* A WRITE went through without error. */
void quarantine_note_clean(struct engine_file *file,
			   const struct credential *credential);

/* loss.c */
void loss_note_owner(struct engine_file *file, uint64_t client_id);
/*
 * The bytes of an extent cannot be made stable: whoever was told OK, or waits for it, is told
 * now. Frees it (doc/semantics.md).
 */
void loss_declare(struct extent *extent, uint32_t status);
/* The error that this COMMIT has to tell, taken; NFS3_OK: none. */
uint32_t loss_take_sticky(struct engine_file *file, const struct engine_op *op);
void loss_rotate(struct engine *engine, const char *reason);
void loss_expire_sticky(struct engine_file *file);

#endif
