/*
 * Memory for records, bounded for the whole process (P8). A record is admitted only if its
 * whole charge can be reserved when its first header is read; else its session waits in
 * line, in order of arrival, without reading, until calls in progress have given theirs back.
 *
 * Each of N upstreams owns memory/(2N), of which 1/8 only small records (at most
 * ADMISSION_SMALL_BYTES) may take; what no one owns is shared. No step that gives
 * memory back waits for another record, so the cap cannot deadlock.
 *
 * The length of a record in fragments is not known at its first header: it is admitted as
 * the largest there is, and charged for what it is once it is whole, if it is a small one.
 * What may wait while it holds a charge (a call, for its reply's) is a small record.
 *
 * Small and large charges stand in two lines, each first in first out: a small one need
 * not stand behind a large one for memory that the large one may not have.
 */
#ifndef FRONTEND_ADMISSION_H
#define FRONTEND_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "nfsgather/invariant.h"

enum {
	ADMISSION_SMALL_BYTES = 64 * 1024,
	/* The least a record is charged: a call takes 2 to 3 kB beside its bytes. */
	ADMISSION_CALL_BYTES = 4 * 1024,
};

struct admission_pool;
struct admission_share;

/* NULL when memory is short. */
struct admission_pool *admission_pool_new(uint64_t memory_bytes,
					  unsigned int upstreams);
void admission_pool_free(struct admission_pool *pool);

/* One upstream's share; at most as many as the pool was made for. NULL: short of memory. */
struct admission_share *admission_share_new(struct admission_pool *pool);
/* Nothing may be reserved or waiting any more. */
void admission_share_free(struct admission_share *share);

/*
 * Embedded in whoever waits. granted() runs with the reservation made, from inside the
 * admission_release() or admission_cancel() of somebody else; it should only take note.
 */
struct admission_waiter {
	TAILQ_ENTRY(admission_waiter) link;
	size_t charge_bytes;
	uint64_t order; /* of arrival, in the whole process */
	bool waiting;
	void (*granted)(struct admission_waiter *waiter);
};

/*
 * True: reserved now. False: the waiter is in line and granted() will run later from
 * admission_release() of some call. A charge above admission_max_charge_bytes() is a bug.
 */
MUST_CHECK bool admission_reserve(struct admission_share *share, size_t charge_bytes,
				  struct admission_waiter *waiter);
/*
 * Reserves without asking, for what replaces something that is already reserved and will be
 * given back in a moment. Until then the limit may be passed by as much.
 */
void admission_charge(struct admission_share *share, size_t charge_bytes);
/* Leaves the line, which may let those behind it in; only if waiter->waiting. */
void admission_cancel(struct admission_share *share, struct admission_waiter *waiter);
void admission_release(struct admission_share *share, size_t charge_bytes);
bool admission_has_waiters(const struct admission_share *share);
/* The largest charge that is always admitted in the end, whatever other shares do. */
size_t admission_max_charge_bytes(const struct admission_share *share);

#endif
