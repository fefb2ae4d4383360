/*
 * Runs the operations of a phase: keeps `depth` of each client under way until all are done.
 *
 * The hard case: the library calls back in the middle of its own reading. Callbacks only note
 * that a reply is there; the next call is sent after rpc_service() has returned, and is
 * written at once, so that no round through poll() is measured as latency.
 *
 * Does not reconnect: a lost connection fails the run.
 */
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "bench/nfsload.h"

enum { SILENCE_MAX_MS = 30 * 1000 };

void load_fail(struct load *load, const char *format, ...)
{
	va_list args;

	if (load->failure[0] != '\0')
		return;
	va_start(args, format);
	vsnprintf(load->failure, sizeof(load->failure), format, args);
	va_end(args);
}

uint64_t load_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void client_serve(struct load_client *client, int revents)
{
	if (rpc_service(client->rpc, revents) < 0)
		load_fail(client->load, "client %u: %s", client->index,
			  rpc_get_error(client->rpc));
}

static void client_start_ops(struct load_client *client)
{
	struct load *load = client->load;

	while (client->under_way < load->depth && client->next_op < load->ops &&
	       load->failure[0] == '\0') {
		unsigned int left = load->depth - client->under_way;
		struct load_op *op = client->idle[left - 1];

		client->under_way++;
		*op = (struct load_op){ .client = client,
					.number = client->next_op++,
					.started_ns = load_now_ns() };
		load_call_send(op);
	}
}

static void op_end(struct load_op *op)
{
	struct load_client *client = op->client;
	struct load *load = client->load;

	if (load->latency_ns != NULL)
		load->latency_ns[load->latency_count++] =
			load_now_ns() - op->started_ns;
	op->is_replied = false;
	client->under_way--;
	client->idle[load->depth - client->under_way - 1] = op;
}

static void client_act(struct load_client *client)
{
	struct load *load = client->load;
	unsigned int i;

	for (i = 0; i < load->depth && load->failure[0] == '\0'; i++) {
		struct load_op *op = &client->op[i];

		if (!op->is_replied)
			continue;
		if (load->calls[++op->at] == LOAD_END)
			op_end(op);
		else
			load_call_send(op);
	}
	client_start_ops(client);
	if (rpc_which_events(client->rpc) & POLLOUT)
		client_serve(client, POLLOUT);
}

static bool load_poll(struct load *load)
{
	struct pollfd poll_fd[LOAD_CLIENTS_MAX];
	unsigned int i;
	int ready;

	for (i = 0; i < load->client_count; i++) {
		struct rpc_context *rpc = load->client[i].rpc;

		poll_fd[i] = (struct pollfd){ .fd = rpc_get_fd(rpc),
					      .events = (short)rpc_which_events(rpc) };
	}
	ready = poll(poll_fd, load->client_count, SILENCE_MAX_MS);
	if (ready <= 0) {
		load_fail(load, "nothing happened for %d s", SILENCE_MAX_MS / 1000);
		return false;
	}
	for (i = 0; i < load->client_count && load->failure[0] == '\0'; i++) {
		if (poll_fd[i].revents == 0)
			continue;
		client_serve(&load->client[i], poll_fd[i].revents);
		if (load->calls != NULL)
			client_act(&load->client[i]);
	}
	return load->failure[0] == '\0';
}

static bool load_is_done(const struct load *load)
{
	unsigned int i;

	for (i = 0; i < load->client_count; i++)
		if (load->client[i].under_way > 0 ||
		    load->client[i].next_op < load->ops)
			return false;
	return true;
}

bool load_run_phase(struct load *load, const enum load_kind *calls, uint64_t ops)
{
	unsigned int i;

	load->calls = calls;
	load->ops = ops;
	for (i = 0; i < load->client_count; i++) {
		struct load_client *client = &load->client[i];
		unsigned int slot;

		client->next_op = 0;
		client->under_way = 0;
		for (slot = 0; slot < load->depth; slot++) {
			client->op[slot].is_replied = false;
			client->idle[slot] = &client->op[slot];
		}
	}
	for (i = 0; i < load->client_count; i++)
		client_act(&load->client[i]);
	while (load->failure[0] == '\0' && !load_is_done(load))
		load_poll(load);
	load->calls = NULL;
	return load->failure[0] == '\0';
}

static void on_connected(struct rpc_context *rpc, int status, void *data, void *arg)
{
	struct load_client *client = arg;

	(void)rpc;
	(void)data;
	if (status == RPC_STATUS_SUCCESS)
		client->is_connected = true;
	else
		load_fail(client->load, "client %u: not connected", client->index);
}

static bool client_connect(struct load_client *client)
{
	struct load *load = client->load;
	int one = 1;

	client->rpc = rpc_init_context();
	if (client->rpc == NULL ||
	    rpc_connect_async(client->rpc, load->address, load->port, on_connected,
			      client) != 0) {
		load_fail(load, "%s port %d: cannot connect", load->address,
			  load->port);
		return false;
	}
	setsockopt(rpc_get_fd(client->rpc), IPPROTO_TCP, TCP_NODELAY, &one,
		   sizeof(one));
	return true;
}

bool load_connect(struct load *load)
{
	unsigned int i;

	for (i = 0; i < load->client_count; i++) {
		load->client[i].load = load;
		load->client[i].index = i;
		if (!client_connect(&load->client[i]))
			return false;
	}
	for (i = 0; i < load->client_count; i++)
		while (!load->client[i].is_connected)
			if (!load_poll(load))
				return false;
	return true;
}

void load_disconnect(struct load *load)
{
	unsigned int i;

	/* its callbacks tell of calls that are lost, which is no failure any more */
	for (i = 0; i < load->client_count; i++)
		if (load->client[i].rpc != NULL)
			rpc_destroy_context(load->client[i].rpc);
}
