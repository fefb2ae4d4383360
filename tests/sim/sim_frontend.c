/*
 * Sessions and duplicates: the rules are the daemon's own (frontend/duplicate.h,
 * frontend/reply_cache.h, frontend/client.h), what is here only carries them out.
 *
 *   receive --paused?--> unread --resume--.
 *       `-----------------------------------> reply cache --> run, follow, repeat, ignore
 *
 * The hard case is a session that was paused when its client moved on: what is unread in it is
 * thrown away and it is closed, never resumed.
 *
 * Does not simulate admission: pauses come from sim_weather.c.
 */
#include "sim/sim_frontend.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "frontend/client.h"
#include "frontend/duplicate.h"
#include "frontend/reply_cache.h"
#include "nfsgather/clock.h"
#include "sim/sim_client.h"
#include "sim/sim_oracle.h"
#include "sim/sim_proxy.h"
#include "wire/nfs_proc.h"

enum { SIM_REPLY_CACHE_BYTES = 16 * 1024 * 1024 };

struct sim_unread {
	TAILQ_ENTRY(sim_unread) link;
	struct sim_args args;
};

struct sim_session {
	TAILQ_ENTRY(sim_session) link;
	struct sim_frontend *frontend;
	struct sim_connection *connection;
	struct peer_address address;
	struct client *client; /* of its last call; or NULL */
	uint64_t seq;
	bool is_open;
	bool is_paused;
	bool is_outrun;
	uint64_t newer_seq; /* accepted from its address while it was paused */
	TAILQ_HEAD(, sim_unread) unread;
	struct sim_event resume;
};

struct sim_frontend {
	struct clock clock;
	struct sim *sim;
	struct client_table clients;
	struct reply_cache *replies;
	uint64_t last_seq;
	TAILQ_HEAD(, sim_session) sessions; /* open */
	TAILQ_HEAD(, call) calls;
};

static mono_us sim_frontend_now(const struct clock *clock)
{
	return (mono_us)container_of(clock, struct sim_frontend, clock)->sim->now_us;
}

struct sim_frontend *sim_frontend_new(struct sim *sim)
{
	struct sim_frontend *frontend = sim_alloc(sim, sizeof(*frontend));

	frontend->clock.now = sim_frontend_now;
	frontend->sim = sim;
	client_table_init(&frontend->clients);
	frontend->replies = reply_cache_new(&frontend->clock, SIM_REPLY_CACHE_BYTES);
	INVARIANT(frontend->replies != NULL);
	TAILQ_INIT(&frontend->sessions);
	TAILQ_INIT(&frontend->calls);
	return frontend;
}

/* Its calls go on without it; what is unread is thrown away. */
static void sim_session_close(struct sim_session *session)
{
	struct sim_frontend *frontend = session->frontend;
	struct call *call;

	if (!session->is_open)
		return;
	session->is_open = false;
	TAILQ_REMOVE(&frontend->sessions, session, link);
	TAILQ_FOREACH(call, &frontend->calls, link) {
		if (call->session == session)
			call->session = NULL;
	}
	sim_cancel_event(frontend->sim, &session->resume);
	client_unref(session->client);
	session->client = NULL;
	TAILQ_INIT(&session->unread);
	sim_network_reset(frontend->sim, session->connection);
}

static void sim_call_free(struct call *call)
{
	TAILQ_REMOVE(&call->frontend->calls, call, link);
	if (call->entry != NULL)
		reply_cache_forget(call->frontend->replies, call->entry);
	client_unref(call->client);
	credential_unref(call->credential);
	buf_unref(call->payload);
}

void sim_frontend_free(struct sim_frontend *frontend)
{
	while (!TAILQ_EMPTY(&frontend->sessions))
		sim_session_close(TAILQ_FIRST(&frontend->sessions));
	while (!TAILQ_EMPTY(&frontend->calls))
		sim_call_free(TAILQ_FIRST(&frontend->calls));
	reply_cache_free(frontend->replies);
	client_table_fini(&frontend->clients);
}

void sim_frontend_hang_up(struct sim_session *session)
{
	sim_session_close(session);
}

static const struct nfs_proc *sim_frontend_proc(enum nfs3_proc number)
{
	const struct nfs_proc *proc;
	uint32_t low;
	uint32_t high;

	INVARIANT(nfs_proc_find(PROGRAM_NFS, 3, number, &proc, &low, &high) ==
		  NFS_LOOKUP_OK);
	return proc;
}

/* The address and name of a client; some clients share an address. */
static void sim_frontend_identify(const struct sim_args *args, struct rpc_cred *cred)
{
	*cred = (struct rpc_cred){ .flavor = RPC_AUTH_SYS,
				   .machine_name_len = 2,
				   .machine_name = { 'c', (char)('0' + args->client) },
				   .uid = args->uid };
}

struct sim_session *sim_frontend_accept(struct sim_frontend *frontend,
					struct sim_connection *connection)
{
	struct sim_session *session = sim_alloc(frontend->sim, sizeof(*session));
	struct sim_session *other;
	struct sockaddr_in addr = { .sin_family = AF_INET };

	addr.sin_addr.s_addr =
		htonl(0x7f000001 + sim_client_number(connection->client) / 2);
	session->frontend = frontend;
	session->connection = connection;
	session->seq = ++frontend->last_seq;
	session->is_open = true;
	TAILQ_INIT(&session->unread);
	peer_address_init(&session->address, (const void *)&addr);
	TAILQ_FOREACH(other, &frontend->sessions, link) {
		if (other->is_paused &&
		    peer_address_equal(&other->address, &session->address))
			other->newer_seq = session->seq;
	}
	TAILQ_INSERT_TAIL(&frontend->sessions, session, link);
	return session;
}

static void sim_session_outrun(struct sim_session *session)
{
	struct sim_session *other;
	struct sim_session *next;

	for (other = TAILQ_FIRST(&session->frontend->sessions); other; other = next) {
		next = TAILQ_NEXT(other, link);
		if (other == session || other->client != session->client ||
		    !duplicate_is_outrun(other->newer_seq, session->seq))
			continue;
		if (other->is_paused)
			other->is_outrun = true;
		else
			sim_session_close(other);
	}
}

static struct client *sim_session_client(struct sim_session *session,
					 const struct rpc_cred *cred)
{
	if (session->client == NULL) {
		session->client = client_get(&session->frontend->clients,
					     &session->address, cred);
		INVARIANT(session->client != NULL);
		sim_session_outrun(session);
	}
	return client_ref(session->client);
}

static enum duplicate_original
sim_frontend_find(struct call *call, const struct sim_session *session,
		  const struct rpc_cred *cred, struct reply_key *key,
		  struct reply_entry **entry, struct sim_session **old)
{
	const struct rpc_header header = { .xid = call->args.xid,
					   .program = PROGRAM_NFS,
					   .version = 3,
					   .proc = call->args.proc,
					   .cred = *cred };
	struct sim_frontend *frontend = call->frontend;

	reply_cache_expire(frontend->replies);
	reply_key_init(key, call->client, &header, (const void *)&call->args,
		       sizeof(call->args));
	*entry = reply_cache_find(frontend->replies, key);
	*old = NULL;
	if (*entry == NULL)
		return DUPLICATE_UNKNOWN;
	if ((*entry)->call != NULL) {
		*old = (*entry)->call->session;
		return DUPLICATE_IN_PROGRESS;
	}
	TAILQ_FOREACH(*old, &frontend->sessions, link) {
		if ((*old)->seq == (*entry)->session_seq &&
		    (*old)->client == session->client)
			break;
	}
	return DUPLICATE_ANSWERED;
}

static void sim_frontend_repeat(struct sim_session *session, struct reply_entry *entry)
{
	struct sim_reply reply;

	memcpy(&reply, buf_start(entry->reply), sizeof(reply));
	entry->session_seq = session->seq;
	sim_network_reply(session->frontend->sim, session->connection, &reply);
}

/* The call has its client; it is run, or settled as the duplicate it is. */
static void sim_frontend_dispatch(struct call *call, const struct rpc_cred *cred)
{
	struct sim_frontend *frontend = call->frontend;
	struct sim_session *session = call->session;
	struct sim_session *old;
	struct reply_entry *entry;
	struct reply_key key;
	enum duplicate_original original =
		sim_frontend_find(call, session, cred, &key, &entry, &old);
	struct duplicate_ruling ruling =
		duplicate_rule(original, old ? old->seq : 0, session->seq);

	if (ruling.action == DUPLICATE_RUN) {
		call->entry =
			reply_cache_begin(frontend->replies, &key, call->client, call);
		INVARIANT(call->entry != NULL);
		sim_proxy_start(frontend->sim->proxy, call);
		return;
	}
	sim_trace(frontend->sim, "  xid %u on session %d is a duplicate: %d",
		  call->args.xid, (int)session->seq, (int)ruling.action);
	sim_call_free(call);
	if (ruling.loser == DUPLICATE_ORIGINAL)
		sim_session_close(old);
	else if (ruling.loser == DUPLICATE_COPY)
		sim_session_close(session);
	if (ruling.action == DUPLICATE_FOLLOW)
		entry->call->session = session;
	else if (ruling.action == DUPLICATE_REPEAT)
		sim_frontend_repeat(session, entry);
}

static void sim_session_read(struct sim_session *session, const struct sim_args *args)
{
	struct sim_frontend *frontend = session->frontend;
	struct call *call = sim_alloc(frontend->sim, sizeof(*call));
	struct rpc_cred cred;

	call->frontend = frontend;
	call->args = *args;
	call->session = session;
	TAILQ_INSERT_TAIL(&frontend->calls, call, link);
	sim_frontend_identify(args, &cred);
	call->client = sim_session_client(session, &cred);
	sim_frontend_dispatch(call, &cred);
}

void sim_frontend_receive(struct sim_session *session, const struct sim_args *args)
{
	struct sim_unread *unread;

	if (!session->is_open)
		return;
	if (!session->is_paused) {
		sim_session_read(session, args);
		return;
	}
	unread = sim_alloc(session->frontend->sim, sizeof(*unread));
	unread->args = *args;
	TAILQ_INSERT_TAIL(&session->unread, unread, link);
}

static void sim_session_on_resume(struct sim *sim, struct sim_event *event)
{
	struct sim_session *session = container_of(event, struct sim_session, resume);
	struct sim_unread *unread;

	sim_trace(sim, "session %d is read again", (int)session->seq);
	session->is_paused = false;
	if (!duplicate_may_resume(session->client != NULL, session->is_outrun,
				  session->newer_seq)) {
		sim_session_close(session);
		return;
	}
	while (session->is_open && (unread = TAILQ_FIRST(&session->unread)) != NULL) {
		TAILQ_REMOVE(&session->unread, unread, link);
		sim_session_read(session, &unread->args);
	}
}

void sim_frontend_pause(struct sim_session *session, uint64_t for_us)
{
	if (!session->is_open || session->is_paused)
		return;
	sim_trace(session->frontend->sim, "session %d is not read for %.3f s",
		  (int)session->seq, (double)for_us / SIM_S);
	session->is_paused = true;
	session->resume.run = sim_session_on_resume;
	sim_set_event(session->frontend->sim, &session->resume, for_us);
}

uint64_t sim_frontend_client_id(const struct call *call)
{
	return call->client->id;
}

void sim_frontend_answer(struct call *call, struct sim_reply *reply)
{
	struct sim_frontend *frontend = call->frontend;
	enum reply_keep keep = duplicate_keep(sim_frontend_proc(call->args.proc),
					      reply->status == NFS3_OK);
	struct buf *buf;

	if (call->args.id != 0)
		sim_oracle_send_answer(frontend->sim->oracle, call->args.id,
				       reply->status == NFS3_OK);
	if (reply->has_size)
		sim_oracle_check_shown(frontend->sim->oracle, &call->args, reply->size);
	reply->xid = call->args.xid;
	reply->proc = call->args.proc;
	if (keep != REPLY_KEEP_NOT) {
		buf = buf_new(sizeof(*reply));
		INVARIANT(buf != NULL);
		memcpy(buf_start(buf), reply, sizeof(*reply));
		buf->len_bytes = sizeof(*reply);
		reply_cache_answer(frontend->replies, call->entry, buf, keep,
				   call->session ? call->session->seq : 0);
		call->entry = NULL;
		buf_unref(buf);
	}
	if (call->session != NULL)
		sim_network_reply(frontend->sim, call->session->connection, reply);
	sim_call_free(call);
}
