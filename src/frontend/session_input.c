/*
 * Calls on their way in: small records through a staging area, the bodies of large ones
 * straight into the buffer they will be sent from.
 *
 *   readv( [rest of this record's body] [staging area] )
 *             as it is                     record_reader_take() ...
 *
 * The hard case is stopping: a session may have to wait for memory in the middle of what
 * was staged. The rest is kept aside, and a session that waited is closed instead
 * of resumed when its client has moved on meanwhile: what lies unread in it may be older
 * than what the client has sent since. (A hang-up closes it before: session.c.)
 *
 * Does not interpret records (dispatch.c).
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "dispatch.h"
#include "duplicate.h"
#include "engine_clock.h"
#include "frontend_private.h"
#include "reply.h"
#include "session.h"

enum {
	/* Work of one turn: bytes read, plus a flat rate for each call. */
	SESSION_TURN_WORK = 512 * 1024,
	SESSION_CALL_WORK = 4 * 1024,
	/* From this much on a body is worth receiving in place. */
	SESSION_DIRECT_MIN_BYTES = 4 * 1024,
};

static void session_on_granted(struct admission_waiter *waiter)
{
	struct session *session = container_of(waiter, struct session, waiter);

	if (session->parked)
		call_set_reply_charge(session->parked, waiter->charge_bytes);
	else
		session->record_charge_bytes = waiter->charge_bytes;
	session->room_since = clock_now(session->frontend->clock);
	session_unpause(session, SESSION_PAUSE_ROOM);
}

void session_input_init(struct session *session)
{
	session->waiter.granted = session_on_granted;
	record_reader_init(&session->reader,
			   frontend_record_max_bytes(session->frontend));
}

static void session_release_record(struct session *session)
{
	size_t charge_bytes = session->record_charge_bytes;

	session->record_charge_bytes = 0;
	if (charge_bytes > 0)
		admission_release(session->frontend->share, charge_bytes);
}

bool session_is_hung_up(const struct session *session)
{
	struct pollfd poll_fd = { .fd = session->fd, .events = POLLRDHUP };

	return poll(&poll_fd, 1, 0) > 0;
}

/*
 * A large record is charged twice: libnfs copies what it sends. A tiny one is charged
 * for what its call takes beside it.
 */
static size_t session_charge(size_t bytes)
{
	if (bytes > ADMISSION_SMALL_BYTES)
		return 2 * bytes;
	return bytes < ADMISSION_CALL_BYTES ? ADMISSION_CALL_BYTES : bytes;
}

/* False: paused until there is room. */
static bool session_make_room(struct session *session)
{
	struct frontend *frontend = session->frontend;
	size_t charge_bytes = session_charge(session->reader.needed_bytes);
	struct buf *buf;

	if (session->record_charge_bytes == 0) {
		if (!admission_reserve(frontend->share, charge_bytes,
				       &session->waiter)) {
			engine_clock_want_relief(frontend);
			session_pause(session, SESSION_PAUSE_ROOM);
			return false;
		}
		session->record_charge_bytes = charge_bytes;
		session->room_since = clock_now(frontend->clock);
	}
	buf = buf_new(session->reader.needed_bytes);
	if (!buf) {
		session_release_record(session);
		session_pause(session, SESSION_PAUSE_MEMORY);
		return false;
	}
	record_reader_give(&session->reader, buf);
	return true;
}

/*
 * A record in fragments was charged for the largest there is. A small one gives that back
 * before it may wait for the room of its reply: many such calls would wait for each other.
 * When memory is short it stays as it is.
 */
static void session_shrink_record(struct session *session, struct buf **record,
				  size_t *charge_bytes)
{
	size_t small_bytes = session_charge((*record)->len_bytes);
	struct buf *small;

	if ((*record)->len_bytes > ADMISSION_SMALL_BYTES ||
	    *charge_bytes <= ADMISSION_SMALL_BYTES)
		return;
	small = buf_new((*record)->len_bytes);
	if (!small)
		return;
	memcpy(buf_start(small), buf_start(*record), (*record)->len_bytes);
	small->len_bytes = (*record)->len_bytes;
	buf_unref(*record);
	*record = small;
	admission_charge(session->frontend->share, small_bytes);
	admission_release(session->frontend->share, *charge_bytes);
	*charge_bytes = small_bytes;
}

static void session_on_record(struct session *session)
{
	struct buf *record = record_reader_steal(&session->reader);
	size_t charge_bytes = session->record_charge_bytes;

	session->record_charge_bytes = 0;
	session_shrink_record(session, &record, &charge_bytes);
	dispatch_record(session, record, charge_bytes);
	if (session->fd < 0)
		return;
	if (session->call_count >= SESSION_CALLS_MAX)
		session_pause(session, SESSION_PAUSE_CALLS);
	session_check_output(session);
}

/* Returns how many bytes were used: fewer only when the session pauses or is closed. */
static size_t session_consume(struct session *session, const uint8_t *bytes,
			      size_t len_bytes, size_t *work)
{
	struct record_reader *reader = &session->reader;
	size_t used = 0;

	for (;;) {
		switch (reader->state) {
		case RECORD_NEEDS_ROOM:
			if (!session_make_room(session))
				return used;
			break;
		case RECORD_READY:
			*work += SESSION_CALL_WORK;
			session_on_record(session);
			if (session->fd < 0 || session->paused_for != 0)
				return used;
			break;
		case RECORD_BROKEN:
			session_close_malformed(session,
						record_fault_name(reader->fault));
			return used;
		case RECORD_HEADER:
		case RECORD_BODY:
			if (used == len_bytes)
				return used;
			if (!reader->record)
				reader->max_bytes =
					frontend_record_max_bytes(session->frontend);
			used += record_reader_take(reader, bytes + used,
						   len_bytes - used);
			break;
		}
	}
}

static void session_keep_leftover(struct session *session, const uint8_t *bytes,
				  size_t len_bytes)
{
	struct buf *buf = buf_new(len_bytes);

	if (!buf) {
		session_close(session, SESSION_END_MEMORY);
		return;
	}
	memcpy(buf_start(buf), bytes, len_bytes);
	buf->len_bytes = len_bytes;
	session->leftover = buf;
}

static void session_consume_staged(struct session *session, size_t len_bytes,
				   size_t *work)
{
	const uint8_t *staging = session_staging(session);
	size_t used = session_consume(session, staging, len_bytes, work);

	if (session->fd >= 0 && used < len_bytes)
		session_keep_leftover(session, staging + used, len_bytes - used);
}

static void session_consume_leftover(struct session *session, size_t *work)
{
	struct buf *buf = session->leftover;
	size_t used;

	session->leftover = NULL;
	used = session_consume(session, buf_start(buf), buf->len_bytes, work);
	if (session->fd >= 0 && used < buf->len_bytes) {
		buf->off_bytes += used;
		buf->len_bytes -= used;
		session->leftover = buf;
		return;
	}
	buf_unref(buf);
}

/* One readv(); returns what it asked for, *got what came or a negative errno. */
static size_t session_receive(struct session *session, ssize_t *got,
			      size_t *direct_bytes)
{
	struct iovec iov[2];
	size_t body_bytes;
	uint8_t *body = record_reader_want(&session->reader, &body_bytes);
	int count = 0;

	*direct_bytes = 0;
	if (body_bytes >= SESSION_DIRECT_MIN_BYTES) {
		iov[count++] = (struct iovec){ body, body_bytes };
		*direct_bytes = body_bytes;
	}
	iov[count++] =
		(struct iovec){ session_staging(session), SESSION_STAGING_BYTES };
	*got = readv(session->fd, iov, count);
	if (*got < 0)
		*got = -errno;
	return *direct_bytes + SESSION_STAGING_BYTES;
}

/* False: nothing more to read now. */
static bool session_read_once(struct session *session, size_t *work)
{
	size_t direct_bytes;
	ssize_t got;
	size_t asked = session_receive(session, &got, &direct_bytes);
	size_t rest;

	if (got == -EINTR)
		return true;
	if (got == -EAGAIN)
		return false;
	if (got < 0) {
		session_close_failed(session, (int)-got);
		return false;
	}
	if (got == 0) {
		session_close(session, SESSION_END_EOF);
		return false;
	}
	*work += (size_t)got;
	rest = (size_t)got;
	if (direct_bytes > 0) {
		size_t body = rest < direct_bytes ? rest : direct_bytes;

		record_reader_received(&session->reader, body);
		rest -= body;
	}
	session_consume_staged(session, rest, work);
	/* Edge-triggered: what arrives after a short read makes an edge of its own. */
	return (size_t)got == asked;
}

void session_read(struct session *session)
{
	size_t work = 0;

	/* Behind a leftover, which was read earlier, nothing is read. */
	while (session->fd >= 0 && session->paused_for == 0 && !session->leftover &&
	       session_read_once(session, &work)) {
		if (work >= SESSION_TURN_WORK) {
			session_schedule_ready(session);
			return;
		}
	}
}

void session_resume(struct session *session)
{
	size_t work = 0;

	if (session->fd < 0 || session->paused_for != 0)
		return;
	if (!duplicate_may_resume(session->client != NULL, session->is_outrun,
				  session->newer_seq)) {
		session_close(session, SESSION_END_REPLACED);
		return;
	}
	if (session->parked) {
		struct call *call = session->parked;

		session->parked = NULL;
		dispatch_resume(call);
	}
	if (session->fd >= 0 && session->leftover)
		session_consume_leftover(session, &work);
	else if (session->fd >= 0)
		session_consume_staged(session, 0, &work);
	session_read(session);
}

void session_park(struct session *session, struct call *call)
{
	INVARIANT(!session->parked);
	session->parked = call;
	session_pause(session, SESSION_PAUSE_ROOM);
}

/* Whether its first byte was read does not matter: others wait for the room. */
bool session_input_is_stalled(const struct session *session, mono_us now)
{
	return session->record_charge_bytes > 0 &&
	       now - session->room_since >= SESSION_STALL_US;
}

void session_input_fini(struct session *session)
{
	struct call *parked = session->parked;

	if (session->waiter.waiting)
		admission_cancel(session->frontend->share, &session->waiter);
	session_release_record(session);
	record_reader_fini(&session->reader);
	buf_unref(session->leftover);
	session->leftover = NULL;
	session->parked = NULL;
	if (parked)
		reply_drop(parked);
}
