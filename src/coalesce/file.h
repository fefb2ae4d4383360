/*
 * The record of one file, keyed by its handle byte for byte.
 *
 * A record exists while it has ops, bytes or errors to tell. What is left of a file after
 * that (that all of it is stable, who may write it) is kept in a list, least recently used
 * first, and given up without harm when there are too many.
 */
#ifndef COALESCE_FILE_H
#define COALESCE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "coalesce/extent.h"
#include "coalesce/range_tree.h"
#include "nfsgather/engine.h"
#include "nfsgather/hash.h"
#include "nfsgather/nfs3.h"

enum {
	FILE_GRANTS = 4,
	FILE_OWNERS = 8,
	FILE_STICKY = 8,
};

TAILQ_HEAD(line_entry_list, line_entry);

/*
 * All bytes that arrived between two freezes (I5). The last of a file is open, the others
 * are what COMMITs wait for.
 */
struct generation {
	TAILQ_ENTRY(generation) link;
	uint64_t number;  /* later ones have larger numbers */
	size_t unwritten; /* extents DIRTY, WAITING or SENT */
	size_t unproven;  /* extents UNSTABLE or COMMITTING */
	struct engine_op_list waiters;
};

TAILQ_HEAD(generation_list, generation);

/* Proof that this credential may write the file. */
struct grant {
	struct credential *credential; /* a reference; NULL: unused */
	uint64_t expires_us;
};

/* A client whose acked bytes are not proven stable yet. */
struct owner {
	uint64_t client_id;
	uint64_t last_acked; /* engine sequences */
	uint64_t last_told;  /* arrival of a COMMIT of its that was answered an error */
};

/* An error that waits for its client's next COMMIT. */
struct sticky_error {
	uint64_t client_id;
	uint32_t status;
	uint64_t since_us;
};

/* What the upstream told of the file. */
struct file_identity {
	bool known;
	uint64_t fsid;
	uint64_t fileid;
	uint32_t type;
	uint32_t mode;
	uint32_t uid;
};

struct engine_file {
	struct hash_node node;
	struct engine *engine;
	struct nfs3_fh fh;
	struct file_identity identity;
	struct hash_node identity_node; /* while identity.known */
	bool is_aliased;		/* another record has the same identity */
	bool is_removed;		/* its last name is gone */
	unsigned int op_count;

	struct range_tree dirty;    /* DIRTY, disjoint */
	struct range_tree line;	    /* WAITING, SENT, barriers */
	struct range_tree unstable; /* UNSTABLE, disjoint: answered since .. */
	struct range_tree
		committing; /* COMMITTING, disjoint: .. the COMMIT out was sent */
	struct line_entry_list ready; /* may go out */
	struct extent_list retry;     /* SENT, and to be sent again at retry_at_us */
	/* Barriers whose turn it is, but for the proof that nothing was lost. */
	struct line_entry_list unproven_barriers;
	struct generation_list generations;
	unsigned int held_barriers; /* barriers in the line that hold WRITEs back */
	size_t acked_unwritten;	    /* acked extents DIRTY, WAITING or SENT */
	uint64_t unstable_bytes;

	bool commit_out;
	uint64_t commit_sent;		/* sequence */
	struct engine_op *commit_asker; /* whose COMMIT is out when there are no bytes */
	struct engine_io commit_io;	/* its credential is a reference */
	bool commit_wanted;		/* by the engine itself */
	enum commit_reason commit_wanted_reason;
	/* A COMMIT or FILE_SYNC WRITE succeeded since the record began (I11). */
	bool is_proven;
	uint64_t retry_at_us; /* JUKEBOX: nothing goes out before; 0: no such thing */
	uint64_t retry_delay_us;

	/*
	 * Written bytes may be gone with a restart of the upstream; until a COMMIT tells,
	 * what the upstream shows of the file proves nothing.
	 */
	bool is_suspect;
	uint64_t suspect_since; /* sequence */
	uint64_t unsettled; /* sequence of the last event after which replies were stale */

	uint64_t user; /* the one client that uses it; UINT64_MAX: none yet */
	uint64_t shared_until_us;
	struct grant grant[FILE_GRANTS];
	uint64_t last_acked; /* sequence */
	struct owner owner[FILE_OWNERS];
	unsigned int owner_count;
	struct sticky_error sticky[FILE_STICKY];
	unsigned int sticky_count;
	bool is_quarantined;
	uint64_t quarantine_until_us;
	unsigned int quarantine_writes; /* clean WRITEs still to come */

	uint64_t client_writes; /* since the last COMMIT, for the histograms */
	uint64_t upstream_writes;

	uint64_t dirty_since_us;
	uint64_t added_us; /* last early ack */
	uint64_t retained_since_us;
	bool in_dirty_lists;
	bool in_retained_list;
	bool in_retry_list;
	bool in_sticky_list;
	bool in_work;
	bool in_idle_list;
	TAILQ_ENTRY(engine_file) dirty_link;	/* by dirty_since_us */
	TAILQ_ENTRY(engine_file) plug_link;	/* by added_us */
	TAILQ_ENTRY(engine_file) retained_link; /* by retained_since_us */
	TAILQ_ENTRY(engine_file) retry_link;
	TAILQ_ENTRY(engine_file) sticky_link;
	TAILQ_ENTRY(engine_file) work_link;
	TAILQ_ENTRY(engine_file) idle_link;
};

TAILQ_HEAD(engine_file_list, engine_file);

struct file_table {
	struct hash_table by_fh;
	struct hash_table by_identity;
	struct engine_file_list idle; /* only worth remembering; oldest first */
	size_t idle_count;
};

void file_table_init(struct file_table *table);
/* Frees every record, with all that is in it. */
void file_table_fini(struct file_table *table);

struct engine_file *file_find(const struct file_table *table, const struct nfs3_fh *fh);
/* The record, made if need be; NULL when memory is short. */
struct engine_file *file_get(struct engine *engine, const struct nfs3_fh *fh);
/* Gives the record up if nothing needs it. */
void file_reap(struct engine_file *file);
/* Notes that something of the file has to be looked at before the engine rests. */
void file_mark_work(struct engine_file *file);
/* Learns from attributes the upstream sent; finds aliases (two handles of one file). */
void file_learn(struct engine_file *file, const struct nfs3_attr *attr);

/* Where new bytes belong. */
struct generation *file_open_generation(struct engine_file *file);
/* Closes the open generation and returns it: all bytes that arrived so far. */
struct generation *file_freeze(struct engine_file *file);
/* Forgets generations nobody waits for and nothing is in. */
void file_prune_generations(struct engine_file *file);
/* No acked byte is unproven. */
bool file_is_clean(const struct engine_file *file);

#endif
