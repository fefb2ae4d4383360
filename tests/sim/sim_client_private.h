/*
 * A client's inside, shared by sim_client.c (calls and connections), sim_client_pages.c
 * (what is told of pages) and sim_client_app.c (what its applications do).
 *
 * A page:
 *
 *   CLEAN -> DIRTY -> WRITING -> UNSTABLE -> CLEAN      told stable
 *     ^        ^         |           |
 *     |        `---------+-----------'                  to be sent again
 *     `------------------+-----------'                  told of an error
 */
#ifndef SIM_CLIENT_PRIVATE_H
#define SIM_CLIENT_PRIVATE_H

#include <sys/queue.h>

#include "sim/sim_client.h"
#include "sim/sim_network.h"
#include "sim/sim_oracle.h"

enum { SIM_SLOTS_MAX = 2 };

/* How far a client looks when a verifier differs from what it remembers. */
enum sim_verifier_scope {
	SIM_SCOPE_WRITE, /* each WRITE's own, only at COMMIT */
	SIM_SCOPE_FILE,	 /* one for the file, in every reply */
	SIM_SCOPE_MOUNT, /* one for all files, in every reply */
	SIM_SCOPE_NONE,	 /* never looks */
};

struct sim_kind {
	const char *name;
	enum sim_verifier_scope scope;
	enum nfs3_stable stable;   /* of its WRITEs */
	bool syncs_each_write;	   /* direct I/O */
	bool syncs_one_at_once;	   /* a sync of one WRITE sends it FILE_SYNC */
	bool rewrites_file_sync;   /* after a verifier mismatch */
	bool rewrites_after_error; /* a failed COMMIT: else the pages are dropped */
};

extern const struct sim_kind sim_kinds[];

enum sim_page_state {
	SIM_PAGE_CLEAN,
	SIM_PAGE_DIRTY,
	SIM_PAGE_WRITING,
	SIM_PAGE_UNSTABLE,
};

struct sim_page {
	enum sim_page_state state;
	bool needs_file_sync;
	uint32_t uid;
	uint32_t id; /* WRITING, UNSTABLE: the WRITE that has it */
	/* UNSTABLE: */
	struct nfs3_verifier verifier;
	unsigned int life; /* of the proxy that acked it */
	uint64_t acked_us;
};

struct sim_client_file {
	struct sim_page page[SIM_BLOCKS_MAX];
	unsigned int writes_out;
	unsigned int commits_out;
	bool cut_out; /* a SETATTR of the size: no WRITEs meanwhile */
	bool is_syncing;
	unsigned int rounds;	/* COMMITs of this sync */
	uint32_t cursor;	/* of sequential writers */
	uint64_t held_until_us; /* JUKEBOX */
	bool has_verifier;
	struct nfs3_verifier verifier; /* SIM_SCOPE_FILE */
};

/* A page as it was when a COMMIT was sent. */
struct sim_covered {
	uint32_t block;
	struct sim_page page;
};

struct sim_client_call {
	TAILQ_ENTRY(sim_client_call) link;
	struct sim_client *client;
	unsigned int slot;
	uint64_t issued_us;
	struct sim_args args;
	struct sim_view view;
	struct sim_event retransmit;
	unsigned int covered_count; /* COMMIT */
	struct sim_covered *covered;
};

struct sim_client {
	struct sim *sim;
	unsigned int number;
	const struct sim_kind *kind;
	struct sim_random random;
	struct sim_slot {
		struct sim_client *client;
		struct sim_connection *connection;
		bool is_connected;
		struct sim_event reconnect;
		struct sim_event leave; /* gives the connection up */
	} slot[SIM_SLOTS_MAX];
	uint64_t away_until_us;
	TAILQ_HEAD(, sim_client_call) calls;
	unsigned int call_count;
	uint64_t calls_sent;
	uint32_t last_xid;

	struct sim_client_file file[SIM_FILES_MAX];
	bool has_verifier;
	struct nfs3_verifier verifier; /* SIM_SCOPE_MOUNT */

	unsigned int steps_left;
	bool is_finishing;
	struct sim_event step;
	struct sim_event kick; /* looks at syncs again */
};

/* sim_client.c */
/* `args` without xid, client and id; may be called only while sim_client_may_call(). */
struct sim_client_call *sim_client_issue(struct sim_client *client,
					 const struct sim_args *args);
bool sim_client_may_call(const struct sim_client *client);

/* sim_client_pages.c */
void sim_pages_dirty(struct sim_client *client, uint32_t file, uint32_t first,
		     uint32_t count, uint32_t uid);
/* Sends dirty pages, as many as calls are allowed; all as `stable` at least. */
void sim_pages_flush(struct sim_client *client, uint32_t file, enum nfs3_stable stable);
void sim_pages_commit(struct sim_client *client, uint32_t file);
void sim_pages_drop_from(struct sim_client *client, uint32_t file, uint32_t first);
void sim_pages_on_write_reply(struct sim_client *client,
			      const struct sim_client_call *call,
			      const struct sim_reply *reply);
void sim_pages_on_commit_reply(struct sim_client *client,
			       const struct sim_client_call *call,
			       const struct sim_reply *reply);
unsigned int sim_pages_count(const struct sim_client *client, uint32_t file,
			     enum sim_page_state state);
/* All dirty pages would go in one WRITE. */
bool sim_pages_fit_one_write(const struct sim_client *client, uint32_t file);

/* sim_client_app.c */
void sim_app_on_step(struct sim *sim, struct sim_event *event);
void sim_app_on_kick(struct sim *sim, struct sim_event *event);
/* Something was answered: goes on with syncs of the file. */
void sim_app_go_on(struct sim_client *client, uint32_t file);

#endif
