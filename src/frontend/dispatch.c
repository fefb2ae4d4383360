/*
 * Decides what becomes of a record: RPC errors as RFC 5531 s9 has them, our access rules,
 * duplicates, and for all else the class of call it belongs to.
 *
 * The hard case is a retransmission that comes on another connection while the first copy
 * is in progress, queued or already answered: duplicate.c has the rules.
 *
 * Does not touch results.
 */
#include "dispatch.h"

#include "call_class.h"
#include "duplicate.h"
#include "engine_clock.h"
#include "frontend_private.h"
#include "reply.h"
#include "session.h"
#include "wire/nfs3_result.h"

/* RPC, NFS and XDR overhead of the largest replies, on top of what was asked for. */
enum { DISPATCH_REPLY_EXTRA_BYTES = 512 };

static const struct sockaddr *dispatch_addr(const struct call *call)
{
	return (const void *)&call->session->addr;
}

static void dispatch_count(const struct call *call)
{
	struct stats *stats = call->frontend->stats;

	if (call->proc->class == NFS_CLASS_COMMIT) {
		stats_count(stats, STAT_CLIENT_COMMITS);
		stats_count(stats, STAT_CLIENT_FORCED_WRITES);
	} else if (call->proc->class == NFS_CLASS_WRITE) {
		stats_count(stats, STAT_CLIENT_WRITES);
		stats_add(stats, STAT_CLIENT_WRITE_BYTES, call->nfs.args.write.count);
		if (call->nfs.args.write.stable != NFS3_UNSTABLE) {
			stats_count(stats, STAT_CLIENT_WRITES_STABLE);
			stats_count(stats, STAT_CLIENT_FORCED_WRITES);
		}
	}
}

/* Data the reply may carry, which admission must know of before it is fetched. */
static size_t dispatch_reply_bytes(const struct call *call)
{
	size_t max_bytes = admission_max_charge_bytes(call->frontend->share);
	uint32_t count = 0;
	size_t bytes;

	if (call->nfs.program != PROGRAM_NFS)
		return 0;
	if (call->nfs.proc == NFS3_PROC_READ)
		count = call->nfs.args.read.count;
	else if (call->nfs.proc == NFS3_PROC_READDIR)
		count = call->nfs.args.readdir.dircount;
	else if (call->nfs.proc == NFS3_PROC_READDIRPLUS)
		count = call->nfs.args.readdir.maxcount;
	else
		return 0;
	if (count > FRONTEND_READ_MAX_BYTES)
		count = FRONTEND_READ_MAX_BYTES;
	bytes = (size_t)count + DISPATCH_REPLY_EXTRA_BYTES;
	return bytes < max_bytes ? bytes : max_bytes;
}

void dispatch_resume(struct call *call)
{
	switch (call->proc->class) {
	case NFS_CLASS_WRITE:
		call_write_start(call);
		return;
	case NFS_CLASS_COMMIT:
		call_commit_start(call);
		return;
	case NFS_CLASS_BARRIER:
		call_barrier_start(call);
		return;
	case NFS_CLASS_NAME:
		call_name_start(call);
		return;
	case NFS_CLASS_MOUNT:
		call_mount_start(call);
		return;
	case NFS_CLASS_RELAY:
		call_relay_start(call);
		return;
	case NFS_CLASS_LOCAL:
		break;
	}
	UNREACHABLE();
}

static void dispatch_start(struct call *call)
{
	size_t reply_bytes = dispatch_reply_bytes(call);

	if (reply_bytes > 0) {
		if (!admission_reserve(call->frontend->share, reply_bytes,
				       &call->session->waiter)) {
			engine_clock_want_relief(call->frontend);
			session_park(call->session, call);
			return;
		}
		call_set_reply_charge(call, reply_bytes);
	}
	dispatch_resume(call);
}

static enum duplicate_original dispatch_original(const struct reply_entry *entry)
{
	const struct call *original;

	if (!entry)
		return DUPLICATE_UNKNOWN;
	original = entry->call;
	if (!original)
		return DUPLICATE_ANSWERED;
	return original->session && original->session->parked == original
		       ? DUPLICATE_PARKED
		       : DUPLICATE_IN_PROGRESS;
}

/* The session the original answers to, or was answered on; NULL when it is gone. */
static struct session *dispatch_original_session(const struct call *copy,
						 const struct reply_entry *entry)
{
	if (!entry)
		return NULL;
	return entry->call ? entry->call->session
			   : session_find(copy->client, entry->session_seq);
}

/* The copy is done with; what it asks for comes from the original. */
static void dispatch_duplicate(struct call *copy, struct reply_entry *entry,
			       enum duplicate_action action)
{
	struct frontend *frontend = copy->frontend;
	struct session *session = copy->session;

	log_debug("upstream %s: client %s xid 0x%08x %s: asked again, %s",
		  frontend_name(frontend), copy->client->text, copy->header.xid,
		  copy->proc->name,
		  action == DUPLICATE_REPEAT ? "reply repeated" : "in progress");
	if (entry->call)
		stats_count(frontend->stats, STAT_CALLS_ATTACHED);
	reply_drop(copy);
	if (action == DUPLICATE_FOLLOW)
		call_set_session(entry->call, session);
	if (action != DUPLICATE_REPEAT)
		return;
	stats_count(frontend->stats, STAT_REPLIES_REPEATED);
	entry->session_seq = session->seq;
	session_send(session, buf_ref(entry->reply), 0);
}

/* False: it was a duplicate (or memory was short) and is settled. */
static bool dispatch_is_new(struct call *call)
{
	struct frontend *frontend = call->frontend;
	struct session *session = call->session;
	struct duplicate_ruling ruling;
	struct reply_entry *entry;
	struct session *old;
	struct reply_key key;

	reply_key_init(&key, call->client, &call->header,
		       buf_start(call->record) + call->args_off,
		       call->record->len_bytes - call->args_off);
	entry = reply_cache_find(frontend->replies, &key);
	old = dispatch_original_session(call, entry);
	ruling = duplicate_rule(dispatch_original(entry), old ? old->seq : 0,
				session->seq);
	/* An original that was not started goes down with its session. */
	if (ruling.loser == DUPLICATE_ORIGINAL)
		session_close(old, SESSION_END_REPLACED);
	if (ruling.action != DUPLICATE_RUN) {
		dispatch_duplicate(call, entry, ruling.action);
		if (ruling.loser == DUPLICATE_COPY)
			session_close(session, SESSION_END_REPLACED);
		return false;
	}
	call->entry = reply_cache_begin(frontend->replies, &key, call->client, call);
	if (call->entry)
		return true;
	reply_drop(call);
	session_close(session, SESSION_END_MEMORY);
	return false;
}

/* NFS and NFSACL; MOUNT has rules of its own (call_mount.c). */
static bool dispatch_port_ok(const struct call *call)
{
	struct frontend *frontend = call->frontend;

	if (call->header.program == PROGRAM_MOUNT ||
	    access_rule_port_ok(call->rule, dispatch_addr(call)))
		return true;
	stats_count(frontend->stats, STAT_CALLS_DENIED);
	if (frontend_peer_may_log(frontend, dispatch_addr(call)))
		log_warn(
			"upstream %s: session %s denied: its port is not below 1024, and "
			"rule %zu of `clients` asks for that; \"insecure\" in the rule "
			"would allow it",
			frontend_name(frontend), call->session->peer,
			(size_t)(call->rule - frontend->rules.rule) + 1);
	return false;
}

static void dispatch_checked(struct call *call)
{
	struct session *session = call->session;

	dispatch_count(call);
	call->client = session_client(session, &call->header.cred);
	if (!call->client) {
		reply_drop(call);
		session_close(session, SESSION_END_MEMORY);
		return;
	}
	if (!dispatch_is_new(call))
		return;
	if (call->proc->modifies && !call->rule->read_write) {
		stats_count(call->frontend->stats, STAT_CALLS_DENIED);
		reply_failure(call, NFS3ERR_ROFS);
		return;
	}
	access_rule_squash(call->rule, &call->header.cred);
	dispatch_start(call);
}

static void dispatch_call(struct call *call)
{
	const struct rpc_header *header = &call->header;
	uint32_t low;
	uint32_t high;

	stats_count(call->frontend->stats, STAT_CLIENT_CALLS);
	switch (nfs_proc_find(header->program, header->version, header->proc,
			      &call->proc, &low, &high)) {
	case NFS_LOOKUP_PROG_UNAVAIL:
		reply_accept_error(call, RPC_ACCEPT_PROG_UNAVAIL);
		return;
	case NFS_LOOKUP_PROG_MISMATCH:
		reply_prog_mismatch(call, low, high);
		return;
	case NFS_LOOKUP_PROC_UNAVAIL:
		reply_accept_error(call, RPC_ACCEPT_PROC_UNAVAIL);
		return;
	case NFS_LOOKUP_OK:
		break;
	}
	if (call->proc->class != NFS_CLASS_LOCAL && !dispatch_port_ok(call)) {
		reply_auth_error(call, RPC_AUTH_TOOWEAK);
		return;
	}
	if (nfs_call_decode(&call->nfs, header->program, header->version, header->proc,
			    buf_start(call->record) + call->args_off,
			    call->record->len_bytes - call->args_off) < 0) {
		reply_accept_error(call, RPC_ACCEPT_GARBAGE_ARGS);
		return;
	}
	if (call->proc->class == NFS_CLASS_LOCAL)
		reply_results(call, nfs3_void_encode());
	else
		dispatch_checked(call);
}

/*
 * What was reserved for the record goes with its bytes, wherever they go; what was for the
 * library's copy, with the call. (WRITEs of acked bytes are bounded by the upstream's window.)
 */
static void dispatch_attach_charge(struct call *call, size_t charge_bytes)
{
	struct buf *record = call->record;
	size_t record_bytes = charge_bytes < record->capacity_bytes
				      ? charge_bytes
				      : record->capacity_bytes;

	frontend_attach_charge(call->frontend, record, record_bytes);
	call->copy_charge_bytes = charge_bytes - record_bytes;
}

void dispatch_record(struct session *session, struct buf *record, size_t charge_bytes)
{
	struct frontend *frontend = session->frontend;
	struct call *call = call_new(frontend, session);

	if (!call) {
		buf_unref(record);
		admission_release(frontend->share, charge_bytes);
		session_close(session, SESSION_END_MEMORY);
		return;
	}
	call->record = record;
	dispatch_attach_charge(call, charge_bytes);
	switch (rpc_header_decode(&call->header, buf_start(record), record->len_bytes,
				  &call->args_off)) {
	case RPC_DECODE_OK:
		dispatch_call(call);
		return;
	case RPC_DECODE_RPC_MISMATCH:
		reply_rpc_mismatch(call);
		return;
	case RPC_DECODE_BAD_AUTH:
		reply_auth_error(call, call->header.auth_error);
		return;
	case RPC_DECODE_NOT_A_CALL:
		break;
	}
	reply_drop(call);
	session_close_malformed(session, "not an RPC call");
}
