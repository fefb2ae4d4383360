/*
 * The record of one file, keyed by its handle byte for byte.
 *
 * A record exists while it has ops or ledger entries. Records with entries but without ops
 * wait in a list, least recently answered first; when there are too many, the engine
 * gives up the first ones by remembering their upstream verifiers as a set.
 */
#ifndef COALESCE_FILE_H
#define COALESCE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "coalesce/ledger.h"
#include "nfsgather/engine.h"
#include "nfsgather/hash.h"
#include "nfsgather/nfs3.h"

TAILQ_HEAD(engine_op_list, engine_op);

struct engine_file {
	struct hash_node node;
	struct nfs3_fh fh;
	struct engine_op_list ops;     /* WRITEs and TRUNCATEs, in order of arrival */
	unsigned int op_count;	       /* all ops that point here, COMMITs too */
	struct engine_op *commit_out;  /* whose COMMIT is at the upstream */
	struct engine_op_list commits; /* COMMITs and UNPROVEN WRITEs, next ones */
	struct ledger ledger;
	bool in_idle_list; /* exactly when op_count is 0 */
	TAILQ_ENTRY(engine_file) idle_link;
};

TAILQ_HEAD(engine_file_list, engine_file);

struct file_table {
	struct hash_table by_fh;
	struct engine_file_list idle; /* op_count 0, ledger not empty; oldest first */
	size_t idle_count;
};

void file_table_init(struct file_table *table);
/* Frees every record. */
void file_table_fini(struct file_table *table);

/* The record, made if need be, with one op more; NULL when memory is short. */
struct engine_file *file_pin(struct file_table *table, const struct nfs3_fh *fh);
/* One op less: frees the record, or keeps it idle for its ledger's sake. */
void file_unpin(struct file_table *table, struct engine_file *file);

/* Frees an idle record. */
void file_drop_idle(struct file_table *table, struct engine_file *file);
/* Empties every ledger and frees the records that only had that. */
void file_table_clear_ledgers(struct file_table *table);

#endif
