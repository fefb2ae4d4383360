/*
 * What a relay must remember of UNSTABLE WRITEs it answered (doc/semantics.md, I10): under
 * which verifier the upstream took them, until a COMMIT proves them stable.
 *
 * Ranges are not kept: upstream COMMITs always name the whole file. Nor is the verifier
 * the client was shown: a rotation empties every ledger, so what is in one was always
 * answered with the current verifier.
 */
#ifndef COALESCE_LEDGER_H
#define COALESCE_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "nfsgather/nfs3.h"

enum { LEDGER_ENTRIES = 4 };

/* An entry of several clients: whoever asks, others are in it too. */
#define LEDGER_SEVERAL_CLIENTS UINT64_MAX

/* WRITEs answered under one upstream verifier, from first_answer to last_answer. */
struct ledger_entry {
	struct nfs3_verifier upstream_verifier;
	uint64_t client_id;
	uint64_t first_answer; /* engine sequence numbers */
	uint64_t last_answer;
};

struct ledger {
	unsigned int count;
	struct ledger_entry entry[LEDGER_ENTRIES];
};

/*
 * Makes place for a WRITE answered under this verifier. True: the ledger was full, its
 * oldest entry is gone, and *spilled is the upstream verifier to remember elsewhere.
 */
bool ledger_make_room(struct ledger *ledger,
		      const struct nfs3_verifier *upstream_verifier,
		      struct nfs3_verifier *spilled);
/* Notes an answered UNSTABLE WRITE; ledger_make_room() came before. */
void ledger_note(struct ledger *ledger, const struct nfs3_verifier *upstream_verifier,
		 uint64_t client_id, uint64_t sequence);

/*
 * Did a COMMIT sent at `commit_sent` and answered under `verifier` fail to prove some WRITE
 * that was answered before it was sent?
 */
bool ledger_disproves(const struct ledger *ledger, const struct nfs3_verifier *verifier,
		      uint64_t commit_sent);
/* Takes away what a successful COMMIT sent at `commit_sent` proved. */
void ledger_settle(struct ledger *ledger, uint64_t commit_sent);

/*
 * Does the ledger hold anything but WRITEs of this client answered before `sequence`?
 * With LEDGER_SEVERAL_CLIENTS for the client: anything at all?
 */
bool ledger_holds_more_than(const struct ledger *ledger, uint64_t client_id,
			    uint64_t sequence);

#endif
