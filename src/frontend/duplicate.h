/*
 * The rules for calls that come twice and for sessions that a client gave up, as pure
 * functions: dispatch.c, session.c and reply.c carry them out (P7; RFC 1813 s4.5).
 *
 * Sessions are told apart by their seq, the order in which they were accepted, from 1. Of
 * two sessions of one client that ask the same, the one accepted later is the client's
 * choice; the earlier one is closed with what is unread in it, which may be older than
 * what the client has sent since.
 */
#ifndef FRONTEND_DUPLICATE_H
#define FRONTEND_DUPLICATE_H

#include <stdbool.h>
#include <stdint.h>

#include "reply_cache.h"
#include "wire/nfs_proc.h"

/* What is known of a call that has just been read. */
enum duplicate_original {
	DUPLICATE_UNKNOWN, /* no entry in the reply cache */
	DUPLICATE_PARKED,  /* in progress, but it waits for room: not started */
	DUPLICATE_IN_PROGRESS,
	DUPLICATE_ANSWERED,
};

/* What becomes of the call. */
enum duplicate_action {
	DUPLICATE_RUN,	  /* it is the first, or stands in for one that never started */
	DUPLICATE_IGNORE, /* drop it: a reply is on its way to where the client reads */
	DUPLICATE_FOLLOW, /* drop it; the original's reply goes to its session instead */
	DUPLICATE_REPEAT, /* drop it and send what the original was answered */
};

/* Which session has to be closed first. */
enum duplicate_loser {
	DUPLICATE_NOBODY,
	DUPLICATE_ORIGINAL, /* the session the original answers to, or was answered on */
	DUPLICATE_COPY,	    /* the session the call was just read from */
};

struct duplicate_ruling {
	enum duplicate_action action;
	enum duplicate_loser loser;
};

/*
 * `original_seq`: the session the original answers to, or was answered on last, if it is
 * still open, else 0. `copy_seq`: the session the call was read from.
 *
 *   original     its session is       ruling
 *   UNKNOWN      -                    RUN
 *   PARKED       older                RUN in its place, the older one closed
 *   IN PROGRESS  the same             IGNORE
 *                gone, older          FOLLOW, the older one closed
 *   ANSWERED     the same, gone       REPEAT
 *                older                REPEAT, the older one closed
 *   all but the first: newer          IGNORE, the copy's session closed
 *
 * A PARKED original on the copy's own session cannot be: a session that waits does not
 * read. It is ruled IGNORE.
 */
struct duplicate_ruling duplicate_rule(enum duplicate_original original,
				       uint64_t original_seq, uint64_t copy_seq);

/*
 * A session that stood still (paused, not read) while newer ones were accepted from its
 * address: `newest_seq` is the last of those, 0 if there were none. Its client makes its
 * first call on session `speaking_seq`. Did that one outrun it? Then it is closed and never
 * read again; if it is still paused, at the latest when it would go on.
 */
bool duplicate_is_outrun(uint64_t newest_seq, uint64_t speaking_seq);

/*
 * May a session that stood still go on, or is it closed? `is_outrun` as above. While no
 * call was read from it (`has_client` is false) nobody can tell whose it is, so any
 * newer one from its address ends it: a client that is still there connects again.
 */
bool duplicate_may_resume(bool has_client, bool is_outrun, uint64_t newest_seq);

/*
 * How long the answer to a call of this procedure is kept, and with which others. `ok`:
 * the answer is a success.
 *
 * WRITEs too, though they are idempotent: a stale copy, run again, would lay old bytes
 * over newer ones. But apart from the others: there are many, and they must not push out
 * what a RENAME was answered. COMMITs too: a stale copy, run again, would take the error
 * that waits for the client's next COMMIT, and nobody would read it. Failed COMMITs longest
 * of all: an error that tells of lost bytes is told once, and a reply that got lost must
 * not use it up.
 */
enum reply_keep duplicate_keep(const struct nfs_proc *proc, bool ok);

#endif
