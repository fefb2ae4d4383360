/*
 * Notices replies that belong to no call: libnfs passes over them without a word, and
 * the call that such a reply was meant for would wait until the connection breaks.
 */
#ifndef UPSTREAM_UPSTREAM_STRAY_H
#define UPSTREAM_UPSTREAM_STRAY_H

#include "nfsgather/clock.h"

struct upstream_conn;

/* What the next byte that libnfs reads belongs to. */
enum upstream_stray_at {
	UPSTREAM_STRAY_AT_HEAD, /* a record that begins there */
	UPSTREAM_STRAY_INSIDE,	/* one whose end a callback will tell, or unknown */
	UPSTREAM_STRAY_PASSING, /* a reply to no call, or what comes after it */
};

/* The connection is gone, and what was noticed on it with it. */
void upstream_stray_reset(struct upstream_conn *conn);
/* Before libnfs reads; not from inside it. */
void upstream_stray_before_read(struct upstream_conn *conn);
/* Last thing in a callback of libnfs: a reply was read, its call is off the wire. */
void upstream_stray_after_record(struct upstream_conn *conn);
/* In state UP: sets conn->broken if a reply is waited for that may never come. */
void upstream_stray_check(struct upstream_conn *conn, mono_us now);

#endif
