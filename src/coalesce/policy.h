/*
 * When to write and when to commit: pure functions, an observation in, a decision out.
 */
#ifndef COALESCE_POLICY_H
#define COALESCE_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "nfsgather/engine.h"

/* Where a WRITE that starts here ends at the latest. */
uint64_t policy_piece_end(uint64_t start, uint32_t wtmax_bytes);
/* Is there enough for a WRITE as large as the upstream takes? */
bool policy_is_full(uint64_t start, uint64_t end, uint32_t wtmax_bytes);

/* A file with dirty bytes. */
struct policy_dirty {
	uint64_t now_us;
	uint64_t dirty_since_us; /* of its oldest byte */
	uint64_t added_us;	 /* of its newest byte */
	uint64_t unsent_bytes;	 /* of all files */
	bool is_draining;
};

/* Should all of it be sent now? Then *reason says why. */
bool policy_should_write(const struct policy_dirty *dirty,
			 const struct engine_config *config, enum write_reason *reason);
/* When it should be at the latest, if nothing changes. */
uint64_t policy_write_deadline(const struct policy_dirty *dirty,
			       const struct engine_config *config);

#endif
