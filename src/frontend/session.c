/*
 * The life of client connections: accepted, attached to a client, closed, freed; and the
 * events that drive session_input.c and session_output.c.
 *
 * The hard case is stale input: a client that gave a connection up may have left old
 * WRITEs in it. So a hang-up is acted on before any unread byte (one edge-triggered
 * event tells both at once), and a session that was paused while its client opened another
 * one is not resumed.
 *
 * A turn: events and due timers run first; then, once, all that was marked:
 *
 *   on_turn:  flush what was answered, free what was closed
 *   on_again: (in the next turn of the loop) go on reading where there is more to do
 *
 * Does not know records or calls.
 */
#include "session.h"

#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "duplicate.h"
#include "frontend_private.h"

enum { SESSION_TICK_S = 1 };

TAILQ_HEAD(session_list, session);

struct session_set {
	struct frontend *frontend;
	struct session_list open;
	struct session_list closed; /* freed by on_turn */
	struct session_list ready;
	struct session_list flush;
	size_t open_count;
	uint64_t last_seq;
	struct event *turn;
	struct event *again;
	struct event *tick;
	uint64_t ended[SESSION_END_COUNT];
	uint8_t staging[SESSION_STAGING_BYTES];
};

static const struct {
	const char *text;
	enum log_level level;
} session_ends[] = {
#define X(name, text, level) [name] = { text, level },
	SESSION_END_TABLE(X)
#undef X
};

const char *session_end_name(enum session_end end)
{
	return session_ends[end].text;
}

static void session_free_closed(struct session_set *set)
{
	struct session *session;

	while ((session = TAILQ_FIRST(&set->closed)) != NULL) {
		TAILQ_REMOVE(&set->closed, session, link);
		free(session);
	}
}

static void session_set_on_turn(evutil_socket_t fd, short what, void *arg)
{
	struct session_set *set = arg;
	struct session *session;

	(void)fd;
	(void)what;
	while ((session = TAILQ_FIRST(&set->flush)) != NULL) {
		TAILQ_REMOVE(&set->flush, session, flush_link);
		session->is_flushing = false;
		session_flush(session);
	}
	session_free_closed(set);
}

static void session_set_on_again(evutil_socket_t fd, short what, void *arg)
{
	struct session_set *set = arg;
	struct session *session;
	size_t left = 0;

	(void)fd;
	(void)what;
	/*
	 * What gets ready meanwhile has its turn after the others' events. Resuming one may
	 * make another one ready that is listed already: each stays marked until its turn.
	 */
	TAILQ_FOREACH(session, &set->ready, ready_link)
		left++;
	while (left-- > 0 && (session = TAILQ_FIRST(&set->ready)) != NULL) {
		TAILQ_REMOVE(&set->ready, session, ready_link);
		session->is_ready = false;
		session_resume(session);
	}
}

static bool session_set_is_busy(const struct session_set *set)
{
	return set->open_count > 0 || frontend_is_busy(set->frontend);
}

static void session_set_arm_tick(struct session_set *set)
{
	static const struct timeval second = { .tv_sec = SESSION_TICK_S };

	if (!evtimer_pending(set->tick, NULL))
		evtimer_add(set->tick, &second);
}

static void session_close_if_stalled(struct session *session, mono_us now)
{
	if (session_input_is_stalled(session, now))
		session_close(session, SESSION_END_STALLED_RECORD);
	else if (session_output_is_stalled(session, now))
		session_close(session, SESSION_END_STALLED_REPLIES);
}

static void session_set_on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct session_set *set = arg;
	mono_us now = clock_now(set->frontend->clock);
	struct session *session;
	struct session *next;

	(void)fd;
	(void)what;
	for (session = TAILQ_FIRST(&set->open); session; session = next) {
		next = TAILQ_NEXT(session, link);
		if (admission_has_waiters(set->frontend->share))
			session_close_if_stalled(session, now);
		if (session->fd >= 0)
			session_unpause(session, SESSION_PAUSE_MEMORY);
	}
	frontend_tick(set->frontend);
	if (session_set_is_busy(set))
		session_set_arm_tick(set);
}

struct session_set *session_set_new(struct frontend *frontend)
{
	struct session_set *set = calloc(1, sizeof(*set));

	if (!set)
		return NULL;
	set->frontend = frontend;
	TAILQ_INIT(&set->open);
	TAILQ_INIT(&set->closed);
	TAILQ_INIT(&set->ready);
	TAILQ_INIT(&set->flush);
	set->turn = event_new(frontend->base, -1, 0, session_set_on_turn, set);
	set->again = evtimer_new(frontend->base, session_set_on_again, set);
	set->tick = evtimer_new(frontend->base, session_set_on_tick, set);
	if (!set->turn || !set->again || !set->tick) {
		session_set_free(set);
		return NULL;
	}
	return set;
}

void session_set_free(struct session_set *set)
{
	struct session *session;

	if (!set)
		return;
	while ((session = TAILQ_FIRST(&set->open)) != NULL)
		session_close(session, SESSION_END_SHUTDOWN);
	session_free_closed(set);
	if (set->turn)
		event_free(set->turn);
	if (set->again)
		event_free(set->again);
	if (set->tick)
		event_free(set->tick);
	free(set);
}

uint64_t session_set_ended(const struct session_set *set, enum session_end end)
{
	return set->ended[end];
}

size_t session_set_count(const struct session_set *set)
{
	return set->open_count;
}

void session_set_pause(struct session_set *set)
{
	struct session *session;

	TAILQ_FOREACH(session, &set->open, link)
		session_pause(session, SESSION_PAUSE_DRAIN);
}

bool session_set_is_answered(const struct session_set *set, size_t live_count)
{
	const struct session *session;

	TAILQ_FOREACH(session, &set->open, link) {
		if (session->unsent_bytes > 0)
			return false;
		if (session->parked)
			live_count--; /* never started */
	}
	return live_count == 0;
}

uint8_t *session_staging(struct session *session)
{
	return session->set->staging;
}

static void session_on_event(evutil_socket_t fd, short what, void *arg)
{
	struct session *session = arg;

	(void)fd;
	if ((what & EV_CLOSED) ||
	    (session->paused_for != 0 && session_is_hung_up(session))) {
		session_close(session, SESSION_END_EOF);
		return;
	}
	if ((what & EV_WRITE) && session->is_blocked) {
		session->is_blocked = false;
		session_flush(session);
	}
	if ((what & EV_READ) && session->fd >= 0 && !session->is_ready)
		session_read(session);
}

/* So that a client that vanished without a word is noticed within two minutes. */
static void session_set_options(int fd)
{
	static const struct {
		int level;
		int name;
		int value;
	} options[] = {
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },   { IPPROTO_TCP, TCP_NODELAY, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, 60 }, { IPPROTO_TCP, TCP_KEEPINTVL, 10 },
		{ IPPROTO_TCP, TCP_KEEPCNT, 6 },
	};
	size_t i;

	for (i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (setsockopt(fd, options[i].level, options[i].name, &options[i].value,
			       sizeof(options[i].value)) < 0)
			log_debug("socket option %d: %s", options[i].name,
				  strerror(errno));
}

/* Sessions that are not being read now may turn out to be given up for this one. */
static void session_note_newer(struct session *session)
{
	struct session *other;

	TAILQ_FOREACH(other, &session->set->open, link)
		if (other->paused_for != 0 &&
		    peer_address_equal(&other->address, &session->address))
			other->newer_seq = session->seq;
}

int session_accept(struct session_set *set, int fd, const struct sockaddr *addr,
		   socklen_t addr_bytes, const struct access_rule *rule)
{
	struct session *session = calloc(1, sizeof(*session));

	if (!session)
		return -ENOMEM;
	session->set = set;
	session->frontend = set->frontend;
	session->event = event_new(set->frontend->base, fd,
				   EV_READ | EV_WRITE | EV_CLOSED | EV_ET | EV_PERSIST,
				   session_on_event, session);
	if (!session->event || event_add(session->event, NULL) < 0) {
		if (session->event)
			event_free(session->event);
		free(session);
		return -ENOMEM;
	}
	session->fd = fd;
	session->rule = rule;
	memcpy(&session->addr, addr,
	       addr_bytes < sizeof(session->addr) ? addr_bytes : sizeof(session->addr));
	peer_address_init(&session->address, addr);
	peer_text(session->peer, addr);
	TAILQ_INIT(&session->calls);
	session->seq = ++set->last_seq;
	session_set_options(fd);
	session_input_init(session);
	session_note_newer(session);
	TAILQ_INSERT_TAIL(&set->open, session, link);
	set->open_count++;
	session_set_arm_tick(set);
	stats_count(set->frontend->stats, STAT_SESSIONS_ACCEPTED);
	log_debug("upstream %s: session %s accepted", frontend_name(set->frontend),
		  session->peer);
	return 0;
}

static void session_leave_client(struct session *session)
{
	if (!session->client)
		return;
	TAILQ_REMOVE(&session->client->sessions, session, client_link);
	client_unref(session->client);
	session->client = NULL;
}

static void session_log_end(const struct session *session, enum session_end end,
			    const char *detail)
{
	struct frontend *frontend = session->frontend;
	enum log_level level = session_ends[end].level;

	if (!log_enabled(level) ||
	    (level != LOG_LEVEL_DEBUG &&
	     !frontend_peer_may_log(frontend, (const void *)&session->addr)))
		return;
	log_write(level, "upstream %s: session %s client %s ended: %s%s%s",
		  frontend_name(frontend), session->peer,
		  session->client ? session->client->text : "not known yet",
		  session_ends[end].text, detail ? ": " : "", detail ? detail : "");
}

static void session_end(struct session *session, enum session_end end,
			const char *detail)
{
	struct session_set *set = session->set;
	struct call *call;

	if (session->fd < 0)
		return;
	session_log_end(session, end, detail);
	set->ended[end]++;
	event_free(session->event);
	session->event = NULL;
	close(session->fd);
	session->fd = -1;
	session_input_fini(session);
	session_output_fini(session);
	while ((call = TAILQ_FIRST(&session->calls)) != NULL)
		call_set_session(call, NULL);
	session_leave_client(session);
	if (session->is_ready)
		TAILQ_REMOVE(&set->ready, session, ready_link);
	if (session->is_flushing)
		TAILQ_REMOVE(&set->flush, session, flush_link);
	session->is_ready = false;
	session->is_flushing = false;
	TAILQ_REMOVE(&set->open, session, link);
	set->open_count--;
	TAILQ_INSERT_TAIL(&set->closed, session, link);
	event_active(set->turn, EV_TIMEOUT, 0);
}

void session_close(struct session *session, enum session_end end)
{
	if (session->fd >= 0 && end == SESSION_END_REPLACED)
		stats_count(session->frontend->stats, STAT_SESSIONS_REPLACED);
	session_end(session, end, NULL);
}

void session_close_failed(struct session *session, int error)
{
	if (error == ECONNRESET || error == EPIPE)
		session_end(session, SESSION_END_EOF, NULL);
	else
		session_end(session, SESSION_END_ERROR, strerror(error));
}

void session_close_malformed(struct session *session, const char *what)
{
	stats_count(session->frontend->stats, STAT_RECORDS_MALFORMED);
	session_end(session, SESSION_END_MALFORMED, what);
}

/* The first call of a client on this session: who was paused when it was accepted? */
static void session_outrun(struct session *session)
{
	struct session *other;
	struct session *next;

	for (other = TAILQ_FIRST(&session->client->sessions); other; other = next) {
		next = TAILQ_NEXT(other, client_link);
		if (other == session ||
		    !duplicate_is_outrun(other->newer_seq, session->seq))
			continue;
		if (other->paused_for != 0)
			other->is_outrun = true;
		else
			session_close(other, SESSION_END_REPLACED);
	}
}

struct client *session_client(struct session *session, const struct rpc_cred *cred)
{
	struct client *client = session->client;

	if (client && client_is(client, &session->address, cred))
		return client_ref(client);
	client = client_get(&session->frontend->clients, &session->address, cred);
	if (!client)
		return NULL;
	session_leave_client(session);
	session->client = client_ref(client);
	TAILQ_INSERT_TAIL(&client->sessions, session, client_link);
	session_outrun(session);
	return client;
}

struct session *session_find(const struct client *client, uint64_t seq)
{
	struct session *session;

	TAILQ_FOREACH(session, &client->sessions, client_link)
		if (session->seq == seq)
			return session;
	return NULL;
}

void session_pause(struct session *session, enum session_pause why)
{
	session->paused_for |= (unsigned int)why;
}

void session_unpause(struct session *session, enum session_pause why)
{
	unsigned int before = session->paused_for;

	session->paused_for &= ~(unsigned int)why;
	if (before != 0 && session->paused_for == 0)
		session_schedule_ready(session);
}

void session_on_call_gone(struct session *session)
{
	if (session->call_count < SESSION_CALLS_MAX / 2)
		session_unpause(session, SESSION_PAUSE_CALLS);
	session_check_output(session);
}

void session_schedule_ready(struct session *session)
{
	static const struct timeval now = { 0 };
	struct session_set *set = session->set;

	if (session->fd < 0 || session->is_ready)
		return;
	session->is_ready = true;
	TAILQ_INSERT_TAIL(&set->ready, session, ready_link);
	if (!evtimer_pending(set->again, NULL))
		evtimer_add(set->again, &now);
}

void session_schedule_flush(struct session *session)
{
	if (session->fd < 0 || session->is_flushing)
		return;
	session->is_flushing = true;
	TAILQ_INSERT_TAIL(&session->set->flush, session, flush_link);
	event_active(session->set->turn, EV_TIMEOUT, 0);
}
