/*
 * Replies on their way out: a ring of buffers, written with writev at the end of the turn,
 * so that what one turn answered goes out in one call.
 *
 * The hard case is a client that sends calls and never reads replies: what it may leave
 * unsent is bounded by not reading its calls; and while others wait for the memory it
 * holds, it is given up after a while.
 *
 * Does not order replies: they go out as they were answered.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "frontend_private.h"
#include "session.h"

enum {
	SESSION_RING_MIN = 16,
	SESSION_IOV_MAX = 64,
};

static struct session_reply *session_reply_at(struct session *session, size_t i)
{
	return &session->replies[(session->reply_first + i) &
				 (session->reply_capacity - 1)];
}

static void session_reply_settle(struct session *session,
				 const struct session_reply *reply)
{
	buf_unref(reply->buf);
	session->unsent_charge_bytes -= reply->charge_bytes;
	if (reply->charge_bytes > 0)
		admission_release(session->frontend->share, reply->charge_bytes);
}

void session_output_fini(struct session *session)
{
	size_t i;

	for (i = 0; i < session->reply_count; i++)
		session_reply_settle(session, session_reply_at(session, i));
	free(session->replies);
	session->replies = NULL;
	session->reply_count = 0;
	session->reply_capacity = 0;
	session->unsent_bytes = 0;
}

static int session_ring_grow(struct session *session)
{
	size_t capacity = session->reply_capacity ? 2 * session->reply_capacity
						  : SESSION_RING_MIN;
	struct session_reply *grown = malloc(capacity * sizeof(*grown));
	size_t i;

	if (!grown)
		return -ENOMEM;
	for (i = 0; i < session->reply_count; i++)
		grown[i] = *session_reply_at(session, i);
	free(session->replies);
	session->replies = grown;
	session->reply_capacity = capacity;
	session->reply_first = 0;
	return 0;
}

static bool session_output_is_above(const struct session *session, unsigned int divisor)
{
	return session->unsent_bytes > SESSION_UNSENT_MAX_BYTES / divisor ||
	       session->reply_count > SESSION_REPLIES_MAX / divisor ||
	       session->expected_bytes + session->unsent_charge_bytes >
		       SESSION_EXPECTED_MAX_BYTES / divisor;
}

/* From full to half full, so that a session does not stop and go with each reply. */
void session_check_output(struct session *session)
{
	if (session_output_is_above(session, 1))
		session_pause(session, SESSION_PAUSE_OUTPUT);
	else if (!session_output_is_above(session, 2))
		session_unpause(session, SESSION_PAUSE_OUTPUT);
}

void session_send(struct session *session, struct buf *reply, size_t charge_bytes)
{
	struct session_reply entry = { reply, charge_bytes };

	session->unsent_charge_bytes += charge_bytes;
	if (session->fd < 0 || (session->reply_count == session->reply_capacity &&
				session_ring_grow(session) < 0)) {
		session_reply_settle(session, &entry);
		session_close(session, SESSION_END_MEMORY);
		return;
	}
	if (session->reply_count == 0)
		session->output_progress = clock_now(session->frontend->clock);
	session->reply_count++;
	*session_reply_at(session, session->reply_count - 1) = entry;
	session->unsent_bytes += reply->len_bytes;
	session_check_output(session);
	if (!session->is_blocked)
		session_schedule_flush(session);
}

static int session_gather(struct session *session, struct iovec iov[SESSION_IOV_MAX])
{
	size_t skip = session->first_sent_bytes;
	int count = 0;

	while (count < SESSION_IOV_MAX && (size_t)count < session->reply_count) {
		struct buf *buf = session_reply_at(session, (size_t)count)->buf;

		iov[count].iov_base = buf_start(buf) + skip;
		iov[count].iov_len = buf->len_bytes - skip;
		skip = 0;
		count++;
	}
	return count;
}

static void session_on_sent(struct session *session, size_t sent_bytes)
{
	session->output_progress = clock_now(session->frontend->clock);
	session->unsent_bytes -= sent_bytes;
	sent_bytes += session->first_sent_bytes;
	while (session->reply_count > 0) {
		struct session_reply reply = *session_reply_at(session, 0);

		if (sent_bytes < reply.buf->len_bytes)
			break;
		sent_bytes -= reply.buf->len_bytes;
		session->reply_first = (session->reply_first + 1) &
				       (session->reply_capacity - 1);
		session->reply_count--;
		session_reply_settle(session, &reply);
	}
	session->first_sent_bytes = sent_bytes;
	session_check_output(session);
}

void session_flush(struct session *session)
{
	while (session->fd >= 0 && session->reply_count > 0) {
		struct iovec iov[SESSION_IOV_MAX];
		int count = session_gather(session, iov);
		ssize_t sent = writev(session->fd, iov, count);

		session->is_blocked = false;
		if (sent >= 0) {
			session_on_sent(session, (size_t)sent);
		} else if (errno == EAGAIN) {
			/* The next EV_WRITE edge goes on. */
			session->is_blocked = true;
			return;
		} else if (errno != EINTR) {
			session_close_failed(session, errno);
		}
	}
}

/* Does a parked call hold room for its reply, and cannot go on? */
static bool session_parked_is_stalled(const struct session *session, mono_us now)
{
	return session->parked && session->parked->reply_charge_bytes > 0 &&
	       now - session->room_since >= SESSION_STALL_US;
}

bool session_output_is_stalled(const struct session *session, mono_us now)
{
	return (session->unsent_charge_bytes > 0 ||
		session_parked_is_stalled(session, now)) &&
	       now - session->output_progress >= SESSION_STALL_US;
}
