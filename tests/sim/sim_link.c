/*
 * Connections that carry calls to the upstream and break.
 *
 *   QUEUED -> TRAVELLING -> AT_UPSTREAM -> RETURNING -> done
 *      ^__________|______________|____________/            break: sent again, in order
 *
 * The hard case is the time between a break and the moment it is noticed: replies that were
 * on their way may still come in, and the other connections work. The engine is told at
 * the moment of noticing, and again when the connection is up again, before anything that
 * it brings: the upstream may have restarted in between, with the break of the other
 * connections not noticed yet.
 *
 * Does not lose single calls or replies: TCP does not either.
 */
#include "sim/sim_link.h"

#include <string.h>

#include "sim/sim_oracle.h"
#include "sim/sim_proxy.h"

TAILQ_HEAD(sim_link_list, sim_link_call);

struct sim_link_connection {
	struct sim_link *owner;
	struct sim_link_list calls; /* not answered, in order of sending */
	bool is_up;
	uint64_t last_there_us; /* arrival of what was sent last, so that order is kept */
	uint64_t last_back_us;
	struct sim_event notice; /* of a break */
	struct sim_event reconnect;
};

/* For rule (h): is there anything for a COMMIT of this file to do? */
struct sim_link_file {
	bool has_unstable;
	bool is_proven;
};

struct sim_link {
	struct sim *sim;
	size_t count;
	uint64_t sent;
	struct sim_link_connection connection[SIM_LINK_CONNECTIONS];
	struct sim_link_file file[SIM_FILES_MAX];
};

static struct sim_link_connection *
sim_link_connection_of(struct sim_link *link, const struct sim_link_call *call)
{
	const struct sim_args *args = &call->up.args;

	if (args->proc == NFS3_PROC_GETATTR || args->proc == NFS3_PROC_SETATTR)
		return &link->connection[SIM_LINK_BULK];
	return &link->connection[args->file % SIM_LINK_BULK];
}

static void sim_link_on_back(struct sim *sim, struct sim_event *event);

/* When something that leaves now gets there: not before what left earlier. */
static uint64_t sim_link_delay(struct sim *sim, uint64_t *last_us)
{
	uint64_t at = sim->now_us +
		      sim_random_below(&sim->network_random, sim->plan.network_us);

	if (at < *last_us)
		at = *last_us;
	*last_us = at;
	return at - sim->now_us;
}

static void sim_link_on_replied(struct sim *sim, struct sim_up_call *up)
{
	struct sim_link_call *call = container_of(up, struct sim_link_call, up);
	struct sim_link_connection *connection =
		sim_link_connection_of(sim->link, call);

	call->state = SIM_LINK_RETURNING;
	call->event.run = sim_link_on_back;
	sim_set_event(sim, &call->event,
		      sim_link_delay(sim, &connection->last_back_us));
}

static void sim_link_on_there(struct sim *sim, struct sim_event *event)
{
	struct sim_link_call *call = container_of(event, struct sim_link_call, event);

	call->state = SIM_LINK_AT_UPSTREAM;
	call->up.replied = sim_link_on_replied;
	sim_upstream_arrive(sim->upstream, &call->up);
}

static void sim_link_note_result(struct sim_link *link,
				 const struct sim_link_call *call)
{
	const struct sim_up_call *up = &call->up;
	struct sim_link_file *file = &link->file[up->args.file];
	bool is_ok = up->refusal == 0 && up->reply.status == NFS3_OK;

	if (!is_ok)
		return;
	if (up->args.proc == NFS3_PROC_COMMIT ||
	    (up->args.proc == NFS3_PROC_WRITE && up->reply.committed == NFS3_FILE_SYNC))
		file->is_proven = true;
	else if (up->args.proc == NFS3_PROC_WRITE)
		file->has_unstable = true;
}

static void sim_link_on_back(struct sim *sim, struct sim_event *event)
{
	struct sim_link_call *call = container_of(event, struct sim_link_call, event);
	struct sim_link *link = sim->link;

	TAILQ_REMOVE(&sim_link_connection_of(link, call)->calls, call, link);
	link->count--;
	sim_link_note_result(link, call);
	call->done(sim, call);
}

static void sim_link_transmit(struct sim_link *link, struct sim_link_call *call)
{
	struct sim *sim = link->sim;
	struct sim_link_connection *connection = sim_link_connection_of(link, call);

	call->sent_count++;
	link->sent++;
	call->state = SIM_LINK_TRAVELLING;
	call->event.run = sim_link_on_there;
	sim_set_event(sim, &call->event,
		      sim_link_delay(sim, &connection->last_there_us));
}

static bool sim_link_overlaps(const struct sim_args *a, const struct sim_args *b)
{
	uint32_t a_end = a->proc == NFS3_PROC_WRITE ? a->first + a->count : UINT32_MAX;
	uint32_t b_end = b->proc == NFS3_PROC_WRITE ? b->first + b->count : UINT32_MAX;

	return a->first < b_end && b->first < a_end;
}

static bool sim_link_changes(const struct sim_args *args)
{
	return args->proc == NFS3_PROC_WRITE ||
	       (args->proc == NFS3_PROC_SETATTR && args->sets_size);
}

/* P4: what overlaps is never out together. And one COMMIT of a file at a time. */
static void sim_link_check_pair(struct sim_link *link, const struct sim_args *older,
				const struct sim_args *newer)
{
	if (older->file != newer->file)
		return;
	if (sim_link_changes(older) && sim_link_changes(newer) &&
	    sim_link_overlaps(older, newer))
		sim_fail(
			link->sim, "P4",
			"two calls that overlap are out together: file %u blocks %u+%u "
			"and %u+%u",
			older->file, older->first, older->count, newer->first,
			newer->count);
	if (older->proc == NFS3_PROC_COMMIT && newer->proc == NFS3_PROC_COMMIT)
		sim_fail(link->sim, "storm", "two COMMITs of file %u are out",
			 older->file);
}

static void sim_link_check_company(struct sim_link *link,
				   const struct sim_link_call *call)
{
	const struct sim_link_call *other;
	unsigned int i;

	for (i = 0; i < SIM_LINK_CONNECTIONS; i++)
		TAILQ_FOREACH(other, &link->connection[i].calls, link)
			sim_link_check_pair(link, &other->up.args, &call->up.args);
}

/* In a calm run each byte goes upstream once, and no COMMIT goes for nothing. */
static void sim_link_check_need(struct sim_link *link, const struct sim_link_call *call)
{
	struct sim *sim = link->sim;
	const struct sim_args *args = &call->up.args;
	struct sim_link_file *file = &link->file[args->file];
	uint32_t i;

	if (args->proc == NFS3_PROC_COMMIT) {
		if (sim->plan.is_calm && !file->has_unstable && file->is_proven)
			sim_fail(sim, "need", "a COMMIT of file %u carries nothing new",
				 args->file);
		file->has_unstable = false;
	}
	if (args->proc != NFS3_PROC_WRITE)
		return;
	for (i = 0; i < args->count; i++) {
		uint64_t word;
		uint32_t id;

		memcpy(&word, call->up.data + (size_t)i * SIM_BLOCK_BYTES,
		       sizeof(word));
		id = sim_block_id(word);
		if (sim_oracle_covers(sim->oracle, id, args->file, args->first + i) &&
		    sim_oracle_count_write(sim->oracle, id, args->first + i) > 1 &&
		    sim->plan.is_calm)
			sim_fail(sim, "need",
				 "change %u is written twice to file %u block %u", id,
				 args->file, args->first + i);
	}
}

void sim_link_send(struct sim_link *link, struct sim_link_call *call)
{
	struct sim_link_connection *connection = sim_link_connection_of(link, call);

	call->sent_count = 0;
	sim_link_check_company(link, call);
	sim_link_check_need(link, call);
	TAILQ_INSERT_TAIL(&connection->calls, call, link);
	link->count++;
	if (connection->is_up)
		sim_link_transmit(link, call);
	else
		call->state = SIM_LINK_QUEUED;
}

static void sim_link_abandon(struct sim *sim, struct sim_link_call *call)
{
	sim_cancel_event(sim, &call->event);
	if (call->state == SIM_LINK_TRAVELLING &&
	    sim_random_chance(&sim->network_random, 500)) {
		call->up.state = SIM_UP_ARRIVED;
		call->up.reply = (struct sim_reply){ .proc = call->up.args.proc };
	}
	sim_upstream_abandon(sim->upstream, &call->up);
}

void sim_link_cut(struct sim_link *link)
{
	unsigned int i;

	for (i = 0; i < SIM_LINK_CONNECTIONS; i++) {
		struct sim_link_connection *connection = &link->connection[i];
		struct sim_link_call *call;

		while ((call = TAILQ_FIRST(&connection->calls)) != NULL) {
			TAILQ_REMOVE(&connection->calls, call, link);
			sim_link_abandon(link->sim, call);
		}
		sim_cancel_event(link->sim, &connection->notice);
		sim_cancel_event(link->sim, &connection->reconnect);
		connection->is_up = sim_upstream_is_up(link->sim->upstream);
		if (!connection->is_up)
			sim_set_event(link->sim, &connection->reconnect, SIM_MS);
	}
	link->count = 0;
	for (i = 0; i < SIM_FILES_MAX; i++)
		link->file[i] = (struct sim_link_file){ 0 };
}

size_t sim_link_count(const struct sim_link *link)
{
	return link->count;
}

bool sim_link_is_proven(const struct sim_link *link, uint32_t file)
{
	return link->file[file].is_proven;
}

uint64_t sim_link_sent(const struct sim_link *link)
{
	return link->sent;
}

/* Replies on the way come in up to the first that does not; returns when the last does. */
static uint64_t sim_link_lose_replies(struct sim_link *link,
				      struct sim_link_connection *connection)
{
	struct sim *sim = link->sim;
	uint64_t cut_us = sim->now_us +
			  sim_random_below(&sim->network_random, sim->plan.network_us);
	uint64_t last_us = sim->now_us;
	struct sim_link_call *call;

	TAILQ_FOREACH(call, &connection->calls, link) {
		if (call->state == SIM_LINK_RETURNING && call->event.at_us <= cut_us) {
			if (call->event.at_us > last_us)
				last_us = call->event.at_us;
			continue;
		}
		sim_link_abandon(sim, call);
		call->state = SIM_LINK_QUEUED;
	}
	return last_us;
}

/* A connection that nobody sends on may look well for long. */
static uint64_t sim_link_notice_us(struct sim *sim)
{
	struct sim_random *random = &sim->network_random;

	return sim_random_between(
		random, 1, sim_random_chance(random, 200) ? 3 * SIM_S : 20 * SIM_MS);
}

void sim_link_break(struct sim_link *link, unsigned int number)
{
	struct sim *sim = link->sim;
	struct sim_link_connection *connection = &link->connection[number];
	uint64_t last_us;

	if (!connection->is_up)
		return;
	sim_trace(sim, "connection %u to the upstream breaks", number);
	connection->is_up = false;
	last_us = sim_link_lose_replies(link, connection);
	sim_set_event(sim, &connection->notice,
		      last_us - sim->now_us + sim_link_notice_us(sim));
}

void sim_link_break_all(struct sim_link *link)
{
	unsigned int i;

	for (i = 0; i < SIM_LINK_CONNECTIONS; i++)
		sim_link_break(link, i);
}

static void sim_link_on_notice(struct sim *sim, struct sim_event *event)
{
	struct sim_link_connection *connection =
		container_of(event, struct sim_link_connection, notice);

	sim_trace(sim, "the proxy notices that connection %d broke",
		  (int)(connection - connection->owner->connection));
	sim_proxy_on_disconnect(sim->proxy);
	sim_set_event(sim, &connection->reconnect,
		      sim_random_between(&sim->network_random, 1, 100 * SIM_MS));
}

static void sim_link_on_reconnect(struct sim *sim, struct sim_event *event)
{
	struct sim_link_connection *connection =
		container_of(event, struct sim_link_connection, reconnect);
	struct sim_link_call *call;

	if (!sim_upstream_is_up(sim->upstream)) {
		sim_set_event(sim, &connection->reconnect, 20 * SIM_MS);
		return;
	}
	sim_trace(sim, "connection %d to the upstream is up again",
		  (int)(connection - connection->owner->connection));
	sim_proxy_on_disconnect(sim->proxy);
	connection->is_up = true;
	TAILQ_FOREACH(call, &connection->calls, link)
		sim_link_transmit(connection->owner, call);
}

struct sim_link *sim_link_new(struct sim *sim)
{
	struct sim_link *link = sim_alloc(sim, sizeof(*link));
	unsigned int i;

	link->sim = sim;
	for (i = 0; i < SIM_LINK_CONNECTIONS; i++) {
		link->connection[i] = (struct sim_link_connection){
			.owner = link,
			.is_up = true,
			.notice.run = sim_link_on_notice,
			.reconnect.run = sim_link_on_reconnect,
		};
		TAILQ_INIT(&link->connection[i].calls);
	}
	return link;
}
