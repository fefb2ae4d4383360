/*
 * Puts the client side of one upstream together, and what all of it shares.
 *
 * The hard case is taking it apart: calls whose upstream is gone are still inside the
 * engine, so the engine is freed first (it forgets them), then the calls, then what they
 * point to.
 *
 * Does not bind sockets and does not run the loop.
 */
#include "frontend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine_clock.h"
#include "engine_glue.h"
#include "frontend_private.h"
#include "listener.h"
#include "reply.h"
#include "session.h"

const char *frontend_name(const struct frontend *frontend)
{
	return frontend->name;
}

static void frontend_on_buf_freed(void *share, size_t charge_bytes)
{
	admission_release(share, charge_bytes);
}

void frontend_attach_charge(struct frontend *frontend, struct buf *buf,
			    size_t charge_bytes)
{
	buf_set_on_free(buf, frontend_on_buf_freed, frontend->share, charge_bytes);
}

uint32_t frontend_record_max_bytes(const struct frontend *frontend)
{
	size_t room = admission_max_charge_bytes(frontend->share) / 2;
	uint32_t wtmax = frontend->upstream_ops->wtmax_bytes(frontend->upstream);
	uint32_t bytes;

	if (frontend->wtmax_seen_bytes > wtmax)
		wtmax = frontend->wtmax_seen_bytes;
	if (wtmax == 0)
		wtmax = FRONTEND_WTMAX_UNKNOWN_BYTES;
	else if (wtmax < FRONTEND_WTMAX_FLOOR_BYTES)
		wtmax = FRONTEND_WTMAX_FLOOR_BYTES;
	/* Far below 2^31, the most a fragment header can say. */
	bytes = wtmax < (1U << 30) ? wtmax + FRONTEND_RECORD_EXTRA_BYTES : 1U << 30;
	return bytes < room ? bytes : (uint32_t)room;
}

bool frontend_peer_may_log(struct frontend *frontend, const struct sockaddr *addr)
{
	struct peer_address address;

	peer_address_init(&address, addr);
	return log_limit_allows(
		&frontend->peer_limits[hash_bytes(&address, sizeof(address)) %
				       FRONTEND_PEER_LIMITS],
		clock_now(frontend->clock));
}

void frontend_tick(struct frontend *frontend)
{
	reply_cache_expire(frontend->replies);
	upstream_io_retry(frontend);
	engine_glue_retry(frontend);
}

bool frontend_is_busy(const struct frontend *frontend)
{
	return frontend->calls.live_count > 0 || upstream_io_is_starved(frontend) ||
	       reply_cache_count(frontend->replies) > 0;
}

/* The upstream may have restarted. */
static void frontend_on_disconnect(void *arg)
{
	struct frontend *frontend = arg;

	engine_on_disconnect(engine_clock_enter(frontend));
	engine_clock_leave(frontend);
}

static int frontend_copy_rules(struct frontend *frontend,
			       const struct access_rules *rules)
{
	frontend->rules.rule =
		calloc(rules->count ? rules->count : 1, sizeof(*rules->rule));
	if (!frontend->rules.rule)
		return -ENOMEM;
	frontend->rules.count = rules->count;
	if (rules->count > 0)
		memcpy(frontend->rules.rule, rules->rule,
		       rules->count * sizeof(*rules->rule));
	return 0;
}

static int frontend_copy_exports(struct frontend *frontend, const char *const *exports,
				 size_t count)
{
	frontend->exports = calloc(count ? count : 1, sizeof(*frontend->exports));
	if (!frontend->exports)
		return -ENOMEM;
	for (; frontend->export_count < count; frontend->export_count++) {
		char *copy = strdup(exports[frontend->export_count]);

		if (!copy)
			return -ENOMEM;
		frontend->exports[frontend->export_count] = copy;
	}
	return 0;
}

static int frontend_make_parts(struct frontend *frontend,
			       const struct frontend_config *config)
{
	frontend->name = strdup(config->upstream_ops->name(config->upstream));
	if (!frontend->name || frontend_copy_rules(frontend, config->clients) < 0 ||
	    frontend_copy_exports(frontend, config->exports, config->export_count) < 0)
		return -ENOMEM;
	frontend->share = admission_share_new(config->admission);
	frontend->engine = engine_new(&engine_glue_ops, frontend, &config->engine,
				      config->first_verifier, config->stats);
	if (!frontend->share || !frontend->engine || engine_clock_init(frontend) < 0)
		return -ENOMEM;
	frontend->replies = reply_cache_new(
		config->clock, admission_max_charge_bytes(frontend->share) /
				       FRONTEND_REPLY_CACHE_PART);
	if (!frontend->replies)
		return -ENOMEM;
	frontend->sessions = session_set_new(frontend);
	frontend->listeners = listener_set_new(frontend);
	return frontend->sessions && frontend->listeners ? 0 : -ENOMEM;
}

struct frontend *frontend_new(const struct frontend_config *config)
{
	struct frontend *frontend = calloc(1, sizeof(*frontend));

	if (!frontend)
		return NULL;
	frontend->base = config->base;
	frontend->clock = config->clock;
	frontend->upstream_ops = config->upstream_ops;
	frontend->upstream = config->upstream;
	frontend->stats = config->stats;
	client_table_init(&frontend->clients);
	call_pool_init(&frontend->calls);
	upstream_io_pool_init(&frontend->ios);
	credential_table_init(&frontend->credentials);
	TAILQ_INIT(&frontend->starved);
	if (frontend_make_parts(frontend, config) < 0) {
		frontend_free(frontend);
		return NULL;
	}
	frontend->upstream_ops->set_on_disconnect(frontend->upstream,
						  frontend_on_disconnect, frontend);
	return frontend;
}

int frontend_listen(struct frontend *frontend, int fd)
{
	return listener_add(frontend->listeners, fd);
}

void frontend_stop_listening(struct frontend *frontend)
{
	listener_stop_all(frontend->listeners);
}

void frontend_drain(struct frontend *frontend)
{
	if (frontend->is_draining)
		return;
	frontend->is_draining = true;
	frontend_stop_listening(frontend);
	session_set_pause(frontend->sessions);
	engine_drain(engine_clock_enter(frontend));
	engine_clock_leave(frontend);
}

bool frontend_is_drained(const struct frontend *frontend)
{
	return engine_is_clean(frontend->engine) &&
	       session_set_is_answered(frontend->sessions, frontend->calls.live_count);
}

void frontend_free(struct frontend *frontend)
{
	struct call *call;
	size_t i;

	if (!frontend)
		return;
	listener_set_free(frontend->listeners);
	session_set_free(frontend->sessions);
	engine_clock_fini(frontend);
	engine_free(frontend->engine);
	frontend->engine = NULL;
	upstream_io_pool_fini(&frontend->ios);
	while ((call = TAILQ_FIRST(&frontend->calls.live)) != NULL)
		reply_drop(call);
	call_pool_fini(&frontend->calls);
	credential_table_fini(&frontend->credentials);
	reply_cache_free(frontend->replies);
	client_table_fini(&frontend->clients);
	admission_share_free(frontend->share);
	for (i = 0; i < frontend->export_count; i++)
		free(frontend->exports[i]);
	free(frontend->exports);
	free(frontend->name);
	access_rules_fini(&frontend->rules);
	free(frontend);
}
