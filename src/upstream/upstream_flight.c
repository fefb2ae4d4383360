/*
 * The calls of one connection: queued, sent, sent again, answered.
 *
 * The hard case: a call whose reply did not come may have run. It goes out again with
 * its xid, in its old place, before anything newer; sent_count tells that it did. An
 * undecodable reply is not an answer: the connection is broken and the call sent again,
 * until it has brought bad_replies_max of them and fails. Where libnfs does not tell
 * which call it was, calls then go out one at a time, which shows it.
 *
 * Not promised: that a call ran only once.
 */
#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <string.h>

#include "upstream/upstream_call.h"
#include "upstream/upstream_conn.h"
#include "upstream/upstream_core.h"
#include "upstream/upstream_learn.h"
#include "upstream/upstream_overdue.h"
#include "upstream/upstream_socket.h"

/* The texts by which libnfs tells what the server answered at the RPC level. */
static const struct {
	const char *text;
	enum upstream_outcome outcome;
} rpc_answers[] = {
	{ "Server responded: Program not available", UPSTREAM_PROG_UNAVAIL },
	{ "Server responded: Program version mismatch", UPSTREAM_PROG_MISMATCH },
	{ "Server responded: Procedure not available", UPSTREAM_PROC_UNAVAIL },
	{ "Server responded: Garbage arguments", UPSTREAM_GARBAGE_ARGS },
	{ "Server responded: System Error", UPSTREAM_SYSTEM_ERR },
	{ "RPC Packet not accepted by the server", UPSTREAM_DENIED },
};

/* ... and those of a reply that it could not decode. */
static const char *const bad_reply_texts[] = {
	"Message rejected by server",
	"Unknown rpc response from server",
};

/* ... and, as errors of the context, of a record of no call or too long a one. */
static const char *const bad_record_texts[] = {
	"garbage pdu",
	"Incoming PDU exceeds limit",
};

void upstream_flights_init(struct upstream_conn *conn)
{
	unsigned int i;

	TAILQ_INIT(&conn->queued);
	TAILQ_INIT(&conn->sent);
	TAILQ_INIT(&conn->unused);
	for (i = 0; i < conn->upstream->tuning.calls_max; i++) {
		conn->flight[i].conn = conn;
		TAILQ_INSERT_TAIL(&conn->unused, &conn->flight[i], link);
	}
}

bool upstream_conn_is_quiet(const struct upstream_conn *conn)
{
	return TAILQ_EMPTY(&conn->sent) && TAILQ_EMPTY(&conn->queued);
}

static void flight_off_wire(struct upstream_flight *flight)
{
	struct upstream_conn *conn = flight->conn;

	if (!flight->on_wire)
		return;
	flight->on_wire = false;
	conn->on_wire_count--;
	conn->on_wire_bytes -= flight->payload_bytes;
}

/* Takes the call out of the sent list; it is the caller's. */
static struct upstream_request *flight_end(struct upstream_flight *flight)
{
	struct upstream_conn *conn = flight->conn;
	struct upstream_request *request = flight->request;

	flight_off_wire(flight);
	TAILQ_REMOVE(&conn->sent, flight, link);
	flight->request = NULL;
	flight->bad_replies = 0;
	flight->overdue_count = 0;
	TAILQ_INSERT_HEAD(&conn->unused, flight, link);
	if (TAILQ_EMPTY(&conn->sent))
		conn->careful = false;
	return request;
}

static void flight_finish(struct upstream_flight *flight, enum upstream_outcome outcome,
			  struct buf *results)
{
	struct upstream *upstream = flight->conn->upstream;

	upstream_finish(upstream, flight_end(flight), outcome, results);
}

/* A reply that is none. The call stays, to be sent again, unless it had enough. */
static void flight_bad_reply(struct upstream_flight *flight, const char *why)
{
	struct upstream_conn *conn = flight->conn;
	struct upstream *upstream = conn->upstream;
	const struct nfs_call *call = flight->request->call;
	bool gives_up = ++flight->bad_replies >= upstream->tuning.bad_replies_max;

	if (log_limit_allows(&upstream->bad_reply_limit, clock_now(upstream->clock)))
		log_warn("upstream %s: unusable reply to program %" PRIu32
			 " procedure %" PRIu32 " (%s), %s",
			 upstream->name, call->program, call->proc, why,
			 gives_up ? "the call fails" : "sending the call again");
	conn->broken = "unusable reply";
	if (gives_up)
		flight_finish(flight, UPSTREAM_SYSTEM_ERR, NULL);
}

static void flight_on_results(struct upstream_flight *flight, void *data)
{
	struct upstream_conn *conn = flight->conn;
	struct upstream *upstream = conn->upstream;
	struct upstream_lesson lesson = { 0 };
	struct buf *results;
	int err = upstream_call_results(flight->request->call, data, &results);

	if (err == -ENOMEM) {
		/* the reply is lost; its call goes out again on the next connection */
		conn->broken = "out of memory for a reply";
		return;
	}
	if (err != 0) {
		flight_bad_reply(flight, "cannot be encoded");
		return;
	}
	upstream_learn(&lesson, flight->request->call, data);
	upstream_clock_learn(upstream, lesson.newest_ctime_ns);
	if (lesson.wtmax_bytes != 0)
		upstream->wtmax_bytes = lesson.wtmax_bytes;
	if (lesson.maxfilesize_bytes != 0 &&
	    (upstream->maxfilesize_bytes == 0 ||
	     lesson.maxfilesize_bytes < upstream->maxfilesize_bytes))
		upstream->maxfilesize_bytes = lesson.maxfilesize_bytes;
	stats_add(upstream->stats, STAT_UPSTREAM_READ_BYTES, lesson.read_bytes);
	upstream_conn_heard(conn);
	flight_finish(flight, UPSTREAM_ANSWERED, results);
}

static bool rpc_answer_find(const char *text, enum upstream_outcome *outcome)
{
	size_t i;

	for (i = 0; i < sizeof(rpc_answers) / sizeof(rpc_answers[0]); i++) {
		if (strcmp(text, rpc_answers[i].text) == 0) {
			*outcome = rpc_answers[i].outcome;
			return true;
		}
	}
	return false;
}

static void flight_on_error(struct upstream_flight *flight, const char *text)
{
	enum upstream_outcome outcome;
	size_t i;

	if (rpc_answer_find(text, &outcome)) {
		upstream_conn_heard(flight->conn);
		flight_finish(flight, outcome, NULL);
		return;
	}
	for (i = 0; i < sizeof(bad_reply_texts) / sizeof(bad_reply_texts[0]); i++) {
		if (strcmp(text, bad_reply_texts[i]) == 0) {
			flight_bad_reply(flight, text);
			return;
		}
	}
	/* the connection failed under the call; rpc_service() says how */
	if (flight->conn->broken == NULL)
		flight->conn->broken = "connection failed";
}

/* From inside libnfs: takes notes, makes no call. */
static void flight_on_reply(struct rpc_context *rpc, int status, void *data, void *arg)
{
	struct upstream_flight *flight = arg;

	(void)rpc;
	if (flight->conn->link.closing || !flight->on_wire)
		return;
	if (status == RPC_STATUS_SUCCESS)
		flight_on_results(flight, data);
	else if (status == RPC_STATUS_ERROR && data != NULL)
		flight_on_error(flight, data);
	else if (flight->conn->broken == NULL)
		flight->conn->broken = "call given up by the library";
}

void upstream_flights_blame(struct upstream_conn *conn, const char *why)
{
	size_t i;

	for (i = 0; i < sizeof(bad_record_texts) / sizeof(bad_record_texts[0]); i++) {
		if (strstr(why, bad_record_texts[i]) == NULL)
			continue;
		/* with one call out it is that call's; else find out, one at a time */
		if (conn->on_wire_count == 1) {
			struct upstream_flight *flight = TAILQ_FIRST(&conn->sent);

			while (!flight->on_wire)
				flight = TAILQ_NEXT(flight, link);
			flight_bad_reply(flight, why);
		} else if (log_limit_allows(&conn->upstream->bad_reply_limit,
					    clock_now(conn->upstream->clock))) {
			log_warn("upstream %s: %s", conn->upstream->name, why);
		}
		conn->careful = !TAILQ_EMPTY(&conn->sent);
		return;
	}
}

void upstream_flights_lost(struct upstream_conn *conn)
{
	struct upstream_flight *flight;

	TAILQ_FOREACH(flight, &conn->sent, link)
		flight_off_wire(flight);
	INVARIANT(conn->on_wire_count == 0 && conn->on_wire_bytes == 0);
	conn->cred.known = false;
	conn->ping_out = false;
}

static void count_sent(struct upstream *upstream,
		       const struct upstream_request *request)
{
	const struct nfs_call *call = request->call;
	struct stats *stats = upstream->stats;

	stats_count(stats, STAT_UPSTREAM_CALLS);
	if (request->sent_count > 1)
		stats_count(stats, STAT_UPSTREAM_RESENDS);
	if (call->program != PROGRAM_NFS)
		return;
	if (call->proc == NFS3_PROC_WRITE) {
		stats_count(stats, STAT_UPSTREAM_WRITES);
		stats_add(stats, STAT_UPSTREAM_WRITE_BYTES,
			  call->args.write.payload.len);
		if (call->args.write.stable != NFS3_UNSTABLE) {
			stats_count(stats, STAT_UPSTREAM_WRITES_STABLE);
			stats_count(stats, STAT_UPSTREAM_FORCED_WRITES);
		}
	} else if (call->proc == NFS3_PROC_COMMIT) {
		stats_count(stats, STAT_UPSTREAM_COMMITS);
		stats_count(stats, STAT_UPSTREAM_FORCED_WRITES);
	}
}

static bool window_has_room(const struct upstream_conn *conn, size_t payload_bytes)
{
	const struct upstream_tuning *tuning = &conn->upstream->tuning;

	if (conn->on_wire_count == 0)
		return true;
	return !conn->careful && conn->on_wire_count < tuning->calls_max &&
	       conn->on_wire_bytes + payload_bytes <= tuning->bytes_max;
}

/* Hands one call to libnfs: 0, or -ENOMEM; a call that cannot be sent is finished. */
static int flight_send(struct upstream_flight *flight)
{
	struct upstream_conn *conn = flight->conn;
	struct upstream *upstream = conn->upstream;
	struct upstream_request *request = flight->request;
	struct buf *results;
	int err = upstream_cred_apply(&conn->cred, conn->link.rpc, request->cred);

	if (err != 0)
		return err;
	if (request->sent_count == 0) {
		request->xid = upstream_next_xid(upstream);
		request->first_sent = clock_now(upstream->clock);
		request->first_sent_upstream_ns = upstream_clock_estimate_ns(upstream);
	}
	rpc_set_next_xid(conn->link.rpc, request->xid);
	err = upstream_call_send(conn->link.rpc, request->call, flight_on_reply,
				 flight);
	if (err == -E2BIG) {
		err = upstream_call_refuse_size(request->call, &results);
		if (err == 0)
			flight_finish(flight, UPSTREAM_ANSWERED, results);
		return err;
	}
	if (err == -ENOMEM)
		return err;
	if (err != 0) {
		flight_finish(flight,
			      err == -EBADMSG ? UPSTREAM_GARBAGE_ARGS
					      : UPSTREAM_PROC_UNAVAIL,
			      NULL);
		return 0;
	}
	flight->on_wire = true;
	flight->sent_at = clock_now(upstream->clock);
	conn->on_wire_count++;
	conn->on_wire_bytes += flight->payload_bytes;
	request->sent_count++;
	count_sent(upstream, request);
	return 0;
}

/* The next call to hand over, moved to the sent list; NULL: none, or no room. */
static struct upstream_flight *flight_next(struct upstream_conn *conn)
{
	struct upstream_flight *flight;
	struct upstream_request *request;
	size_t payload_bytes;

	TAILQ_FOREACH(flight, &conn->sent, link)
		if (!flight->on_wire)
			return window_has_room(conn, flight->payload_bytes) ? flight
									    : NULL;
	request = TAILQ_FIRST(&conn->queued);
	flight = TAILQ_FIRST(&conn->unused);
	if (request == NULL || flight == NULL)
		return NULL;
	payload_bytes = upstream_call_payload_bytes(request->call);
	if (!window_has_room(conn, payload_bytes))
		return NULL;
	TAILQ_REMOVE(&conn->queued, request, link);
	TAILQ_REMOVE(&conn->unused, flight, link);
	flight->request = request;
	flight->payload_bytes = payload_bytes;
	TAILQ_INSERT_TAIL(&conn->sent, flight, link);
	return flight;
}

/* libnfs sends record by record; several small ones should be one segment all the same. */
static void flights_flush(struct upstream_conn *conn, bool several)
{
	if (several)
		upstream_socket_gather(conn->link.fd, true);
	if (upstream_link_flush(&conn->link) != 0)
		conn->broken = conn->link.error;
	else if (several)
		upstream_socket_gather(conn->link.fd, false);
}

void upstream_flights_pump(struct upstream_conn *conn)
{
	unsigned int before = conn->on_wire_count;
	struct upstream_flight *flight;

	while (conn->broken == NULL && (flight = flight_next(conn)) != NULL) {
		if (flight_send(flight) != 0) {
			upstream_conn_retry_later(
				conn, conn->upstream->tuning.memory_retry_ms);
			break;
		}
	}
	if (before == 0 && conn->on_wire_count > 0) {
		const struct timeval every =
			upstream_timeval(conn->upstream->tuning.check_every_ms);

		conn->heard_at = clock_now(conn->upstream->clock);
		conn->received_bytes = upstream_socket_received_bytes(conn->link.fd);
		event_add(conn->check_event, &every);
	}
	if (conn->broken == NULL)
		flights_flush(conn, conn->on_wire_count > before + 1);
}

static void ping_on_reply(struct rpc_context *rpc, int status, void *data, void *arg)
{
	struct upstream_conn *conn = arg;
	enum upstream_outcome refusal;

	(void)rpc;
	if (conn->link.closing)
		return;
	conn->ping_out = false;
	/* a refusal of NULL is a sign of life, too */
	if (status == RPC_STATUS_SUCCESS ||
	    (status == RPC_STATUS_ERROR && data != NULL &&
	     rpc_answer_find(data, &refusal)))
		upstream_conn_heard(conn);
}

static void ping_send(struct upstream_conn *conn, mono_us now)
{
	struct rpc_context *rpc = conn->link.rpc;
	int err;

	rpc_set_next_xid(rpc, upstream_next_xid(conn->upstream));
	err = conn->program == PROGRAM_NFS
		      ? rpc_nfs3_null_async(rpc, ping_on_reply, conn)
		      : rpc_mount3_null_async(rpc, ping_on_reply, conn);
	if (err != 0)
		return; /* out of memory: at the next look */
	conn->ping_out = true;
	conn->ping_sent_at = now;
	if (upstream_link_flush(&conn->link) != 0)
		conn->broken = conn->link.error;
}

void upstream_flights_check(struct upstream_conn *conn)
{
	struct upstream *upstream = conn->upstream;
	const struct upstream_tuning *tuning = &upstream->tuning;
	mono_us now = clock_now(upstream->clock);
	uint64_t received_bytes = upstream_socket_received_bytes(conn->link.fd);

	upstream_overdue_check(conn, now);
	if (conn->broken != NULL)
		return;
	if (received_bytes != conn->received_bytes) {
		/* a large reply may take its time: bytes are a sign of life */
		conn->received_bytes = received_bytes;
		conn->heard_at = now;
		if (conn->ping_out)
			conn->ping_sent_at = now;
		return;
	}
	if (!conn->ping_out) {
		if (now - conn->heard_at >= tuning->silence_us)
			ping_send(conn, now);
		return;
	}
	if (now - conn->ping_sent_at >= tuning->dead_us) {
		conn->broken = "no answer";
	} else if (now - conn->ping_sent_at >= tuning->complain_us &&
		   !conn->complained) {
		conn->complained = true;
		if (upstream->silent_conns++ == 0)
			log_warn("upstream %s: does not answer", upstream->name);
	}
}
