/*
 * When to write back, first version: what nobody waits for is plugged until a whole WRITE is
 * together or the client has paused, and for dirty_expire at most; too many bytes
 * waiting end every plug.
 *
 * A pause is measured from the last byte added, not from the first: a stream fills whole
 * WRITEs however slow it is, and the end of a burst is seen within plug_max.
 */
#include "coalesce/policy.h"

enum { POLICY_ALIGN_BYTES = 4096 };

uint64_t policy_piece_end(uint64_t start, uint32_t wtmax_bytes)
{
	uint64_t end = start + wtmax_bytes;
	uint64_t aligned = end & ~(uint64_t)(POLICY_ALIGN_BYTES - 1);

	return aligned > start ? aligned : end;
}

bool policy_is_full(uint64_t start, uint64_t end, uint32_t wtmax_bytes)
{
	return end >= policy_piece_end(start, wtmax_bytes);
}

bool policy_should_write(const struct policy_dirty *dirty,
			 const struct engine_config *config, enum write_reason *reason)
{
	if (dirty->is_draining)
		*reason = WRITE_REASON_DRAIN;
	else if (dirty->unsent_bytes > config->dirty_background_bytes)
		*reason = WRITE_REASON_DIRTY_BACKGROUND;
	else if (dirty->now_us - dirty->dirty_since_us >= config->dirty_expire_us)
		*reason = WRITE_REASON_AGE;
	else if (dirty->now_us - dirty->added_us >= config->plug_max_us)
		*reason = WRITE_REASON_PLUG_EXPIRED;
	else
		return false;
	return true;
}

uint64_t policy_write_deadline(const struct policy_dirty *dirty,
			       const struct engine_config *config)
{
	uint64_t age = dirty->dirty_since_us + config->dirty_expire_us;
	uint64_t plug = dirty->added_us + config->plug_max_us;

	return age < plug ? age : plug;
}
