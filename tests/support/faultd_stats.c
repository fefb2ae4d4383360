/*
 * What the fault server saw: counters and a ring of the last calls, as JSON.
 *
 * The hard case is a call that is answered after the ring has gone round: its status is
 * not written down any more. Does not promise that the ring holds more than its size.
 */
#include "faultd.h"

#include <event2/buffer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MACHINE_MAX = 255, NOT_ANSWERED = -1 };

/* One call as it came; arrival 0 means empty. */
struct ring_call {
	uint64_t arrival, conn, node_id, offset;
	uint32_t xid, version, flavor, uid, gid, n_gids, count, stable;
	uint32_t gids[16];
	int64_t status;
	uint16_t port;
	uint8_t proc, machine_len;
	char machine[MACHINE_MAX];
};

static struct ring_call *ring_at(struct faultd *f, uint64_t arrival)
{
	return &f->ring[arrival % f->options.ring_size];
}

bool stats_init(struct faultd *f)
{
	f->ring = calloc(f->options.ring_size, sizeof(*f->ring));
	return f->ring != NULL;
}

void stats_arrive(struct faultd *f, struct call *call)
{
	struct ring_call *r;

	f->stats.calls[call->proc]++;
	call->arrival = ++f->arrivals;
	r = ring_at(f, call->arrival);
	r->arrival = call->arrival;
	r->conn = call->conn->number;
	r->port = call->conn->port;
	r->node_id = call->node_id;
	r->offset = call->offset;
	r->count = call->count;
	r->stable = call->stable;
	r->xid = call->xid;
	r->version = call->version;
	r->proc = (uint8_t)call->proc;
	r->flavor = call->cred.flavor;
	r->uid = call->cred.uid;
	r->gid = call->cred.gid;
	r->n_gids = call->cred.n_gids;
	memcpy(r->gids, call->cred.gids, sizeof(r->gids));
	r->status = NOT_ANSWERED;
	r->machine_len = (uint8_t)call->cred.machine_len;
	if (r->machine_len)
		memcpy(r->machine, call->cred.machine, r->machine_len);
}

void stats_answer(struct faultd *f, const struct call *call)
{
	struct ring_call *r = ring_at(f, call->arrival);

	if (r->arrival == call->arrival)
		r->status = call->status;
}

void stats_clear_calls(struct faultd *f)
{
	for (uint32_t i = 0; i < f->options.ring_size; i++)
		f->ring[i].arrival = 0;
}

static void print_string(struct evbuffer *to, const char *s, size_t len)
{
	evbuffer_add(to, "\"", 1);
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c < 32 || c > 126 || c == '"' || c == '\\')
			evbuffer_add_printf(to, "\\u%04x", c);
		else
			evbuffer_add(to, s + i, 1);
	}
	evbuffer_add(to, "\"", 1);
}

static void print_number(struct evbuffer *to, const char *name, uint64_t v)
{
	evbuffer_add_printf(to, "\"%s\": %llu, ", name, (unsigned long long)v);
}

void stats_print(struct faultd *f, struct evbuffer *to)
{
	const struct stats *s = &f->stats;
	const char *comma = "";

	evbuffer_add_printf(to, "{");
	print_number(to, "connections", f->n_conns);
	print_number(to, "accepted", s->accepted);
	print_number(to, "reboots", s->reboots);
	print_number(to, "held", f->held.n);
	print_number(to, "delayed", f->delayed.n + f->lane.n + f->lane_now.n);
	print_number(to, "forced", s->forced);
	print_number(to, "empty_commits", s->empty_commits);
	print_number(to, "write_unstable", s->writes[UNSTABLE]);
	print_number(to, "write_data_sync", s->writes[DATA_SYNC]);
	print_number(to, "write_file_sync", s->writes[FILE_SYNC]);
	print_number(to, "bytes_written", s->bytes_written);
	print_number(to, "bytes_read", s->bytes_read);
	print_number(to, "rpc_errors", s->rpc_errors);
	print_number(to, "violations", s->violations);
	evbuffer_add_printf(to, "\"last_violation\": ");
	print_string(to, s->last_violation, strlen(s->last_violation));
	evbuffer_add_printf(to, ", \"verifier\": \"%016llx\", \"calls\": {",
			    (unsigned long long)f->verifier);
	for (uint32_t i = 0; i < PROC_COUNT; i++) {
		evbuffer_add_printf(to, "%s\"%s\": %llu", i ? ", " : "",
				    proc_name((enum proc)i),
				    (unsigned long long)s->calls[i]);
	}
	evbuffer_add_printf(to, "}, \"write_sizes\": {");
	for (uint32_t i = 0; i < 33; i++) {
		if (!s->write_sizes[i])
			continue;
		evbuffer_add_printf(to, "%s\"%llu\": %llu", comma, 1ull << i,
				    (unsigned long long)s->write_sizes[i]);
		comma = ", ";
	}
	evbuffer_add_printf(to, "}}");
}

static void print_call(struct evbuffer *to, const struct ring_call *r)
{
	evbuffer_add_printf(to, "{");
	print_number(to, "n", r->arrival);
	print_number(to, "conn", r->conn);
	print_number(to, "port", r->port);
	print_number(to, "xid", r->xid);
	print_number(to, "version", r->version);
	print_number(to, "flavor", r->flavor);
	print_number(to, "uid", r->uid);
	print_number(to, "gid", r->gid);
	print_number(to, "fileid", r->node_id);
	print_number(to, "offset", r->offset);
	print_number(to, "count", r->count);
	print_number(to, "stable", r->stable);
	evbuffer_add_printf(
		to, "\"proc\": \"%s\", \"status\": ", proc_name((enum proc)r->proc));
	if (r->status == NOT_ANSWERED)
		evbuffer_add_printf(to, "null");
	else
		evbuffer_add_printf(to, "%lld", (long long)r->status);
	evbuffer_add_printf(to, ", \"gids\": [");
	for (uint32_t i = 0; i < r->n_gids; i++)
		evbuffer_add_printf(to, "%s%u", i ? ", " : "", r->gids[i]);
	evbuffer_add_printf(to, "], \"machine\": ");
	print_string(to, r->machine, r->machine_len);
	evbuffer_add_printf(to, "}");
}

void stats_print_calls(struct faultd *f, struct evbuffer *to, const struct rule *which,
		       uint64_t last)
{
	uint64_t size = f->options.ring_size;
	uint64_t from = f->arrivals < size ? 1 : f->arrivals - size + 1;
	const char *comma = "";

	if (last && f->arrivals >= last && f->arrivals - last + 1 > from)
		from = f->arrivals - last + 1;
	evbuffer_add_printf(to, "[");
	for (uint64_t i = from; i <= f->arrivals; i++) {
		const struct ring_call *r = ring_at(f, i);

		if (r->arrival != i || !(which->mask & 1u << r->proc))
			continue;
		evbuffer_add_printf(to, "%s", comma);
		print_call(to, r);
		comma = ", ";
	}
	evbuffer_add_printf(to, "]");
}

void stats_print_conns(struct faultd *f, struct evbuffer *to)
{
	evbuffer_add_printf(to, "[");
	for (struct conn *c = f->conns; c; c = c->next) {
		evbuffer_add_printf(to, "%s{", c == f->conns ? "" : ", ");
		print_number(to, "conn", c->number);
		print_number(to, "port", c->port);
		print_number(to, "calls", c->calls);
		print_number(to, "waiting", c->waiting.n);
		print_number(to, "unsent", c->out_len - c->out_at);
		evbuffer_add_printf(to, "\"host\": \"%s\"}", c->host);
	}
	evbuffer_add_printf(to, "]");
}
