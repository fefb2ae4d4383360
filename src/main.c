/*
 * nfsgatherd: wires configuration, sockets, upstreams and frontends together and runs
 * the event loop.
 *
 * The hard case: the order. Sockets come first, so that a wrong address costs nobody
 * anything; the service manager hears READY when clients can connect. At the end what was
 * acked is made stable while upstreams still answer; then the upstream goes before
 * its frontend, so that no call is out when the frontend is freed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/config_value.h"
#include "daemon/counters.h"
#include "daemon/listen_socket.h"
#include "daemon/loop.h"
#include "daemon/process.h"
#include "daemon/service_manager.h"
#include "daemon/signals.h"
#include "daemon/startup.h"
#include "frontend/admission.h"
#include "frontend/frontend.h"
#include "nfsgather/buf.h"
#include "nfsgather/log.h"
#include "upstream/upstream_libnfs.h"
#include "wire/rpcbind.h"

enum {
	COUNTERS_TIMEOUT_RUNNING_MS = 100,
	COUNTERS_TIMEOUT_EXIT_MS = 1000,
	DRAIN_LOOK_MS = 10,
};
#define DRAIN_MAX_US ((mono_us)10 * 1000 * 1000)

/* One [upstream NAME] at work. */
struct service {
	const struct config_upstream *config;
	struct stats stats;
	struct upstream *upstream;
	struct frontend *frontend;
	const struct config_listen *registered[CONFIG_LISTENERS_MAX];
	size_t registered_count;
};

struct daemon {
	struct options options;
	struct config config;
	struct event_base *base;
	struct evdns_base *dns; /* NULL while all servers are numeric addresses */
	struct signals *signals;
	struct loop_timer *drain_timer; /* stopping, since a signal asked for it */
	mono_us drain_end;
	struct admission_pool *admission;
	struct service *service; /* as many as the config has upstreams, in its order */
	size_t service_count;
};

static void daemon_on_drain(void *owner)
{
	const struct daemon *daemon = owner;
	bool drained = true;

	for (size_t i = 0; i < daemon->service_count; i++)
		drained = drained && frontend_is_drained(daemon->service[i].frontend);
	if (drained || clock_now(clock_system()) >= daemon->drain_end)
		loop_stop(daemon->base);
}

/* The first time in good order, the second time at once. */
static void daemon_on_stop(void *owner, const char *signal_name)
{
	struct daemon *daemon = owner;

	if (daemon->drain_timer != NULL) {
		log_info("stopping at once: %s", signal_name);
		loop_stop(daemon->base);
		return;
	}
	log_info("stopping: %s", signal_name);
	service_manager_notify_stopping();
	for (size_t i = 0; i < daemon->service_count; i++)
		frontend_drain(daemon->service[i].frontend);
	daemon->drain_end = clock_now(clock_system()) + DRAIN_MAX_US;
	daemon->drain_timer =
		loop_timer_new(daemon->base, DRAIN_LOOK_MS, daemon_on_drain, daemon);
	if (daemon->drain_timer == NULL)
		loop_stop(daemon->base);
	else
		daemon_on_drain(daemon);
}

static void daemon_print_counters(const struct daemon *daemon, int timeout_ms)
{
	struct counters_upstream *upstream =
		calloc(daemon->service_count + 1, sizeof(*upstream));
	const struct counters counters = {
		.upstream = upstream,
		.upstream_count = upstream == NULL ? 0 : daemon->service_count,
		.memory_limit_bytes = daemon->config.memory_bytes,
		.memory_buffers_bytes = buf_total_bytes(),
	};

	for (size_t i = 0; i < counters.upstream_count; i++) {
		upstream[i].name = daemon->service[i].config->name;
		upstream[i].stats = &daemon->service[i].stats;
	}
	counters_print(&counters, STDOUT_FILENO, timeout_ms);
	free(upstream);
}

static void daemon_on_print_counters(void *owner)
{
	daemon_print_counters(owner, COUNTERS_TIMEOUT_RUNNING_MS);
}

static void daemon_on_check_config(void *owner)
{
	const struct daemon *daemon = owner;

	startup_check_again(&daemon->options);
}

static const struct signals_ops daemon_signals_ops = {
	.stop = daemon_on_stop,
	.print_counters = daemon_on_print_counters,
	.check_config = daemon_on_check_config,
};

static struct engine_config service_engine_config(const struct config_upstream *config)
{
	struct engine_config engine = engine_config_default;

	engine.dirty_background_bytes = config->dirty_background_bytes;
	engine.dirty_bytes = config->dirty_bytes;
	engine.retained_bytes = config->retained_bytes;
	engine.plug_max_us = config->plug_max_us;
	engine.dirty_expire_us = config->dirty_expire_us;
	engine.retained_expire_us = config->retained_expire_us;
	return engine;
}

static int service_start(struct service *service, struct daemon *daemon)
{
	const struct config_upstream *config = service->config;
	const struct upstream_config upstream_config = {
		.base = daemon->base,
		.dns = daemon->dns,
		.clock = clock_system(),
		.name = config->name,
		.server = config->server,
		.port = config->port,
		.mount_port = config->mount_port,
		.connections = config->connections,
		.stats = &service->stats,
	};
	struct frontend_config frontend_config = {
		.base = daemon->base,
		.clock = clock_system(),
		.upstream_ops = &upstream_libnfs_ops,
		.stats = &service->stats,
		.admission = daemon->admission,
		.clients = &config->clients,
		.exports = (const char *const *)config->exports,
		.export_count = config->export_count,
		.engine = service_engine_config(config),
	};
	int error = process_random(&frontend_config.first_verifier,
				   sizeof(frontend_config.first_verifier));

	if (error != 0)
		return error;
	service->upstream = upstream_libnfs_new(&upstream_config);
	if (service->upstream == NULL)
		return -ENOMEM;
	frontend_config.upstream = service->upstream;
	service->frontend = frontend_new(&frontend_config);
	return service->frontend == NULL ? -ENOMEM : 0;
}

/* Hands the service the sockets that are its own. */
static int service_listen(struct service *service, struct listen_socket_list *sockets)
{
	for (size_t i = 0; i < sockets->count; i++) {
		struct listen_socket *socket = &sockets->socket[i];
		int error;

		if (socket->upstream != service->config)
			continue;
		error = frontend_listen(service->frontend, socket->fd);
		if (error != 0)
			return error;
		socket->fd = -1;
	}
	return 0;
}

/* rpcbind keeps one address per address family, so the first of each is registered. */
static void service_register(struct service *service)
{
	const struct config_upstream *config = service->config;

	for (size_t i = 0; config->register_rpcbind && i < config->listen_count; i++) {
		const struct config_listen *listen = &config->listen[i];
		bool first = true;
		int error;

		for (size_t j = 0; j < i; j++)
			first = first && config->listen[j].addr.ss_family !=
						 listen->addr.ss_family;
		if (!first)
			continue;
		error = rpcbind_register((const struct sockaddr *)&listen->addr);
		if (error == 0)
			service->registered[service->registered_count++] = listen;
		else
			log_error(
				"upstream %s: %s is not registered with rpcbind (%s); "
				"clients must give port= and mountport=",
				config->name, listen->text, strerror(-error));
	}
}

/* Clients will send these bytes again: the next start has another verifier. */
static void service_log_undrained(const struct service *service)
{
	const uint64_t *gauge = service->stats.gauge;

	if (gauge[GAUGE_DIRTY_BYTES] + gauge[GAUGE_RETAINED_BYTES] > 0)
		log_warn("upstream %s: stopped with %" PRIu64 " bytes not written and "
			 "%" PRIu64 " bytes not committed",
			 service->config->name, gauge[GAUGE_DIRTY_BYTES],
			 gauge[GAUGE_RETAINED_BYTES]);
}

static void service_stop(struct service *service)
{
	service_log_undrained(service);
	if (service->frontend != NULL)
		frontend_stop_listening(service->frontend);
	if (service->upstream != NULL)
		upstream_libnfs_free(service->upstream);
	if (service->frontend != NULL)
		frontend_free(service->frontend);
	for (size_t i = 0; i < service->registered_count; i++)
		rpcbind_unregister(
			(const struct sockaddr *)&service->registered[i]->addr);
}

/* Everything that has no effect outside of this process. */
static int daemon_init(struct daemon *daemon)
{
	const struct config_upstream *config;
	bool named = false;

	process_tune();
	daemon->base = loop_new();
	if (daemon->base == NULL)
		return -ENOMEM;
	daemon->signals = signals_new(daemon->base, &daemon_signals_ops, daemon);
	daemon->admission =
		admission_pool_new(daemon->config.memory_bytes,
				   (unsigned int)daemon->config.upstream_count);
	daemon->service =
		calloc(daemon->config.upstream_count, sizeof(*daemon->service));
	if (daemon->signals == NULL || daemon->admission == NULL ||
	    daemon->service == NULL)
		return -ENOMEM;
	TAILQ_FOREACH(config, &daemon->config.upstreams, link) {
		struct sockaddr_storage addr;

		daemon->service[daemon->service_count++].config = config;
		named = named ||
			!config_value_is_numeric_address(config->server, &addr);
	}
	if (named)
		daemon->dns = loop_dns_new(daemon->base);
	return named && daemon->dns == NULL ? -ENOMEM : 0;
}

static int daemon_start(struct daemon *daemon, struct listen_socket_list *sockets)
{
	char *description = startup_describe(&daemon->config, sockets);
	int error = description == NULL ? -ENOMEM : 0;

	if (error == 0)
		log_info("nfsgatherd %s: %s", PACKAGE_VERSION, description);
	startup_warn_insecure(&daemon->config);
	for (size_t i = 0; i < daemon->service_count && error == 0; i++)
		error = service_start(&daemon->service[i], daemon);
	for (size_t i = 0; i < daemon->service_count && error == 0; i++)
		error = service_listen(&daemon->service[i], sockets);
	for (size_t i = 0; i < daemon->service_count && error == 0; i++)
		service_register(&daemon->service[i]);
	if (error == 0)
		service_manager_notify_ready(description);
	free(description);
	return error;
}

static int daemon_run(struct daemon *daemon)
{
	struct service_manager_sockets given = { 0 };
	struct listen_socket_list sockets = { 0 };
	int error = service_manager_take_sockets(&given);

	if (error == 0)
		error = daemon_init(daemon);
	if (error == 0)
		error = listen_socket_open_all(&daemon->config, &given, &sockets);
	if (error == 0)
		error = daemon_start(daemon, &sockets);
	service_manager_sockets_fini(&given);
	listen_socket_list_fini(&sockets);
	if (error != 0)
		log_error("not started: %s", strerror(-error));
	else if ((error = loop_run(daemon->base)) != 0)
		log_error("the event loop failed: %s", strerror(-error));

	for (size_t i = 0; i < daemon->service_count; i++)
		service_stop(&daemon->service[i]);
	if (error == 0)
		daemon_print_counters(daemon, COUNTERS_TIMEOUT_EXIT_MS);
	free(daemon->service);
	if (daemon->admission != NULL)
		admission_pool_free(daemon->admission);
	loop_timer_free(daemon->drain_timer);
	loop_dns_free(daemon->dns);
	signals_free(daemon->signals);
	loop_free(daemon->base);
	return error;
}

int main(int argc, char **argv)
{
	struct daemon daemon = { 0 };
	int exit_code = startup_configure(argc, argv, &daemon.options, &daemon.config);

	if (exit_code >= 0)
		return exit_code;
	log_set_level(daemon.config.log_level);
	exit_code = daemon_run(&daemon) == 0 ? EXIT_CODE_OK : EXIT_CODE_RUNTIME;
	config_free(&daemon.config);
	return exit_code;
}
