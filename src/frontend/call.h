/*
 * One call from the moment its record is complete until it is answered or dropped. It
 * outlives its session: what is in progress goes on when the client is gone (P7).
 *
 *   session_input.c -> dispatch.c -> call_<class>.c -> ... -> reply.c, which frees it
 */
#ifndef FRONTEND_CALL_H
#define FRONTEND_CALL_H

#include <stddef.h>
#include <sys/queue.h>

#include "nfsgather/access.h"
#include "nfsgather/buf.h"
#include "nfsgather/call.h"
#include "nfsgather/credential.h"
#include "nfsgather/engine.h"
#include "nfsgather/upstream.h"

#include "wire/nfs_proc.h"
#include "wire/rpc_msg.h"

struct client;
struct frontend;
struct reply_entry;
struct session;

struct call {
	struct frontend *frontend;
	TAILQ_ENTRY(call) link;		/* frontend->calls.live */
	TAILQ_ENTRY(call) session_link; /* session->calls while `session` is set */
	TAILQ_ENTRY(call) starved_link; /* frontend->starved */
	/* Who gets the reply: the session that asked last; NULL once that one is gone. */
	struct session *session;
	const struct access_rule *rule; /* of the session it came on; the frontend's */
	struct client *client;		/* holds a reference; NULL for refused calls */
	/*
	 * The views in `nfs` point into it. What it is charged with goes with the bytes,
	 * which the engine may keep longer than the call.
	 */
	struct buf *record;
	/* Reserved with admission: the library's copy of the record while it is sent ... */
	size_t copy_charge_bytes;
	/*
	 * ... and the data its reply may carry, given back when that was sent. Part of
	 * session->expected_bytes.
	 */
	size_t reply_charge_bytes;
	struct rpc_header header; /* the credential is squashed in place */
	size_t args_off;	  /* in the record */
	const struct nfs_proc *proc;
	struct nfs_call nfs;
	struct reply_entry *entry; /* in progress; NULL for calls answered on the spot */
	struct upstream_request request; /* one at a time */
	uint64_t since;			 /* engine_sequence() when it was submitted */

	/* Calls that go through the engine; engine_glue_start() says how. */
	struct engine_op op;
	int (*enter)(struct engine *engine, struct engine_op *op);
	void (*on_pass)(struct call *call);
	struct credential *credential; /* a reference; WRITE, COMMIT */

	/* Class NAME, call_name.c: what looks a name up, and what it found. */
	struct nfs_call lookup;
	struct nfs3_fh found_fh;
	struct nfs3_fh source_fh; /* RENAME: what the first name led to */
	bool found_last_name;	  /* found_fh has no other, as far as is known */
};

TAILQ_HEAD(call_list, call);

/* Calls in use, and a few free ones to save malloc. */
struct call_pool {
	struct call_list live;
	struct call_list spare;
	size_t live_count;
	size_t spare_count;
};

void call_pool_init(struct call_pool *pool);
/* No call may be live any more. */
void call_pool_fini(struct call_pool *pool);

/* A call that answers to `session`; NULL when memory is short. */
struct call *call_new(struct frontend *frontend, struct session *session);
/* Gives back all it holds. Its entry must have been settled before (reply.c). */
void call_free(struct call *call);
/* The reply goes to `session` from now on (NULL: to nobody). */
void call_set_session(struct call *call, struct session *session);
/* Takes over what was reserved for the reply's data; gives it away again. */
void call_set_reply_charge(struct call *call, size_t charge_bytes);
MUST_CHECK size_t call_take_reply_charge(struct call *call);

#endif
