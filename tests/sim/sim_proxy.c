/*
 * Between simulated calls and the real engine: its ops table, its clock, its restarts.
 *
 *   WRITE, COMMIT    engine --> answer
 *   READ, GETATTR    barrier --> upstream --> settled? --> answer
 *                       ^----------- once more ----'
 *   SETATTR          barrier --> upstream --> answer
 *
 * The hard case is that the engine may call back from inside nearly every entry: answers
 * free their call, and a passed barrier ends inside its pass.
 *
 * Gives the engine exact time; the daemon's timer is coarser.
 */
#include "sim/sim_proxy.h"

#include <stdlib.h>
#include <string.h>

#include "nfsgather/buf.h"
#include "sim/sim_oracle.h"
#include "wire/rpc_msg.h"

enum {
	SIM_FSID = 7,
	SIM_MODE = 0644,
	SIM_MAX_FILE_BYTES = 1 << 20,
};

struct sim_proxy_io {
	struct sim_proxy *proxy;
	struct engine_io *io;
	struct sim_link_call upstream;
};

struct sim_proxy {
	struct sim *sim;
	unsigned int life;
	struct engine *engine;
	struct stats stats;
	struct credential_table credentials;
	struct nfs3_fh fh[SIM_FILES_MAX];
	struct sim_event tick;
	bool is_fenced; /* it may not send any more */
	/* When a WRITE of this user succeeded; 0: not since the attributes changed. */
	uint64_t proven_us[SIM_FILES_MAX][SIM_UIDS];
};

static struct engine *sim_proxy_enter(struct sim_proxy *proxy)
{
	engine_set_now(proxy->engine, proxy->sim->now_us);
	return proxy->engine;
}

static void sim_proxy_leave(struct sim_proxy *proxy)
{
	struct sim *sim = proxy->sim;
	uint64_t deadline_us = engine_next_deadline_us(proxy->engine);

	if (deadline_us == UINT64_MAX)
		sim_cancel_event(sim, &proxy->tick);
	else
		sim_set_event(sim, &proxy->tick,
			      deadline_us > sim->now_us ? deadline_us - sim->now_us
							: 1);
}

static void sim_proxy_on_tick(struct sim *sim, struct sim_event *event)
{
	struct sim_proxy *proxy = container_of(event, struct sim_proxy, tick);

	(void)sim;
	engine_tick(sim_proxy_enter(proxy));
	sim_proxy_leave(proxy);
}

static uint32_t sim_proxy_file(const struct nfs3_fh *fh)
{
	return fh->data[1];
}

/* --- to the upstream --- */

static struct nfs3_wcc sim_proxy_wcc(const struct sim_up_call *up)
{
	struct nfs3_wcc wcc = { .has_after = up->reply.has_size };

	wcc.after = (struct nfs3_attr){
		.type = NFS3_REG,
		.mode = SIM_MODE,
		.nlink = 1,
		.uid = SIM_FIRST_UID,
		.size = up->reply.size * SIM_BLOCK_BYTES,
		.fsid = SIM_FSID,
		.fileid = up->args.file + 1,
	};
	return wcc;
}

static void sim_proxy_note_permission(struct sim_proxy *proxy,
				      const struct sim_up_call *up)
{
	if (up->refusal == 0 && up->reply.status == NFS3_OK)
		proxy->proven_us[up->args.file][up->args.uid - SIM_FIRST_UID] =
			proxy->sim->now_us;
}

/* P6: acked before it went anywhere, so a WRITE of this user must have succeeded before. */
static void sim_proxy_check_permission(const struct sim_proxy *proxy,
				       const struct sim_args *args)
{
	uint64_t proven_us = proxy->proven_us[args->file][args->uid - SIM_FIRST_UID];

	if (sim_oracle_was_sent(proxy->sim->oracle, args->id))
		return;
	if (proven_us == 0 ||
	    proxy->sim->now_us - proven_us > proxy->sim->plan.engine.grant_us)
		sim_fail(proxy->sim, "P6",
			 "a WRITE of user %u to file %u is acked without proof that it "
			 "may write there",
			 args->uid, args->file);
}

static void sim_proxy_on_write_result(struct sim *sim, struct sim_link_call *call)
{
	struct sim_proxy_io *carrier =
		container_of(call, struct sim_proxy_io, upstream);
	const struct sim_reply *reply = &call->up.reply;
	const struct engine_write_result result = {
		.refusal = call->up.refusal,
		.status = reply->status,
		.wcc = sim_proxy_wcc(&call->up),
		.count = reply->count * SIM_BLOCK_BYTES,
		.committed = reply->committed,
		.verifier = reply->verifier,
	};

	sim_trace(sim,
		  "  upstream WRITE file %u blocks %u+%u: %s%s, %u blocks, stable %d",
		  call->up.args.file, call->up.args.first, call->up.args.count,
		  call->up.refusal ? "refused " : "", sim_status_name(reply->status),
		  reply->count, (int)reply->committed);
	sim_proxy_note_permission(carrier->proxy, &call->up);
	engine_on_write_result(sim_proxy_enter(carrier->proxy), carrier->io, &result,
			       call->sent_count > 1);
	sim_proxy_leave(carrier->proxy);
}

static void sim_proxy_on_commit_result(struct sim *sim, struct sim_link_call *call)
{
	struct sim_proxy_io *carrier =
		container_of(call, struct sim_proxy_io, upstream);
	const struct engine_commit_result result = {
		.refusal = call->up.refusal,
		.status = call->up.reply.status,
		.wcc = sim_proxy_wcc(&call->up),
		.verifier = call->up.reply.verifier,
	};

	sim_trace(sim, "  upstream COMMIT file %u: %s%s", call->up.args.file,
		  call->up.refusal ? "refused " : "",
		  sim_status_name(call->up.reply.status));
	engine_on_commit_result(sim_proxy_enter(carrier->proxy), carrier->io, &result,
				call->sent_count > 1);
	sim_proxy_leave(carrier->proxy);
}

static void sim_proxy_send(struct sim_proxy *proxy, struct engine_io *io,
			   enum nfs3_proc proc)
{
	struct sim *sim = proxy->sim;
	struct sim_proxy_io *carrier = sim_alloc(sim, sizeof(*carrier));
	struct sim_args *args = &carrier->upstream.up.args;

	if (proxy->is_fenced)
		sim_fail(sim, "I12", "the engine sends while it is freed");
	carrier->proxy = proxy;
	carrier->io = io;
	io->carrier = carrier;
	args->proc = proc;
	args->file = sim_proxy_file(io->fh);
	args->uid = io->credential->rpc.uid;
	carrier->upstream.done = sim_proxy_on_commit_result;
	if (proc == NFS3_PROC_WRITE) {
		args->first = (uint32_t)(io->offset / SIM_BLOCK_BYTES);
		args->count = io->count / SIM_BLOCK_BYTES;
		args->stable = io->stable;
		carrier->upstream.up.data = io->data;
		carrier->upstream.done = sim_proxy_on_write_result;
		if (sim->plan.wtmax_blocks > 0 &&
		    args->count > sim->plan.wtmax_blocks &&
		    args->count > sim->plan.wsize_blocks)
			sim_fail(sim, "need", "a WRITE of %u blocks is above wtmax",
				 args->count);
	}
	sim_trace(sim, "  engine sends %s file %u blocks %u+%u stable %d uid %u",
		  sim_proc_name(proc), args->file, args->first, args->count,
		  (int)args->stable, args->uid);
	sim_link_send(sim->link, &carrier->upstream);
}

static void sim_proxy_send_write(void *owner, struct engine_io *io)
{
	sim_proxy_send(owner, io, NFS3_PROC_WRITE);
}

static void sim_proxy_send_commit(void *owner, struct engine_io *io)
{
	sim_proxy_send(owner, io, NFS3_PROC_COMMIT);
}

/* --- to the client --- */

static void sim_proxy_answer_write(void *owner, struct engine_op *op,
				   const struct engine_write_result *result)
{
	struct call *call = container_of(op, struct call, op);
	struct sim_proxy *proxy = owner;
	struct sim_reply reply = {
		.status = result->refusal ? SIM_STATUS_RPC_ERROR : result->status,
		.committed = result->committed,
		.count = result->count / SIM_BLOCK_BYTES,
		.verifier = result->verifier,
		.has_size = result->refusal == 0 && result->wcc.has_after,
		.size = result->wcc.after.size / SIM_BLOCK_BYTES,
	};

	if (reply.status == NFS3_OK) {
		sim_proxy_check_permission(proxy, &call->args);
		sim_oracle_check_verifier(proxy->sim->oracle, call->verifier_number,
					  result->verifier);
	}
	sim_frontend_answer(call, &reply);
}

static void sim_proxy_answer_commit(void *owner, struct engine_op *op,
				    const struct engine_commit_result *result)
{
	struct call *call = container_of(op, struct call, op);
	struct sim_proxy *proxy = owner;
	struct sim_reply reply = {
		.status = result->refusal ? SIM_STATUS_RPC_ERROR : result->status,
		.verifier = result->verifier,
		.has_size = result->refusal == 0 && result->wcc.has_after,
		.size = result->wcc.after.size / SIM_BLOCK_BYTES,
	};

	if (reply.status == NFS3_OK) {
		sim_oracle_check_verifier(proxy->sim->oracle, call->verifier_number,
					  result->verifier);
		if (!sim_link_is_proven(proxy->sim->link, call->args.file))
			sim_fail(
				proxy->sim, "I11",
				"a COMMIT of file %u is answered, but the upstream was "
				"never asked",
				call->args.file);
	}
	sim_frontend_answer(call, &reply);
}

static void sim_proxy_on_rotation(void *owner, const char *reason)
{
	struct sim_proxy *proxy = owner;
	struct sim *sim = proxy->sim;

	sim_trace(sim, "  the verifier changes: %s", reason);
	if (!sim->plan.is_error_possible)
		sim_fail(sim, "I2",
			 "the verifier changes although nothing was lost: %s", reason);
	sim_oracle_new_verifier(sim->oracle, engine_verifier(proxy->engine));
	sim_oracle_lose_all(sim->oracle);
}

static void sim_proxy_on_loss(void *owner, const struct nfs3_fh *fh, uint64_t offset,
			      uint64_t bytes, uint32_t status)
{
	struct sim_proxy *proxy = owner;
	struct sim *sim = proxy->sim;
	uint32_t file = sim_proxy_file(fh);
	uint32_t first = (uint32_t)(offset / SIM_BLOCK_BYTES);
	uint32_t count = (uint32_t)(bytes / SIM_BLOCK_BYTES);

	sim_trace(sim, "  lost: file %u blocks %u+%u: %s", file, first, count,
		  sim_status_name(status));
	if (!sim->plan.is_error_possible)
		sim_fail(sim, "I3", "bytes are given up although no error happened");
	sim_oracle_lose(sim->oracle, file, first, count);
}

/* --- barriers --- */

static void sim_proxy_enter_barrier(struct call *call, bool insists)
{
	struct sim_proxy *proxy = call->proxy;
	const struct sim_args *args = &call->args;

	call->op = (struct engine_op){
		.fh = &proxy->fh[args->file],
		.client_id = sim_frontend_client_id(call),
		.barrier = ENGINE_BARRIER_READ,
		.insists = insists,
	};
	if (args->proc == NFS3_PROC_SETATTR)
		call->op.barrier = args->sets_size ? ENGINE_BARRIER_TRUNCATE
						   : ENGINE_BARRIER_CHANGE;
	if (args->sets_size)
		call->op.offset = (uint64_t)args->first * SIM_BLOCK_BYTES;
	INVARIANT(engine_barrier(sim_proxy_enter(proxy), &call->op) == 0);
	sim_proxy_leave(proxy);
}

static void sim_proxy_on_relayed(struct sim *sim, struct sim_link_call *relayed)
{
	struct call *call = container_of(relayed, struct call, upstream);
	struct sim_proxy *proxy = call->proxy;
	struct sim_reply reply = relayed->up.reply;
	bool is_settled = engine_is_settled(proxy->engine, call->op.fh, call->since);
	bool asks = call->args.proc != NFS3_PROC_SETATTR;
	bool again = asks && reply.status == NFS3_OK && !is_settled;

	sim_trace(sim, "  upstream %s file %u: %s, %u blocks%s",
		  sim_proc_name(call->args.proc), call->args.file,
		  sim_status_name(reply.status), (unsigned int)reply.size,
		  again ? ", asked once more" : "");
	if (!is_settled)
		reply.has_size = false;
	if (call->args.proc == NFS3_PROC_SETATTR)
		memset(proxy->proven_us[call->args.file], 0,
		       sizeof(proxy->proven_us[call->args.file]));
	engine_barrier_done(sim_proxy_enter(proxy), &call->op,
			    !again && reply.status == NFS3_OK);
	sim_proxy_leave(proxy);
	if (again)
		sim_proxy_enter_barrier(call, true);
	else
		sim_frontend_answer(call, &reply);
}

static void sim_proxy_pass(void *owner, struct engine_op *op)
{
	struct call *call = container_of(op, struct call, op);
	struct sim_proxy *proxy = owner;

	call->since = engine_sequence(proxy->engine);
	call->upstream = (struct sim_link_call){ .done = sim_proxy_on_relayed };
	call->upstream.up.args = call->args;
	sim_trace(proxy->sim, "  %s of client %u passes",
		  sim_proc_name(call->args.proc), call->args.client);
	sim_link_send(proxy->sim->link, &call->upstream);
}

/* --- calls in --- */

static struct buf *sim_proxy_payload(const struct sim_args *args)
{
	struct buf *payload = buf_new((size_t)args->count * SIM_BLOCK_BYTES);
	uint32_t i;

	INVARIANT(payload != NULL);
	payload->len_bytes = payload->capacity_bytes;
	for (i = 0; i < args->count; i++) {
		uint64_t word = sim_block_make(args->id, args->file, args->first + i);

		memcpy(buf_start(payload) + (size_t)i * SIM_BLOCK_BYTES, &word,
		       sizeof(word));
	}
	return payload;
}

static void sim_proxy_enter_op(struct sim_proxy *proxy, struct call *call)
{
	const struct sim_args *args = &call->args;
	struct rpc_cred cred = { .flavor = RPC_AUTH_SYS, .uid = args->uid };

	rpc_cred_encode(&cred);
	call->credential = credential_get(&proxy->credentials, &cred);
	INVARIANT(call->credential != NULL);
	call->op = (struct engine_op){
		.fh = &proxy->fh[args->file],
		.client_id = sim_frontend_client_id(call),
		.credential = call->credential,
	};
	if (args->proc == NFS3_PROC_COMMIT) {
		INVARIANT(engine_commit(sim_proxy_enter(proxy), &call->op) == 0);
		sim_proxy_leave(proxy);
		return;
	}
	call->payload = sim_proxy_payload(args);
	call->op.offset = (uint64_t)args->first * SIM_BLOCK_BYTES;
	call->op.count = args->count * SIM_BLOCK_BYTES;
	call->op.stable = args->stable;
	call->op.payload = call->payload;
	call->op.data = buf_start(call->payload);
	INVARIANT(engine_write(sim_proxy_enter(proxy), &call->op) == 0);
	sim_proxy_leave(proxy);
}

void sim_proxy_start(struct sim_proxy *proxy, struct call *call)
{
	struct sim_oracle *oracle = proxy->sim->oracle;
	const struct sim_args *args = &call->args;

	call->proxy = proxy;
	call->verifier_number = sim_oracle_verifier_number(oracle);
	if (args->id != 0)
		sim_oracle_take(oracle, args->id, proxy->life);
	sim_trace(proxy->sim,
		  "proxy takes %s of client %u: file %u blocks %u+%u change %u",
		  sim_proc_name(args->proc), args->client, args->file, args->first,
		  args->count, args->id);
	if (args->proc == NFS3_PROC_WRITE || args->proc == NFS3_PROC_COMMIT)
		sim_proxy_enter_op(proxy, call);
	else
		sim_proxy_enter_barrier(call, false);
}

/* --- its lives --- */

static const struct engine_ops sim_proxy_ops = {
	.send_write = sim_proxy_send_write,
	.send_commit = sim_proxy_send_commit,
	.answer_write = sim_proxy_answer_write,
	.answer_commit = sim_proxy_answer_commit,
	.pass = sim_proxy_pass,
	.on_rotation = sim_proxy_on_rotation,
	.on_loss = sim_proxy_on_loss,
};

static void sim_proxy_begin(struct sim_proxy *proxy)
{
	struct sim *sim = proxy->sim;
	struct nfs3_verifier first;
	uint64_t bits = sim_random_next(&sim->weather_random);

	memcpy(first.data, &bits, sizeof(bits));
	proxy->life++;
	proxy->is_fenced = false;
	memset(proxy->proven_us, 0, sizeof(proxy->proven_us));
	proxy->stats = (struct stats){ 0 };
	credential_table_init(&proxy->credentials);
	proxy->engine = engine_new(&sim_proxy_ops, proxy, &sim->plan.engine, first,
				   &proxy->stats);
	INVARIANT(proxy->engine != NULL);
	engine_set_limits(sim_proxy_enter(proxy),
			  sim->plan.wtmax_blocks * SIM_BLOCK_BYTES, SIM_MAX_FILE_BYTES);
	sim_oracle_new_verifier(sim->oracle, engine_verifier(proxy->engine));
	sim_proxy_leave(proxy);
}

struct sim_proxy *sim_proxy_new(struct sim *sim)
{
	struct sim_proxy *proxy = sim_alloc(sim, sizeof(*proxy));
	uint32_t i;

	proxy->sim = sim;
	proxy->tick.run = sim_proxy_on_tick;
	for (i = 0; i < SIM_FILES_MAX; i++) {
		proxy->fh[i].len = 2;
		proxy->fh[i].data[0] = 'f';
		proxy->fh[i].data[1] = (uint8_t)i;
	}
	sim_proxy_begin(proxy);
	return proxy;
}

void sim_proxy_free(struct sim_proxy *proxy)
{
	struct sim *sim = proxy->sim;

	proxy->is_fenced = true;
	sim_cancel_event(sim, &proxy->tick);
	sim_link_cut(sim->link);
	engine_free(proxy->engine);
	sim_frontend_free(sim->frontend);
	credential_table_fini(&proxy->credentials);
}

void sim_proxy_restart(struct sim_proxy *proxy)
{
	sim_trace(proxy->sim, "the proxy dies and starts again");
	sim_proxy_free(proxy);
	sim_oracle_lose_all(proxy->sim->oracle);
	proxy->sim->frontend = sim_frontend_new(proxy->sim);
	sim_proxy_begin(proxy);
}

unsigned int sim_proxy_life(const struct sim_proxy *proxy)
{
	return proxy->life;
}

void sim_proxy_on_disconnect(struct sim_proxy *proxy)
{
	engine_on_disconnect(sim_proxy_enter(proxy));
	sim_proxy_leave(proxy);
}

void sim_proxy_drain(struct sim_proxy *proxy)
{
	sim_trace(proxy->sim, "the proxy drains");
	engine_drain(sim_proxy_enter(proxy));
	sim_proxy_leave(proxy);
}

void sim_proxy_relieve(struct sim_proxy *proxy)
{
	sim_trace(proxy->sim, "memory is short");
	engine_relieve(sim_proxy_enter(proxy));
	sim_proxy_leave(proxy);
}

bool sim_proxy_is_clean(const struct sim_proxy *proxy)
{
	return engine_is_clean(proxy->engine) && sim_link_count(proxy->sim->link) == 0;
}

void sim_proxy_check_gauges(const struct sim_proxy *proxy)
{
	static const enum stats_gauge gauges[] = { GAUGE_DIRTY_BYTES,
						   GAUGE_RETAINED_BYTES,
						   GAUGE_WRITES_OUT,
						   GAUGE_COMMITS_OUT };
	size_t i;

	for (i = 0; i < sizeof(gauges) / sizeof(gauges[0]); i++)
		if (proxy->stats.gauge[gauges[i]] != 0)
			sim_fail(proxy->sim, "gauge", "%s is %llu at the end",
				 stats_gauge_name(gauges[i]),
				 (unsigned long long)proxy->stats.gauge[gauges[i]]);
}

uint64_t sim_proxy_sticky_us(const struct sim_proxy *proxy)
{
	return proxy->sim->plan.engine.sticky_us;
}
