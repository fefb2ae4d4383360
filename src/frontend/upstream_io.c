/*
 * One carrier for each io of the engine that is at the upstream.
 *
 *   send_*() --> carrier --> submit ... done() --> engine_on_*_result()
 *        `--> starved, until the next tick
 *
 * The hard case is a result that is no result (an RPC error, bytes that do not decode): the
 * engine must hear of it, since the bytes may have been written all the same. And the
 * end: an upstream that is being closed cancels what it holds, and the engine is left
 * alone then, or it would go on and submit more.
 *
 * Does not judge results: the engine does.
 */
#include "upstream_io.h"

#include <stdlib.h>

#include "engine_clock.h"
#include "frontend_private.h"
#include "wire/nfs3_result.h"

enum { UPSTREAM_IO_SPARE_MAX = 256 };

struct upstream_io {
	TAILQ_ENTRY(upstream_io) link; /* pool->spare */
	struct frontend *frontend;
	struct engine_io *io;
	struct nfs_call nfs;
	struct upstream_request request;
};

void upstream_io_pool_init(struct upstream_io_pool *pool)
{
	*pool = (struct upstream_io_pool){ 0 };
	TAILQ_INIT(&pool->spare);
}

void upstream_io_pool_fini(struct upstream_io_pool *pool)
{
	struct upstream_io *carrier;

	INVARIANT(pool->live_count == 0);
	while ((carrier = TAILQ_FIRST(&pool->spare)) != NULL) {
		TAILQ_REMOVE(&pool->spare, carrier, link);
		free(carrier);
	}
	upstream_io_pool_init(pool);
}

static struct upstream_io *upstream_io_new(struct frontend *frontend,
					   struct engine_io *io)
{
	struct upstream_io_pool *pool = &frontend->ios;
	struct upstream_io *carrier = TAILQ_FIRST(&pool->spare);

	if (carrier) {
		TAILQ_REMOVE(&pool->spare, carrier, link);
		pool->spare_count--;
	} else {
		carrier = malloc(sizeof(*carrier));
		if (!carrier)
			return NULL;
	}
	pool->live_count++;
	*carrier = (struct upstream_io){ .frontend = frontend, .io = io };
	io->carrier = carrier;
	return carrier;
}

static void upstream_io_free(struct upstream_io *carrier)
{
	struct upstream_io_pool *pool = &carrier->frontend->ios;

	pool->live_count--;
	if (pool->spare_count >= UPSTREAM_IO_SPARE_MAX) {
		free(carrier);
		return;
	}
	TAILQ_INSERT_HEAD(&pool->spare, carrier, link);
	pool->spare_count++;
}

/* Results that decode, or a refusal; `decoded` is what the decoder said. */
static int upstream_io_refusal(const struct upstream_io *carrier, int decoded)
{
	struct frontend *frontend = carrier->frontend;

	if (carrier->request.outcome != UPSTREAM_ANSWERED)
		return (int)carrier->request.outcome;
	if (decoded == 0)
		return 0;
	if (log_limit_allows(&frontend->garbled_limit, clock_now(frontend->clock)))
		log_warn("upstream %s: results of %s do not decode",
			 frontend_name(frontend),
			 carrier->nfs.proc == NFS3_PROC_WRITE ? "WRITE" : "COMMIT");
	return UPSTREAM_IO_GARBLED;
}

static void upstream_io_write_done(struct upstream_request *request)
{
	struct upstream_io *carrier =
		container_of(request, struct upstream_io, request);
	struct frontend *frontend = carrier->frontend;
	struct engine_io *io = carrier->io;
	struct engine_write_result result = { 0 };
	bool resent = request->sent_count > 1;
	int decoded = -1;

	if (request->outcome == UPSTREAM_ANSWERED) {
		decoded = nfs3_write_result_decode(&result, request->results);
		buf_unref(request->results);
	}
	result.refusal = upstream_io_refusal(carrier, decoded);
	upstream_io_free(carrier);
	if (result.refusal == UPSTREAM_CANCELLED)
		return;
	engine_on_write_result(engine_clock_enter(frontend), io, &result, resent);
	engine_clock_leave(frontend);
}

static void upstream_io_commit_done(struct upstream_request *request)
{
	struct upstream_io *carrier =
		container_of(request, struct upstream_io, request);
	struct frontend *frontend = carrier->frontend;
	struct engine_io *io = carrier->io;
	struct engine_commit_result result = { 0 };
	bool resent = request->sent_count > 1;
	int decoded = -1;

	if (request->outcome == UPSTREAM_ANSWERED) {
		decoded = nfs3_commit_result_decode(&result, request->results);
		buf_unref(request->results);
	}
	result.refusal = upstream_io_refusal(carrier, decoded);
	upstream_io_free(carrier);
	if (result.refusal == UPSTREAM_CANCELLED)
		return;
	engine_on_commit_result(engine_clock_enter(frontend), io, &result, resent);
	engine_clock_leave(frontend);
}

static void upstream_io_submit(struct upstream_io *carrier)
{
	struct frontend *frontend = carrier->frontend;

	carrier->nfs.program = PROGRAM_NFS;
	carrier->nfs.version = 3;
	carrier->request.call = &carrier->nfs;
	carrier->request.cred = &carrier->io->credential->rpc;
	frontend->upstream_ops->submit(frontend->upstream, &carrier->request);
}

static void upstream_io_submit_write(struct upstream_io *carrier)
{
	const struct engine_io *io = carrier->io;

	carrier->nfs.proc = NFS3_PROC_WRITE;
	carrier->nfs.args.write = (struct nfs3_write_args){
		.fh = *io->fh,
		.offset = io->offset,
		.count = io->count,
		.stable = io->stable,
		.payload = {
			.data = io->data ? io->data : (const uint8_t *)"",
			.len = io->count,
		},
	};
	carrier->request.done = upstream_io_write_done;
	upstream_io_submit(carrier);
}

/* Some clients' ranges are wrong, and the engine asks for no less than the whole file. */
static void upstream_io_submit_commit(struct upstream_io *carrier)
{
	carrier->nfs.proc = NFS3_PROC_COMMIT;
	carrier->nfs.args.commit.fh = *carrier->io->fh;
	carrier->request.done = upstream_io_commit_done;
	upstream_io_submit(carrier);
}

static void upstream_io_starve(struct upstream_io_line *line, struct engine_io *io)
{
	io->carrier = NULL;
	if (line->first)
		line->last->carrier = io;
	else
		line->first = io;
	line->last = io;
}

void upstream_io_send_write(void *owner, struct engine_io *io)
{
	struct frontend *frontend = owner;
	struct upstream_io_line *line = &frontend->ios.starved_writes;
	struct upstream_io *carrier = line->first ? NULL
						  : upstream_io_new(frontend, io);

	if (carrier)
		upstream_io_submit_write(carrier);
	else
		upstream_io_starve(line, io);
}

void upstream_io_send_commit(void *owner, struct engine_io *io)
{
	struct frontend *frontend = owner;
	struct upstream_io_line *line = &frontend->ios.starved_commits;
	struct upstream_io *carrier = line->first ? NULL
						  : upstream_io_new(frontend, io);

	if (carrier)
		upstream_io_submit_commit(carrier);
	else
		upstream_io_starve(line, io);
}

/* The next of the line with a carrier, or NULL. */
static struct upstream_io *upstream_io_next(struct frontend *frontend,
					    struct upstream_io_line *line)
{
	struct engine_io *io = line->first;
	struct engine_io *next;
	struct upstream_io *carrier;

	if (!io)
		return NULL;
	next = io->carrier;
	carrier = upstream_io_new(frontend, io);
	if (carrier)
		line->first = next;
	return carrier;
}

void upstream_io_retry(struct frontend *frontend)
{
	struct upstream_io_pool *pool = &frontend->ios;
	struct upstream_io *carrier;

	while ((carrier = upstream_io_next(frontend, &pool->starved_writes)) != NULL)
		upstream_io_submit_write(carrier);
	while ((carrier = upstream_io_next(frontend, &pool->starved_commits)) != NULL)
		upstream_io_submit_commit(carrier);
}

bool upstream_io_is_starved(const struct frontend *frontend)
{
	const struct upstream_io_pool *pool = &frontend->ios;

	return pool->starved_writes.first || pool->starved_commits.first;
}
