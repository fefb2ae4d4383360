/*
 * Breaks a connection on purpose when one of its calls has no reply for long, so that all
 * of its calls are sent again: libnfs cannot send one again on the same connection.
 *
 * A server may drop a call without a word (the Linux server does while it waits for its
 * export table after a start), or answer it under an xid that no call has, which libnfs
 * passes over. Both go on to answer others, so that nothing looks wrong.
 *
 * The hard case: the call may just be a slow one, a COMMIT that takes minutes. So each
 * time that it is overdue its patience is doubled, or it would be sent again for ever.
 *
 * Not promised: that only calls which are lost are sent again; servers have to bear that
 * after any broken connection.
 */
#include "upstream/upstream_overdue.h"

#include "nfsgather/log.h"
#include "upstream/upstream_core.h"

enum { DOUBLINGS_MAX = 8 }; /* 120 s become 8.5 hours */

static bool flight_is_overdue(const struct upstream_flight *flight, mono_us now)
{
	mono_us patience_us = flight->conn->upstream->tuning.overdue_us
			      << flight->overdue_count;

	return flight->on_wire && now - flight->sent_at >= patience_us;
}

void upstream_overdue_check(struct upstream_conn *conn, mono_us now)
{
	struct upstream *upstream = conn->upstream;
	struct upstream_flight *flight;
	bool is_any = false;

	TAILQ_FOREACH(flight, &conn->sent, link) {
		if (!flight_is_overdue(flight, now))
			continue;
		if (flight->overdue_count < DOUBLINGS_MAX)
			flight->overdue_count++;
		is_any = true;
	}
	if (!is_any)
		return;
	conn->broken = "call without a reply";
	if (log_limit_allows(&upstream->bad_reply_limit, now))
		log_warn("upstream %s: a call without its reply: sending again",
			 upstream->name);
}
