/*
 * The engine, step by step: what it sends, in which order, what it answers and which
 * verifier it shows. Test names carry the promise they stand for.
 */
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

static void setup(void)
{
	memset(&seen, 0, sizeof(seen));
	memset(&stats, 0, sizeof(stats));
	memset(op, 0, sizeof(op));
	engine = engine_new(&ops, NULL, first_v, &stats);
	ck_assert_ptr_nonnull(engine);
}

static void teardown(void)
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

START_TEST(p3_one_verifier_in_every_reply)
{
	write_in(0, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	write_back(0, NFS3_UNSTABLE, u1);
	ck_assert(same(seen.write.verifier, first_v));
	write_in(1, &file_b, 2, 0, 10, NFS3_FILE_SYNC);
	write_back(1, NFS3_FILE_SYNC, u2);
	ck_assert(same(seen.write.verifier, first_v));
	commit_in(2, &file_a, 1);
	commit_back(2, NFS3_OK, u1, false);
	ck_assert(same(seen.commit.verifier, first_v));
	ck_assert_uint_eq(seen.rotations, 0);
	ck_assert_uint_eq(engine_file_count(engine), 0);
}
END_TEST

START_TEST(p3_zero_is_no_verifier)
{
	struct nfs3_verifier zero = { { 0 } };
	struct nfs3_verifier almost;
	struct engine *other = engine_new(&ops, NULL, zero, &stats);

	ck_assert(!same(engine_verifier(other), zero));
	engine_free(other);

	memset(&almost, 0xff, sizeof(almost)); /* the next one would be zero */
	engine_free(engine);
	engine = engine_new(&ops, NULL, almost, &stats);
	commit_in(0, &file_a, 1);
	commit_back(0, NFS3_OK, u1, true);
	ck_assert_uint_eq(seen.rotations, 1);
	ck_assert(!same(seen.commit.verifier, zero));
	ck_assert(!same(seen.commit.verifier, almost));
}
END_TEST

START_TEST(p3_restart_of_the_upstream_shows_in_the_commit)
{
	write_in(0, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	write_back(0, NFS3_UNSTABLE, u1);
	commit_in(1, &file_a, 1);
	commit_back(1, NFS3_OK, u2, false);
	ck_assert_uint_eq(seen.rotations, 1);
	ck_assert_uint_eq(stats.value[STAT_VERIFIER_ROTATIONS], 1);
	ck_assert(!same(seen.commit.verifier, first_v));
	ck_assert(same(seen.commit.verifier, engine_verifier(engine)));
	/* once is enough: the re-sent data is under the new one */
	write_in(2, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	write_back(2, NFS3_UNSTABLE, u2);
	commit_in(3, &file_a, 1);
	commit_back(3, NFS3_OK, u2, false);
	ck_assert_uint_eq(seen.rotations, 1);
}
END_TEST

START_TEST(p3_late_write_reply_of_the_old_life_is_not_forgotten)
{
	/* b's reply was on its way when the upstream restarted and a rotation happened. */
	write_in(0, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	write_back(0, NFS3_UNSTABLE, u1);
	write_in(1, &file_b, 1, 0, 10, NFS3_UNSTABLE);
	commit_in(2, &file_a, 1);
	commit_back(2, NFS3_OK, u2, false);
	ck_assert_uint_eq(seen.rotations, 1);
	write_back(1, NFS3_UNSTABLE, u1);
	ck_assert(same(seen.write.verifier, engine_verifier(engine)));
	commit_in(3, &file_b, 1);
	commit_back(3, NFS3_OK, u2, false);
	ck_assert_uint_eq(seen.rotations, 2);
	ck_assert(!same(seen.commit.verifier, seen.write.verifier));
}
END_TEST

START_TEST(p1_write_answered_while_a_commit_is_out_is_not_covered_by_it)
{
	write_in(0, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	commit_in(1, &file_a, 1);
	write_back(0, NFS3_UNSTABLE, u1);
	commit_back(1, NFS3_OK, u1, false);
	ck_assert_uint_eq(seen.rotations, 0);
	ck_assert_uint_eq(engine_file_count(engine), 1);
	commit_in(2, &file_a, 1);
	commit_back(2, NFS3_OK, u2, false);
	ck_assert_uint_eq(seen.rotations, 1);
}
END_TEST

START_TEST(p1_entry_that_spans_a_commit_is_cut_not_dropped)
{
	write_in(0, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	write_back(0, NFS3_UNSTABLE, u1);
	write_in(1, &file_a, 1, 10, 10, NFS3_UNSTABLE);
	commit_in(2, &file_a, 1);
	write_back(1, NFS3_UNSTABLE, u1);
	commit_back(2, NFS3_OK, u1, false);
	commit_in(3, &file_a, 1);
	commit_back(3, NFS3_OK, u2, false);
	ck_assert_uint_eq(seen.rotations, 1);
}
END_TEST

START_TEST(p1_commit_cut_off_before_its_reply_rotates)
{
	write_in(0, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	write_back(0, NFS3_UNSTABLE, u1);
	commit_in(1, &file_a, 1);
	commit_back(1, NFS3_OK, u1, true);
	ck_assert_uint_eq(seen.rotations, 1);
	ck_assert(!same(seen.commit.verifier, first_v));
}
END_TEST

START_TEST(p1_failed_commit_tells_the_others_by_rotation)
{
	write_in(0, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	write_back(0, NFS3_UNSTABLE, u1);
	commit_in(1, &file_a, 1);
	commit_back(1, NFS3ERR_IO, u1, false);
	ck_assert_uint_eq(seen.commit.status, NFS3ERR_IO);
	ck_assert_uint_eq(seen.rotations, 0); /* the only owner was told */

	write_in(2, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	write_back(2, NFS3_UNSTABLE, u1);
	write_in(3, &file_a, 2, 0, 10, NFS3_UNSTABLE);
	write_back(3, NFS3_UNSTABLE, u1);
	commit_in(4, &file_a, 1);
	commit_back(4, NFS3ERR_IO, u1, false);
	ck_assert_uint_eq(seen.rotations, 1);
}
END_TEST

START_TEST(p1_commit_error_that_kept_the_data_forgets_nothing)
{
	static const uint32_t kept[] = { NFS3ERR_JUKEBOX, NFS3ERR_ACCES, NFS3ERR_PERM,
					 NFS3ERR_BADHANDLE };

	write_in(0, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	write_back(0, NFS3_UNSTABLE, u1);
	for (unsigned int i = 0; i < 4; i++) {
		commit_in(1, &file_a, 2);
		commit_back(1, kept[i], u1, false);
	}
	ck_assert_uint_eq(seen.rotations, 0);
	commit_in(2, &file_a, 1);
	commit_back(2, NFS3_OK, u2, false);
	ck_assert_uint_eq(seen.rotations, 1);
}
END_TEST

START_TEST(p1_many_clients_of_one_file_are_all_remembered)
{
	for (unsigned int i = 0; i < 9; i++) {
		write_in(i, &file_a, i, 0, 10, NFS3_UNSTABLE);
		write_back(i, NFS3_UNSTABLE, u1);
	}
	commit_in(9, &file_a, 3);
	commit_back(9, NFS3ERR_NOSPC, u1, false);
	ck_assert_uint_eq(seen.rotations, 1);
}
END_TEST

START_TEST(p1_more_upstream_verifiers_than_the_ledger_holds)
{
	struct nfs3_verifier u = { { 0 } };

	for (unsigned int i = 0; i < 6; i++) {
		u.data[0] = (uint8_t)(i + 1);
		write_in(i, &file_a, 1, 0, 10, NFS3_UNSTABLE);
		write_back(i, NFS3_UNSTABLE, u);
	}
	/* the first two entries were given up; any COMMIT elsewhere must notice */
	commit_in(6, &file_b, 1);
	commit_back(6, NFS3_OK, u, false);
	ck_assert_uint_eq(seen.rotations, 1);
}
END_TEST

START_TEST(p1_files_without_commit_are_bounded_and_still_noticed)
{
	struct nfs3_fh fh = { .len = 8 };

	for (uint32_t i = 0; i < 20000; i++) {
		memcpy(fh.data, &i, sizeof(i));
		write_in(0, &fh, 1, 0, 10, NFS3_UNSTABLE);
		write_back(0, NFS3_UNSTABLE, u1);
		seen.log[0] = '\0';
	}
	ck_assert_uint_le(engine_file_count(engine), 16384);
	ck_assert_uint_eq(seen.rotations, 0);
	memset(fh.data, 0, sizeof(fh.data)); /* the first of them: its record is gone */
	commit_in(1, &fh, 1);
	commit_back(1, NFS3_OK, u1, false);
	ck_assert_uint_eq(seen.rotations, 0);
	commit_in(2, &fh, 1);
	commit_back(2, NFS3_OK, u2, false);
	ck_assert_uint_eq(seen.rotations, 1);
	ck_assert_uint_eq(engine_file_count(engine), 0);
}
END_TEST

START_TEST(p1_one_commit_of_a_file_is_out_and_the_others_share_the_next)
{
	commit_in(0, &file_a, 1);
	commit_in(1, &file_a, 1);
	commit_in(2, &file_a, 1);
	commit_in(3, &file_b, 1);
	ck_assert_str_eq(seen.log, "c0 c3 ");
	commit_back(0, NFS3_OK, u1, false);
	ck_assert_str_eq(seen.log, "c0 c3 c1 C0 ");
	commit_in(4, &file_a, 1); /* after 1 went out: not covered by it */
	commit_back(1, NFS3_OK, u1, false);
	ck_assert_str_eq(seen.log, "c0 c3 c1 C0 c4 C1 C2 ");
	commit_back(4, NFS3_OK, u1, false);
	commit_back(3, NFS3_OK, u1, false);
	ck_assert_uint_eq(engine_file_count(engine), 0);
}
END_TEST

START_TEST(p1_failed_commit_is_not_shared)
{
	commit_in(0, &file_a, 1);
	commit_in(1, &file_a, 1);
	commit_in(2, &file_a, 1);
	commit_back(0, NFS3_OK, u1, false);
	commit_back(1, NFS3ERR_IO, u1, false);
	ck_assert_str_eq(seen.log, "c0 c1 C0 c2 C1 ");
	ck_assert_uint_eq(seen.commit.status, NFS3ERR_IO);
	commit_back(2, NFS3_OK, u1, false);
	ck_assert_uint_eq(seen.commit.status, NFS3_OK);
}
END_TEST

START_TEST(p6_commits_of_two_credentials_are_not_shared)
{
	commit_in(0, &file_a, 1);
	commit_in(1, &file_a, 1);
	op[2] = (struct engine_op){ .fh = &file_a, .client_id = 1, .credential_id = 9 };
	ck_assert_int_eq(engine_commit(engine, &op[2]), 0);
	commit_back(0, NFS3_OK, u1, false);
	commit_back(1, NFS3_OK, u1, false);
	ck_assert_str_eq(seen.log, "c0 c1 C0 c2 C1 ");
	commit_back(2, NFS3_OK, u1, false);
}
END_TEST

START_TEST(p1_write_on_its_way_when_a_commit_fails_is_sent_once_more)
{
	write_in(0, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	write_in(1, &file_a, 1, 10, 10, NFS3_FILE_SYNC);
	commit_in(2, &file_a, 2);
	commit_back(2, NFS3ERR_IO, u1, false);
	write_back(0, NFS3_UNSTABLE, u1);
	write_back(1, NFS3_FILE_SYNC, u1); /* stable: nothing to doubt */
	ck_assert_str_eq(seen.log, "w0 w1 c2 C2 w0 W1 ");
	write_back(0, NFS3_UNSTABLE, u1);
	ck_assert_ptr_nonnull(strstr(seen.log, "W0"));
	ck_assert_uint_eq(seen.rotations, 0);
}
END_TEST

START_TEST(p2_write_waiting_for_proof_when_a_commit_fails_is_sent_once_more)
{
	commit_in(0, &file_a, 2);
	write_in(1, &file_a, 1, 0, 10, NFS3_FILE_SYNC);
	write_back(1, NFS3_UNSTABLE, u1);
	ck_assert_str_eq(seen.log, "c0 w1 ");
	commit_back(0, NFS3ERR_IO, u1, false);
	ck_assert_str_eq(seen.log, "c0 w1 w1 C0 ");
	write_back(1, NFS3_FILE_SYNC, u1);
	ck_assert_int_eq(seen.write.committed, NFS3_FILE_SYNC);
}
END_TEST

START_TEST(p1_error_tells_only_of_writes_answered_before_the_commit_arrived)
{
	commit_in(0, &file_a, 1);
	commit_in(1, &file_a, 1);
	write_in(2, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	write_back(2, NFS3_UNSTABLE, u1);
	commit_back(0, NFS3_OK, u1, false);
	commit_back(1, NFS3ERR_IO, u1,
		    false); /* sent after the answer, asked before it */
	ck_assert_uint_eq(seen.rotations, 1);
}
END_TEST

START_TEST(p1_failed_proof_tells_the_same_clients_other_writes_by_rotation)
{
	write_in(0, &file_a, 1, 100, 10, NFS3_UNSTABLE);
	write_back(0, NFS3_UNSTABLE, u1);
	write_in(1, &file_a, 1, 0, 10, NFS3_FILE_SYNC);
	write_back(1, NFS3_UNSTABLE, u1);
	commit_back(1, NFS3ERR_IO, u1, false);
	ck_assert_uint_eq(seen.write.status, NFS3ERR_IO);
	ck_assert_uint_eq(seen.rotations, 1);
}
END_TEST

START_TEST(p2_stable_write_answered_as_unstable_is_proven_first)
{
	write_in(0, &file_a, 1, 0, 10, NFS3_FILE_SYNC);
	write_back(0, NFS3_UNSTABLE, u1);
	ck_assert_str_eq(seen.log, "w0 p0 ");
	commit_back(0, NFS3_OK, u1, false);
	ck_assert_str_eq(seen.log, "w0 p0 W0 ");
	ck_assert_int_eq(seen.write.committed, NFS3_FILE_SYNC);
	ck_assert_uint_eq(seen.write.count, 10);
	ck_assert_uint_eq(engine_file_count(engine), 0);
}
END_TEST

START_TEST(p2_stable_write_is_sent_again_when_the_proof_does_not_match)
{
	write_in(0, &file_a, 1, 0, 10, NFS3_FILE_SYNC);
	write_back(0, NFS3_UNSTABLE, u1);
	commit_back(0, NFS3_OK, u2, false); /* lost in between */
	ck_assert_str_eq(seen.log, "w0 p0 w0 ");
	write_back(0, NFS3_UNSTABLE, u2);
	commit_back(0, NFS3_OK, u2, true); /* an error may have been swallowed */
	ck_assert_str_eq(seen.log, "w0 p0 w0 p0 w0 ");
	write_back(0, NFS3_FILE_SYNC, u2);
	ck_assert_str_eq(seen.log, "w0 p0 w0 p0 w0 W0 ");
	ck_assert_int_eq(seen.write.committed, NFS3_FILE_SYNC);
}
END_TEST

START_TEST(p2_stable_write_that_cannot_be_proven_fails)
{
	write_in(0, &file_a, 1, 0, 10, NFS3_DATA_SYNC);
	for (unsigned int i = 0; i < 4; i++) {
		write_back(0, NFS3_UNSTABLE, u1);
		commit_back(0, NFS3_OK, u2, false);
	}
	ck_assert_uint_eq(seen.write.status, NFS3ERR_IO);
	ck_assert_ptr_nonnull(strstr(seen.log, "W0"));
}
END_TEST

START_TEST(p2_failed_proof_is_the_answer)
{
	write_in(0, &file_a, 1, 0, 10, NFS3_FILE_SYNC);
	write_back(0, NFS3_UNSTABLE, u1);
	commit_back(0, NFS3ERR_NOSPC, u1, false);
	ck_assert_uint_eq(seen.write.status, NFS3ERR_NOSPC);
}
END_TEST

START_TEST(p2_data_sync_data_needs_no_matching_verifier)
{
	write_in(0, &file_a, 1, 0, 10, NFS3_FILE_SYNC);
	write_back(0, NFS3_DATA_SYNC, (struct nfs3_verifier){ { 0 } });
	commit_back(0, NFS3_OK, u1, false);
	ck_assert_int_eq(seen.write.committed, NFS3_FILE_SYNC);
	ck_assert_uint_eq(seen.rotations, 0);
}
END_TEST

START_TEST(p3_verifier_of_a_stable_reply_is_ignored)
{
	struct nfs3_verifier zero = { { 0 } };

	write_in(0, &file_a, 1, 0, 10, NFS3_FILE_SYNC);
	write_back(0, NFS3_FILE_SYNC, zero);
	commit_in(1, &file_a, 1);
	commit_back(1, NFS3_OK, u1, false);
	ck_assert_uint_eq(seen.rotations, 0);
}
END_TEST

START_TEST(p4_overlapping_writes_go_one_after_the_other)
{
	write_in(0, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	write_in(1, &file_a, 2, 10, 10, NFS3_UNSTABLE); /* neighbour: free */
	write_in(2, &file_a, 2, 9, 1, NFS3_UNSTABLE);	/* the last byte of 0 */
	write_in(3, &file_a, 1, 9, 4, NFS3_FILE_SYNC);	/* behind 2, though 2 waits */
	write_in(4, &file_b, 1, 9, 1, NFS3_UNSTABLE);	/* another file */
	ck_assert_str_eq(seen.log, "w0 w1 w4 ");
	write_back(1, NFS3_UNSTABLE, u1);
	ck_assert_str_eq(seen.log, "w0 w1 w4 W1 ");
	write_back(0, NFS3_UNSTABLE, u1);
	ck_assert_str_eq(seen.log, "w0 w1 w4 W1 w2 W0 ");
	write_back(2, NFS3_UNSTABLE, u1);
	ck_assert_str_eq(seen.log, "w0 w1 w4 W1 w2 W0 w3 W2 ");
	write_back(3, NFS3_FILE_SYNC, u1);
	write_back(4, NFS3_UNSTABLE, u1);
}
END_TEST

START_TEST(p4_truncate_is_ordered_with_writes)
{
	write_in(0, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	op[1] = (struct engine_op){ .fh = &file_a, .client_id = 1, .offset = 5 };
	ck_assert_int_eq(engine_truncate(engine, &op[1]), 0);
	write_in(2, &file_a, 1, 0, 5, NFS3_UNSTABLE); /* in 0's way, not in the cut's */
	write_in(3, &file_a, 1, 100, 5, NFS3_UNSTABLE);
	op[4] = (struct engine_op){ .fh = &file_a,
				    .client_id = 1,
				    .offset = UINT64_MAX };
	ck_assert_int_eq(engine_truncate(engine, &op[4]), 0);
	ck_assert_str_eq(seen.log, "w0 ");
	write_back(0, NFS3_UNSTABLE, u1);
	ck_assert_str_eq(seen.log, "w0 t1 w2 W0 ");
	engine_on_truncate_done(engine, &op[1]);
	ck_assert_str_eq(seen.log, "w0 t1 w2 W0 w3 t4 ");
	engine_on_truncate_done(engine, &op[4]);
	write_back(2, NFS3_UNSTABLE, u1);
	write_back(3, NFS3_UNSTABLE, u1);
}
END_TEST

START_TEST(p4_ranges_at_the_end_of_the_number_space)
{
	write_in(0, &file_a, 1, UINT64_MAX - 5, 100, NFS3_UNSTABLE);
	write_in(1, &file_a, 1, UINT64_MAX - 1, 1, NFS3_UNSTABLE);
	write_in(2, &file_a, 1, 0, 4, NFS3_UNSTABLE);
	write_in(3, &file_a, 1, UINT64_MAX - 3, 0, NFS3_UNSTABLE); /* empty */
	ck_assert_str_eq(seen.log, "w0 w2 w3 ");
	write_back(0, NFS3_UNSTABLE, u1);
	ck_assert_str_eq(seen.log, "w0 w2 w3 w1 W0 ");
	write_back(1, NFS3_UNSTABLE, u1);
	write_back(2, NFS3_UNSTABLE, u1);
	write_back(3, NFS3_UNSTABLE, u1);
}
END_TEST

START_TEST(p4_refused_write_lets_the_next_one_go)
{
	write_in(0, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	write_in(1, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	engine_on_no_result(engine, &op[0], false);
	ck_assert_str_eq(seen.log, "w0 w1 ");
	write_back(1, NFS3_UNSTABLE, u1);
	ck_assert_uint_eq(seen.rotations, 0);
}
END_TEST

START_TEST(p1_refused_commit_of_unknown_fate_rotates)
{
	write_in(0, &file_a, 1, 0, 10, NFS3_UNSTABLE);
	write_back(0, NFS3_UNSTABLE, u1);
	commit_in(1, &file_a, 1);
	engine_on_no_result(engine, &op[1], true);
	ck_assert_uint_eq(seen.rotations, 1);
}
END_TEST

START_TEST(p1_commit_of_an_unknown_file_goes_upstream)
{
	commit_in(0, &file_a, 1);
	ck_assert_str_eq(seen.log, "c0 ");
	commit_back(0, NFS3ERR_STALE, u1, false);
	ck_assert_str_eq(seen.log, "c0 C0 ");
	ck_assert_uint_eq(seen.commit.status, NFS3ERR_STALE);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("engine");
	TCase *tcase = unit_case(suite, "relay");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, p3_one_verifier_in_every_reply);
	tcase_add_test(tcase, p3_zero_is_no_verifier);
	tcase_add_test(tcase, p3_restart_of_the_upstream_shows_in_the_commit);
	tcase_add_test(tcase, p3_late_write_reply_of_the_old_life_is_not_forgotten);
	tcase_add_test(tcase, p3_verifier_of_a_stable_reply_is_ignored);
	tcase_add_test(tcase,
		       p1_write_answered_while_a_commit_is_out_is_not_covered_by_it);
	tcase_add_test(tcase, p1_entry_that_spans_a_commit_is_cut_not_dropped);
	tcase_add_test(tcase, p1_commit_cut_off_before_its_reply_rotates);
	tcase_add_test(tcase, p1_failed_commit_tells_the_others_by_rotation);
	tcase_add_test(tcase, p1_commit_error_that_kept_the_data_forgets_nothing);
	tcase_add_test(tcase, p1_many_clients_of_one_file_are_all_remembered);
	tcase_add_test(tcase, p1_more_upstream_verifiers_than_the_ledger_holds);
	tcase_add_test(tcase, p1_files_without_commit_are_bounded_and_still_noticed);
	tcase_add_test(tcase, p1_refused_commit_of_unknown_fate_rotates);
	tcase_add_test(tcase, p1_commit_of_an_unknown_file_goes_upstream);
	tcase_add_test(tcase,
		       p1_one_commit_of_a_file_is_out_and_the_others_share_the_next);
	tcase_add_test(tcase, p1_failed_commit_is_not_shared);
	tcase_add_test(tcase, p6_commits_of_two_credentials_are_not_shared);
	tcase_add_test(tcase,
		       p1_write_on_its_way_when_a_commit_fails_is_sent_once_more);
	tcase_add_test(
		tcase,
		p2_write_waiting_for_proof_when_a_commit_fails_is_sent_once_more);
	tcase_add_test(
		tcase,
		p1_error_tells_only_of_writes_answered_before_the_commit_arrived);
	tcase_add_test(tcase,
		       p1_failed_proof_tells_the_same_clients_other_writes_by_rotation);
	tcase_add_test(tcase, p2_stable_write_answered_as_unstable_is_proven_first);
	tcase_add_test(tcase,
		       p2_stable_write_is_sent_again_when_the_proof_does_not_match);
	tcase_add_test(tcase, p2_stable_write_that_cannot_be_proven_fails);
	tcase_add_test(tcase, p2_failed_proof_is_the_answer);
	tcase_add_test(tcase, p2_data_sync_data_needs_no_matching_verifier);
	tcase_add_test(tcase, p4_overlapping_writes_go_one_after_the_other);
	tcase_add_test(tcase, p4_truncate_is_ordered_with_writes);
	tcase_add_test(tcase, p4_ranges_at_the_end_of_the_number_space);
	tcase_add_test(tcase, p4_refused_write_lets_the_next_one_go);
	return unit_run(suite);
}
