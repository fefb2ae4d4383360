/*
 * An engine whose ops write down what it does: "w0" WRITE 0 sent, "c" COMMIT, "t" size
 * change, "p" proving COMMIT; "W0", "C0" answered. For check_engine*.c.
 */
#ifndef UNIT_ENGINE_FIXTURE_H
#define UNIT_ENGINE_FIXTURE_H

#include <stdio.h>
#include <string.h>

#include "nfsgather/engine.h"
#include "unit/unit.h"

enum { OPS_MAX = 32 };

/* Everything the engine did, in order. */
struct seen {
	char log[4096];
	struct engine_write_result write;
	struct engine_commit_result commit;
	unsigned int rotations;
};

static struct seen seen;
static struct stats stats;
static struct engine *engine;
static struct engine_op op[OPS_MAX];
static struct nfs3_fh file_a = { .len = 1, .data = "a" };
static struct nfs3_fh file_b = { .len = 64, .data = "b" };

static void note(const char *what, const struct engine_op *which)
{
	size_t used = strlen(seen.log);

	snprintf(seen.log + used, sizeof(seen.log) - used, "%s%ld ", what,
		 (long)(which - op));
}

static void send_write(void *owner, struct engine_op *which)
{
	(void)owner;
	note("w", which);
}

static void send_commit(void *owner, struct engine_op *which)
{
	(void)owner;
	note("c", which);
}

static void send_truncate(void *owner, struct engine_op *which)
{
	(void)owner;
	note("t", which);
}

static void send_proving_commit(void *owner, struct engine_op *which)
{
	(void)owner;
	note("p", which);
}

static void answer_write(void *owner, struct engine_op *which,
			 const struct engine_write_result *result)
{
	(void)owner;
	seen.write = *result;
	note("W", which);
}

static void answer_commit(void *owner, struct engine_op *which,
			  const struct engine_commit_result *result)
{
	(void)owner;
	seen.commit = *result;
	note("C", which);
}

static void on_rotation(void *owner, const char *reason)
{
	(void)owner;
	ck_assert_uint_gt(strlen(reason), 0);
	seen.rotations++;
}

static const struct engine_ops ops = {
	.send_write = send_write,
	.send_commit = send_commit,
	.send_truncate = send_truncate,
	.send_proving_commit = send_proving_commit,
	.answer_write = answer_write,
	.answer_commit = answer_commit,
	.on_rotation = on_rotation,
};

static const struct nfs3_verifier first_v = { "\1\2\3\4\5\6\7\10" };
static const struct nfs3_verifier u1 = { "upstrea1" };
static const struct nfs3_verifier u2 = { "upstrea2" };

static void engine_setup(void)
{
	memset(&seen, 0, sizeof(seen));
	memset(&stats, 0, sizeof(stats));
	memset(op, 0, sizeof(op));
	engine = engine_new(&ops, NULL, first_v, &stats);
	ck_assert_ptr_nonnull(engine);
}

static void engine_teardown(void)
{
	engine_free(engine);
}

static void write_in(unsigned int i, struct nfs3_fh *fh, uint64_t client,
		     uint64_t offset, uint32_t count, enum nfs3_stable stable)
{
	op[i] = (struct engine_op){ .fh = fh,
				    .client_id = client,
				    .offset = offset,
				    .count = count,
				    .stable = stable };
	ck_assert_int_eq(engine_write(engine, &op[i]), 0);
}

static void commit_in(unsigned int i, struct nfs3_fh *fh, uint64_t client)
{
	op[i] = (struct engine_op){ .fh = fh, .client_id = client };
	ck_assert_int_eq(engine_commit(engine, &op[i]), 0);
}

static void write_back(unsigned int i, enum nfs3_stable committed,
		       struct nfs3_verifier u)
{
	struct engine_write_result result = { .status = NFS3_OK,
					      .count = op[i].count,
					      .committed = committed,
					      .verifier = u };

	engine_on_write_result(engine, &op[i], &result);
}

static void commit_back(unsigned int i, uint32_t status, struct nfs3_verifier u,
			bool resent)
{
	struct engine_commit_result result = { .status = status, .verifier = u };

	engine_on_commit_result(engine, &op[i], &result, resent);
}

static bool same(struct nfs3_verifier a, struct nfs3_verifier b)
{
	return memcmp(a.data, b.data, sizeof(a.data)) == 0;
}

#endif
