/*
 * An upstream as a whole: which connection a call goes to, how its answer gets back,
 * what the log is told, and what the upstream's clock is thought to be.
 *
 * The hard case: answers are noted from inside libnfs and from inside submit(), but
 * done() may submit again, so it runs from an event of its own, a bounded number a
 * turn.
 *
 * Not promised: an order between calls on different connections.
 */
#include <event2/event.h>
#include <event2/util.h>
#include <stdlib.h>
#include <string.h>

#include "nfsgather/hash.h"
#include "upstream/upstream_call.h"
#include "upstream/upstream_core.h"
#include "upstream/upstream_libnfs.h"
#include "upstream/upstream_zdr.h"

const struct upstream_tuning upstream_tuning_default = {
	.connect_timeout_ms = 10 * 1000,
	.backoff_first_ms = 100,
	.backoff_max_ms = 5 * 1000,
	.memory_retry_ms = 100,
	.mount_idle_ms = 30 * 1000,
	.check_every_ms = 1000,
	.silence_us = (mono_us)15 * 1000 * 1000,
	.complain_us = (mono_us)30 * 1000 * 1000,
	.dead_us = (mono_us)120 * 1000 * 1000,
	.overdue_us = (mono_us)120 * 1000 * 1000,
	.calls_max = UPSTREAM_FLIGHTS_MAX,
	.bytes_max = (size_t)8 << 20,
	.done_per_turn = 64,
	.bad_replies_max = 3,
	.rpcbind_port = 111,
};

const char *upstream_outcome_name(enum upstream_outcome outcome)
{
	static const char *const names[] = {
#define X(name, text) [name] = (text),
		UPSTREAM_OUTCOME_TABLE(X)
#undef X
	};

	return names[outcome];
}

uint32_t upstream_next_xid(struct upstream *upstream)
{
	return upstream->next_xid++;
}

uint64_t upstream_clock_estimate_ns(const struct upstream *upstream)
{
	mono_us since;

	if (upstream->newest_ctime_ns == 0)
		return 0;
	since = clock_now(upstream->clock) - upstream->newest_ctime_at;
	return upstream->newest_ctime_ns + (uint64_t)since * 1000u;
}

/* A newer time replaces the estimate even when it lowers it: clocks drift apart. */
void upstream_clock_learn(struct upstream *upstream, uint64_t ctime_ns)
{
	if (ctime_ns <= upstream->newest_ctime_ns)
		return;
	upstream->newest_ctime_ns = ctime_ns;
	upstream->newest_ctime_at = clock_now(upstream->clock);
}

void upstream_note_up(struct upstream *upstream)
{
	mono_us now;

	if (upstream->announced == UPSTREAM_ANNOUNCED_UP)
		return;
	now = clock_now(upstream->clock);
	if (log_limit_allows(&upstream->state_limit, now)) {
		if (upstream->announced == UPSTREAM_ANNOUNCED_DOWN)
			log_info("upstream %s: up again after %.1f s", upstream->name,
				 (double)(now - upstream->down_since) / 1e6);
		else
			log_info("upstream %s: up at %s", upstream->name,
				 upstream->address);
	}
	upstream->announced = UPSTREAM_ANNOUNCED_UP;
}

void upstream_note_down(struct upstream *upstream, const char *why)
{
	unsigned int i;

	if (upstream->announced == UPSTREAM_ANNOUNCED_DOWN)
		return;
	for (i = 0; i < upstream->nfs_conn_count; i++)
		if (upstream->nfs_conn[i]->state == UPSTREAM_CONN_UP)
			return;
	upstream->announced = UPSTREAM_ANNOUNCED_DOWN;
	upstream->down_since = clock_now(upstream->clock);
	if (log_limit_allows(&upstream->state_limit, upstream->down_since))
		log_warn("upstream %s: down: %s", upstream->name, why);
}

void upstream_finish(struct upstream *upstream, struct upstream_request *request,
		     enum upstream_outcome outcome, struct buf *results)
{
	request->outcome = outcome;
	request->results = results;
	TAILQ_INSERT_TAIL(&upstream->done, request, link);
	event_active(upstream->done_event, EV_TIMEOUT, 0);
}

/* One answered call: to its submitter, unless it needs a second look. */
static void upstream_run_one(struct upstream *upstream,
			     struct upstream_request *request)
{
	if (!upstream->closing && upstream_replay_start(upstream, request))
		return;
	request->done(request);
}

static void upstream_on_done(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval next_turn = { 0, 0 };
	struct upstream *upstream = arg;
	unsigned int left = upstream->tuning.done_per_turn;
	struct upstream_request *request;

	(void)fd;
	(void)what;
	upstream->running_done = true;
	while (left-- > 0 && (request = TAILQ_FIRST(&upstream->done)) != NULL) {
		TAILQ_REMOVE(&upstream->done, request, link);
		upstream_run_one(upstream, request);
	}
	upstream->running_done = false;
	/* An event made active inside its own callback would run in this same turn. */
	if (!TAILQ_EMPTY(&upstream->done))
		event_add(upstream->done_event, &next_turn);
}

/*
 * What was answered so far goes first: it came over connections older than the one that
 * follows. What these calls submit meanwhile is answered later.
 */
void upstream_note_disconnect(struct upstream *upstream)
{
	struct upstream_request_list answered = TAILQ_HEAD_INITIALIZER(answered);
	struct upstream_request *request;

	if (upstream->on_disconnect == NULL)
		return;
	TAILQ_CONCAT(&answered, &upstream->done, link);
	upstream->running_done = true;
	while ((request = TAILQ_FIRST(&answered)) != NULL) {
		TAILQ_REMOVE(&answered, request, link);
		upstream_run_one(upstream, request);
	}
	upstream->running_done = false;
	upstream->on_disconnect(upstream->on_disconnect_arg);
}

static struct upstream_conn *upstream_route(const struct upstream *upstream,
					    const struct nfs_call *call)
{
	const struct nfs3_fh *fh = upstream_call_bulk_fh(call);

	if (call->program == PROGRAM_MOUNT)
		return upstream->mount_conn;
	if (fh == NULL || upstream->nfs_conn_count == 1)
		return upstream->nfs_conn[0];
	return upstream->nfs_conn[1 + hash_bytes(fh->data, fh->len) %
					      (upstream->nfs_conn_count - 1)];
}

void upstream_submit(struct upstream *upstream, struct upstream_request *request)
{
	struct upstream_conn *conn = upstream_route(upstream, request->call);

	request->results = NULL;
	request->sent_count = 0;
	request->xid = 0;
	request->first_sent = 0;
	request->first_sent_upstream_ns = 0;
	request->conn = conn;
	if (upstream->closing)
		upstream_finish(upstream, request, UPSTREAM_CANCELLED, NULL);
	else
		upstream_conn_submit(conn, request);
}

static uint32_t upstream_wtmax_bytes(const struct upstream *upstream)
{
	return upstream->wtmax_bytes;
}

static uint64_t upstream_maxfilesize_bytes(const struct upstream *upstream)
{
	return upstream->maxfilesize_bytes;
}

static void upstream_set_on_disconnect(struct upstream *upstream, void (*fn)(void *arg),
				       void *arg)
{
	upstream->on_disconnect = fn;
	upstream->on_disconnect_arg = arg;
}

static const char *upstream_name(const struct upstream *upstream)
{
	return upstream->name;
}

const struct upstream_ops upstream_libnfs_ops = {
	.submit = upstream_submit,
	.wtmax_bytes = upstream_wtmax_bytes,
	.maxfilesize_bytes = upstream_maxfilesize_bytes,
	.name = upstream_name,
	.set_on_disconnect = upstream_set_on_disconnect,
};

static void upstream_destroy(struct upstream *upstream)
{
	unsigned int i;

	for (i = 0; i < upstream->nfs_conn_count; i++)
		upstream_conn_free(upstream->nfs_conn[i]);
	upstream_conn_free(upstream->mount_conn);
	if (upstream->done_event != NULL)
		event_free(upstream->done_event);
	if (upstream->replay_event != NULL)
		event_free(upstream->replay_event);
	free(upstream->name);
	free(upstream->server);
	free(upstream);
}

/* False when memory is short; what was made is upstream_destroy()'s to free. */
static bool upstream_make_parts(struct upstream *upstream,
				const struct upstream_config *config)
{
	unsigned int i;

	upstream->name = strdup(config->name);
	upstream->server = strdup(config->server);
	upstream->done_event = evtimer_new(config->base, upstream_on_done, upstream);
	upstream->replay_event =
		evtimer_new(config->base, upstream_replay_on_memory, upstream);
	if (upstream->name == NULL || upstream->server == NULL ||
	    upstream->done_event == NULL || upstream->replay_event == NULL)
		return false;
	for (i = 0; i < config->connections; i++) {
		upstream->nfs_conn[i] =
			upstream_conn_new(upstream, i, PROGRAM_NFS, config->port);
		if (upstream->nfs_conn[i] == NULL)
			return false;
		upstream->nfs_conn_count++;
	}
	upstream->mount_conn =
		upstream_conn_new(upstream, i, PROGRAM_MOUNT, config->mount_port);
	return upstream->mount_conn != NULL;
}

struct upstream *upstream_libnfs_new_tuned(const struct upstream_config *config,
					   const struct upstream_tuning *tuning)
{
	struct upstream *upstream = calloc(1, sizeof(*upstream));
	unsigned int i;

	INVARIANT(config->connections >= 1 &&
		  config->connections <= UPSTREAM_CONNECTIONS_MAX);
	INVARIANT(tuning->calls_max >= 1 && tuning->calls_max <= UPSTREAM_FLIGHTS_MAX);
	if (upstream == NULL)
		return NULL;
	upstream_zdr_init();
	upstream->base = config->base;
	upstream->dns = config->dns;
	upstream->clock = config->clock;
	upstream->stats = config->stats;
	upstream->tuning = *tuning;
	/* a server must not take a call of ours for one of our last life */
	evutil_secure_rng_get_bytes(&upstream->next_xid, sizeof(upstream->next_xid));
	TAILQ_INIT(&upstream->done);
	TAILQ_INIT(&upstream->replay_waiting);
	if (!upstream_make_parts(upstream, config)) {
		upstream_destroy(upstream);
		return NULL;
	}
	for (i = 0; i < upstream->nfs_conn_count; i++)
		upstream_conn_start(upstream->nfs_conn[i]);
	return upstream;
}

struct upstream *upstream_libnfs_new(const struct upstream_config *config)
{
	return upstream_libnfs_new_tuned(config, &upstream_tuning_default);
}

void upstream_libnfs_free(struct upstream *upstream)
{
	struct upstream_request *request;
	unsigned int i;

	if (upstream == NULL)
		return;
	INVARIANT(!upstream->running_done); /* done() may not free what runs it */
	upstream->closing = true;
	for (i = 0; i < upstream->nfs_conn_count; i++)
		upstream_conn_cancel_all(upstream->nfs_conn[i]);
	upstream_conn_cancel_all(upstream->mount_conn);
	upstream_replay_give_up_waiting(upstream);
	/* done() may submit again; that comes back here, cancelled */
	while ((request = TAILQ_FIRST(&upstream->done)) != NULL) {
		TAILQ_REMOVE(&upstream->done, request, link);
		request->done(request);
	}
	upstream_destroy(upstream);
}
