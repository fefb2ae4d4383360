/*
 * Memory for records: who may take how much, and who waits.
 *
 * The hard case is a cap that cannot deadlock while upstreams differ: a dead upstream
 * may keep all of the shared part for hours, so what a share is promised must come from
 * its own part alone. Hence the largest charge is own minus reserve, and the shared part
 * is only ever a bonus.
 *
 *   own part of a share                       shared by all shares
 *   [ reserve: small only ][ general        ] [ over of A | over of B | free ]
 *
 * Small charges fill the reserve first, then general and shared like the others.
 * A small charge that fits the reserve passes waiting large ones: they may not have it.
 *
 * Does not allocate the memory it accounts for, and does not order shares against each
 * other when both wait for the shared part.
 */
#include "admission.h"

#include <stdlib.h>

TAILQ_HEAD(admission_line, admission_waiter);

struct admission_share {
	struct admission_pool *pool;
	TAILQ_ENTRY(admission_share) link; /* pool->shares */
	uint64_t small_bytes; /* reserved now by charges up to ADMISSION_SMALL_BYTES */
	uint64_t large_bytes; /* ... and by the others */
	struct admission_line small_line;
	struct admission_line large_line;
};

struct admission_pool {
	uint64_t own_bytes;	/* of each share */
	uint64_t reserve_bytes; /* of own_bytes, for small charges */
	uint64_t shared_bytes;
	uint64_t shared_used_bytes; /* sum of admission_over() of all shares */
	uint64_t next_order;
	unsigned int share_limit;
	unsigned int share_count;
	TAILQ_HEAD(, admission_share) shares; /* in order of their turns */
};

struct admission_pool *admission_pool_new(uint64_t memory_bytes, unsigned int upstreams)
{
	struct admission_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return NULL;
	INVARIANT(upstreams > 0);
	pool->own_bytes = memory_bytes / (2 * (uint64_t)upstreams);
	pool->reserve_bytes = pool->own_bytes / 8;
	pool->shared_bytes = memory_bytes - pool->own_bytes * upstreams;
	pool->share_limit = upstreams;
	TAILQ_INIT(&pool->shares);
	return pool;
}

void admission_pool_free(struct admission_pool *pool)
{
	if (!pool)
		return;
	INVARIANT(pool->share_count == 0);
	free(pool);
}

struct admission_share *admission_share_new(struct admission_pool *pool)
{
	struct admission_share *share = calloc(1, sizeof(*share));

	if (!share)
		return NULL;
	INVARIANT(pool->share_count < pool->share_limit);
	pool->share_count++;
	share->pool = pool;
	TAILQ_INIT(&share->small_line);
	TAILQ_INIT(&share->large_line);
	TAILQ_INSERT_TAIL(&pool->shares, share, link);
	return share;
}

void admission_share_free(struct admission_share *share)
{
	if (!share)
		return;
	INVARIANT(share->small_bytes == 0 && share->large_bytes == 0);
	INVARIANT(!admission_has_waiters(share));
	TAILQ_REMOVE(&share->pool->shares, share, link);
	share->pool->share_count--;
	free(share);
}

/* How much of the shared part these amounts would take. */
static uint64_t admission_over(const struct admission_pool *pool, uint64_t small_bytes,
			       uint64_t large_bytes)
{
	uint64_t general = pool->own_bytes - pool->reserve_bytes;
	uint64_t used = large_bytes;

	if (small_bytes > pool->reserve_bytes)
		used += small_bytes - pool->reserve_bytes;
	return used > general ? used - general : 0;
}

static bool admission_is_small(size_t charge_bytes)
{
	return charge_bytes <= ADMISSION_SMALL_BYTES;
}

static uint64_t admission_share_over(const struct admission_share *share)
{
	return admission_over(share->pool, share->small_bytes, share->large_bytes);
}

static bool admission_fits(const struct admission_share *share, size_t charge_bytes)
{
	const struct admission_pool *pool = share->pool;
	bool small = admission_is_small(charge_bytes);
	uint64_t before = admission_share_over(share);
	uint64_t after =
		admission_over(pool, share->small_bytes + (small ? charge_bytes : 0),
			       share->large_bytes + (small ? 0 : charge_bytes));

	return after == before ||
	       pool->shared_used_bytes - before + after <= pool->shared_bytes;
}

static bool admission_fits_reserve(const struct admission_share *share,
				   size_t charge_bytes)
{
	return share->small_bytes + charge_bytes <= share->pool->reserve_bytes;
}

static void admission_take(struct admission_share *share, size_t charge_bytes)
{
	struct admission_pool *pool = share->pool;

	pool->shared_used_bytes -= admission_share_over(share);
	if (admission_is_small(charge_bytes))
		share->small_bytes += charge_bytes;
	else
		share->large_bytes += charge_bytes;
	pool->shared_used_bytes += admission_share_over(share);
}

void admission_charge(struct admission_share *share, size_t charge_bytes)
{
	admission_take(share, charge_bytes);
}

/* May it pass now, without overtaking anybody whose memory it would take? */
static bool admission_passes(const struct admission_share *share, size_t charge_bytes)
{
	if (!admission_is_small(charge_bytes))
		return !admission_has_waiters(share) &&
		       admission_fits(share, charge_bytes);
	if (!TAILQ_EMPTY(&share->small_line))
		return false;
	if (TAILQ_EMPTY(&share->large_line))
		return admission_fits(share, charge_bytes);
	return admission_fits_reserve(share, charge_bytes);
}

bool admission_reserve(struct admission_share *share, size_t charge_bytes,
		       struct admission_waiter *waiter)
{
	INVARIANT(charge_bytes <= admission_max_charge_bytes(share));
	INVARIANT(!waiter->waiting);
	if (admission_passes(share, charge_bytes)) {
		admission_take(share, charge_bytes);
		return true;
	}
	waiter->waiting = true;
	waiter->charge_bytes = charge_bytes;
	waiter->order = share->pool->next_order++;
	if (admission_is_small(charge_bytes))
		TAILQ_INSERT_TAIL(&share->small_line, waiter, link);
	else
		TAILQ_INSERT_TAIL(&share->large_line, waiter, link);
	return false;
}

/* Who may go next, or NULL. Between the two lines the older one has first call. */
static struct admission_waiter *admission_next(const struct admission_share *share)
{
	struct admission_waiter *small = TAILQ_FIRST(&share->small_line);
	struct admission_waiter *large = TAILQ_FIRST(&share->large_line);

	if (small && admission_fits_reserve(share, small->charge_bytes))
		return small;
	if (small && (!large || small->order < large->order))
		return admission_fits(share, small->charge_bytes) ? small : NULL;
	if (large && admission_fits(share, large->charge_bytes))
		return large;
	return NULL;
}

static void admission_leave(struct admission_share *share,
			    struct admission_waiter *waiter)
{
	INVARIANT(waiter->waiting);
	waiter->waiting = false;
	if (admission_is_small(waiter->charge_bytes))
		TAILQ_REMOVE(&share->small_line, waiter, link);
	else
		TAILQ_REMOVE(&share->large_line, waiter, link);
}

static void admission_grant(struct admission_share *share)
{
	struct admission_waiter *waiter;

	while ((waiter = admission_next(share)) != NULL) {
		admission_leave(share, waiter);
		admission_take(share, waiter->charge_bytes);
		waiter->granted(waiter);
	}
}

/* The shared part grew: who gave it back has the last turn from now on. */
static void admission_grant_others(struct admission_share *share)
{
	struct admission_pool *pool = share->pool;
	struct admission_share *other;

	TAILQ_REMOVE(&pool->shares, share, link);
	TAILQ_INSERT_TAIL(&pool->shares, share, link);
	TAILQ_FOREACH(other, &pool->shares, link)
		if (other != share)
			admission_grant(other);
}

void admission_cancel(struct admission_share *share, struct admission_waiter *waiter)
{
	admission_leave(share, waiter);
	admission_grant(share);
}

void admission_release(struct admission_share *share, size_t charge_bytes)
{
	struct admission_pool *pool = share->pool;
	uint64_t before = admission_share_over(share);
	uint64_t *used = admission_is_small(charge_bytes) ? &share->small_bytes
							  : &share->large_bytes;

	INVARIANT(*used >= charge_bytes);
	pool->shared_used_bytes -= before;
	*used -= charge_bytes;
	pool->shared_used_bytes += admission_share_over(share);
	admission_grant(share);
	if (admission_share_over(share) < before)
		admission_grant_others(share);
}

bool admission_has_waiters(const struct admission_share *share)
{
	return !TAILQ_EMPTY(&share->small_line) || !TAILQ_EMPTY(&share->large_line);
}

size_t admission_max_charge_bytes(const struct admission_share *share)
{
	return (size_t)(share->pool->own_bytes - share->pool->reserve_bytes);
}
