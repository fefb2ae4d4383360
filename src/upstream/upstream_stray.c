/*
 * Looks at the head of each reply before libnfs reads it, and compares its xid with
 * those of the calls that are out.
 *
 * The hard case: a reply that belongs to no call does not say whose it should have been,
 * and it need not have been anybody's: servers answer twice. So it alone breaks nothing,
 * as a late reply alone does not; a call that was out when it came and still is, long
 * after, does. Since that call may just be a slow one, its next chance is twice as long.
 *
 * A server may also drop a call without a word (the Linux server does while it waits for
 * its export table after a start). It gets a longer patience, and twice that each time, so
 * that a COMMIT that takes minutes is not sent again for ever.
 *
 * Not promised: noticing each such reply. A head that arrives in pieces, or between our
 * look and that of libnfs, is not seen, nor is the second of two that libnfs reads in
 * one go.
 */
#include "upstream/upstream_stray.h"

#include <arpa/inet.h>

#include "nfsgather/log.h"
#include "upstream/upstream_core.h"
#include "upstream/upstream_socket.h"

#define LAST_FRAGMENT 0x80000000u

enum {
	/* Beside the largest payload; libnfs refuses more. */
	REPLY_MAX_BYTES = UPSTREAM_READ_MAX_BYTES + 4096,
	DOUBLINGS_MAX = 8,
};

struct record_head {
	uint32_t mark; /* of the first fragment */
	uint32_t xid;
};

static bool xid_is_out(const struct upstream_conn *conn, uint32_t xid)
{
	const struct upstream_flight *flight;

	if (conn->ping_out && conn->ping_xid == xid)
		return true;
	TAILQ_FOREACH(flight, &conn->sent, link)
		if (flight->on_wire && flight->request->xid == xid)
			return true;
	return false;
}

/* At the head of a record, if one is there. */
static void stray_look(struct upstream_conn *conn)
{
	struct record_head head;
	size_t got = upstream_socket_peek(conn->link.fd, &head, sizeof(head));
	uint32_t mark;
	uint32_t fragment_bytes;

	if (got == 0)
		return;
	conn->stray_reading = UPSTREAM_STRAY_INSIDE;
	if (got < sizeof(head))
		return;
	mark = ntohl(head.mark);
	fragment_bytes = mark & ~LAST_FRAGMENT;
	if (fragment_bytes < sizeof(head.xid) || fragment_bytes > REPLY_MAX_BYTES)
		return; /* the xid is not there, or libnfs will complain */
	if (xid_is_out(conn, ntohl(head.xid)))
		return;
	conn->stray_seen = true;
	conn->stray_seen_at = clock_now(conn->upstream->clock);
	if (mark & LAST_FRAGMENT) {
		conn->stray_reading = UPSTREAM_STRAY_PASSING;
		conn->stray_ends_bytes = upstream_socket_taken_bytes(conn->link.fd) +
					 sizeof(mark) + fragment_bytes;
	}
}

/* A reply to no call has come. Has libnfs read it to its end, or further? */
static void stray_pass(struct upstream_conn *conn)
{
	uint64_t taken_bytes = upstream_socket_taken_bytes(conn->link.fd);

	if (taken_bytes < conn->stray_ends_bytes)
		return;
	if (taken_bytes > conn->stray_ends_bytes) {
		conn->stray_reading = UPSTREAM_STRAY_INSIDE;
		return;
	}
	conn->stray_reading = UPSTREAM_STRAY_AT_HEAD;
	stray_look(conn);
}

void upstream_stray_reset(struct upstream_conn *conn)
{
	conn->stray_reading = UPSTREAM_STRAY_AT_HEAD;
	conn->stray_seen = false;
}

void upstream_stray_before_read(struct upstream_conn *conn)
{
	switch (conn->stray_reading) {
	case UPSTREAM_STRAY_AT_HEAD:
		stray_look(conn);
		return;
	case UPSTREAM_STRAY_PASSING:
		stray_pass(conn);
		return;
	case UPSTREAM_STRAY_INSIDE:
		return;
	}
	UNREACHABLE();
}

void upstream_stray_after_record(struct upstream_conn *conn)
{
	conn->stray_reading = UPSTREAM_STRAY_AT_HEAD;
	/* libnfs reads on at once while replies are due */
	if (conn->broken == NULL && (conn->on_wire_count > 0 || conn->ping_out))
		stray_look(conn);
}

/* How long this call may go without its reply on a connection that answers others. */
static mono_us stray_patience(const struct upstream_conn *conn,
			      const struct upstream_flight *flight)
{
	const struct upstream_tuning *tuning = &conn->upstream->tuning;
	bool may_be_its = conn->stray_seen && flight->sent_at <= conn->stray_seen_at;

	return (may_be_its ? tuning->stray_us : tuning->lost_us) << flight->strays;
}

void upstream_stray_check(struct upstream_conn *conn, mono_us now)
{
	struct upstream *upstream = conn->upstream;
	struct upstream_flight *flight;
	bool missing = false;

	TAILQ_FOREACH(flight, &conn->sent, link) {
		if (!flight->on_wire ||
		    now - flight->sent_at < stray_patience(conn, flight))
			continue;
		missing = true;
		if (flight->strays < DOUBLINGS_MAX)
			flight->strays++;
	}
	if (!missing)
		return;
	conn->broken = conn->stray_seen ? "reply to no call" : "call without a reply";
	if (log_limit_allows(&upstream->bad_reply_limit, now))
		log_warn("upstream %s: %sa call without its reply: sending again",
			 upstream->name,
			 conn->stray_seen ? "a reply to no call, and " : "");
}
