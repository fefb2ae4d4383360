/*
 * The engine as a whole: the verifier it shows, the order in which it sends, how it is
 * entered again from an answer, and how it comes to an end. Test names carry the
 * promise they stand for (doc/semantics.md).
 */
#include "unit/engine_fixture.h"

START_TEST(p3_one_verifier_in_every_reply)
{
	write_in(0, 0, 10);
	written(0);
	ck_assert(same(seen.write.verifier, first_v));
	write_in(1, 10, 10); /* acked early */
	expect("W0+10 w0 w1 ");
	ck_assert(same(seen.write.verifier, first_v));
	upstream_verifier = u2;
	write_with(2, .fh = &file_b, .offset = 7, .count = 10,
		   .stable = NFS3_FILE_SYNC);
	written(7);
	ck_assert(same(seen.write.verifier, first_v));
	upstream_verifier = u1;
	commit_in(3);
	written(10);
	committed();
	ck_assert(same(seen.commit.verifier, first_v));
	ck_assert_uint_eq(seen.rotations, 0);
}
END_TEST

START_TEST(p3_zero_is_no_verifier)
{
	const struct nfs3_verifier zero = { { 0 } };
	static const struct engine_ops no_ops = { 0 };
	struct engine *other =
		engine_new(&no_ops, NULL, &engine_config_default, zero, &stats);

	ck_assert_ptr_nonnull(other);
	ck_assert(!same(engine_verifier(other), zero));
	engine_free(other);
}
END_TEST

START_TEST(p3_verifier_of_a_stable_reply_is_ignored)
{
	upstream_verifier = (struct nfs3_verifier){ { 0 } };
	write_with(0, .offset = 0, .count = 10, .stable = NFS3_FILE_SYNC);
	written(0);
	upstream_verifier = u1;
	write_in(1, 100, 10);
	commit_in(2);
	written(100);
	committed();
	expect("W0+10f w0 w1 W100+10 C c2 ");
	ck_assert_uint_eq(seen.rotations, 0);
	ck_assert_uint_eq(stats.value[STAT_REPLAYED_BYTES], 0);
}
END_TEST

START_TEST(p4_overlapping_writes_go_one_after_the_other)
{
	write_in(0, 0, 10);
	write_with(1, .client_id = 2, .offset = 10, .count = 10); /* neighbour: free */
	write_with(2, .client_id = 2, .offset = 9, .count = 1);	  /* last of 0 */
	write_with(3, .offset = 9, .count = 4, .stable = NFS3_FILE_SYNC);
	write_with(4, .fh = &file_b, .offset = 9, .count = 1); /* another file */
	expect("W0+10 W10+10 b:W9+1 ");
	written(10);
	expect("w1 ");
	written(0);
	expect("W9+1 w0 ");
	written(9); /* file_b's was sent first */
	written(9);
	expect("w4 W9+4f w2 ");
	written(9);
	expect("w3 ");
	disk_is(0, "AAAAAAAAADDDDBBBBBBB");
}
END_TEST

START_TEST(p4_ranges_at_the_end_of_the_number_space)
{
	write_in(0, UINT64_MAX - 5, 5);
	write_in(1, UINT64_MAX - 1, 1);
	write_in(2, 0, 4);
	write_in(3, UINT64_MAX - 3, 0); /* empty */
	expect("W18446744073709551610+5 W0+4 W18446744073709551612+0 ");
	written_short(UINT64_MAX - 5, 2, NFS3_UNSTABLE);
	expect("W18446744073709551612+3 ");
	written(UINT64_MAX - 3); /* the empty one */
	written(UINT64_MAX - 3);
	expect("w3 W18446744073709551614+1 w0 ");
	written(UINT64_MAX - 1);
	written(0);
	expect("w1 w2 ");
}
END_TEST

START_TEST(p4_write_beyond_the_number_space_breaks_nothing)
{
	write_in(0, UINT64_MAX - 5, 100);
	if (out_count > 0)
		written_short(UINT64_MAX - 5, 50, NFS3_UNSTABLE);
	ck_assert_int_eq(op[0].state, ENGINE_OP_ANSWERED);
	ck_assert_uint_ne(seen.write.status, NFS3_OK);
	ck_assert_uint_eq(out_count, 0);
}
END_TEST

START_TEST(p4_empty_write_waits_for_nobody_and_reaches_the_upstream)
{
	write_in(0, 0, 10);
	write_in(1, 5, 0);
	expect("W0+10 W5+0 ");
	written(5);
	expect("w1 ");
	ck_assert_uint_eq(seen.write.count, 0);
	write_with(2, .offset = 5, .count = 0, .stable = NFS3_FILE_SYNC);
	expect("W5+0f ");
	written_as(5, NFS3_UNSTABLE); /* P2: proven first */
	written(0);
	expect("C w0 ");
	committed();
	expect("w2 ");
	ck_assert_int_eq(seen.write.committed, NFS3_FILE_SYNC);
}
END_TEST

START_TEST(p4_refused_or_failed_write_lets_the_next_one_go)
{
	write_in(0, 0, 10);
	write_in(1, 0, 10);
	write_in(2, 0, 10);
	write_refused(0, 7);
	expect("W0+10 W0+10 w0?7 ");
	write_failed(0, NFS3ERR_ACCES);
	expect("W0+10 w1!13 ");
	written(0);
	expect("w2 ");
	ck_assert_uint_eq(seen.rotations, 0);
	ck_assert_uint_eq(seen.losses, 0);
}
END_TEST

START_TEST(p2_stable_write_waits_for_stability_as_asked)
{
	write_with(0, .offset = 0, .count = 10, .stable = NFS3_DATA_SYNC);
	expect("W0+10d ");
	written_as(0, NFS3_FILE_SYNC); /* more is welcome */
	expect("w0 ");
	ck_assert_int_eq(seen.write.committed, NFS3_FILE_SYNC);
	write_with(1, .offset = 0, .count = 10, .stable = NFS3_FILE_SYNC);
	written_as(0, NFS3_DATA_SYNC); /* less is not enough */
	expect("W0+10f C ");
	upstream_verifier = u2; /* data is stable already: any COMMIT will do */
	committed();
	expect("w1 ");
	ck_assert_int_eq(seen.write.committed, NFS3_FILE_SYNC);
	ck_assert_uint_eq(seen.write.count, 10);
}
END_TEST

/* The next call of a client comes in while its last answer is given. */
static unsigned int next_op;

static void write_again(struct engine_op *answered)
{
	if (answered->kind == ENGINE_OP_WRITE && next_op < 6) {
		unsigned int i = next_op++;

		write_in(i, 100u * i, 100);
	} else if (answered->kind == ENGINE_OP_WRITE && next_op == 6) {
		next_op++;
		commit_in(20);
	}
}

START_TEST(answers_may_call_the_engine)
{
	grant_to(alice);
	on_answer = write_again;
	next_op = 1;
	write_in(0, 0, 100);
	/* one flat sequence: nothing was answered from inside another answer */
	expect("w0 w1 w2 w3 w4 w5 W0+600 ");
	on_answer = NULL;
	written(0);
	expect("C ");
	committed();
	expect("c20 ");
	disk_is(500, letters(5, 100));
}
END_TEST

static void done_at_once(struct engine_op *passed)
{
	if (passed->kind == ENGINE_OP_BARRIER && passed->state == ENGINE_OP_PASSED)
		engine_barrier_done(engine, passed, true);
}

START_TEST(barrier_may_be_done_from_inside_pass)
{
	grant_to(alice);
	on_answer = done_at_once;
	write_in(0, 0, 10);
	barrier_in(1, ENGINE_BARRIER_CHANGE);
	write_in(2, 0, 10);
	expect("w0 W0+10 ");
	written(0);
	expect("p1 W0+10 ");
	ck_assert_int_eq(op[1].state, ENGINE_OP_ANSWERED);
	written(0);
	expect("w2 ");
}
END_TEST

START_TEST(free_with_everything_inside)
{
	grant_to(alice);
	write_in(0, 0, 10); /* DIRTY */
	write_in(1, 100, 10);
	commit_in(2); /* SENT, and a COMMIT waits */
	written(0);
	write_with(3, .client_id = 2, .offset = 105, .count = 10); /* WAITING */
	barrier_with(4, .client_id = 2, .barrier = ENGINE_BARRIER_TRUNCATE);
	write_in(5, 200, 10);
	ck_assert_int_eq(op[2].state, ENGINE_OP_WAITING);
	/* teardown looks for what is left */
}
END_TEST

START_TEST(drain_writes_and_commits_everything)
{
	grant_to(alice);
	write_in(0, 0, 10);
	write_with(1, .fh = &file_b, .offset = 50, .count = 10);
	written(50);
	ck_assert(!engine_is_clean(engine));
	expect("w0 b:W50+10 w1 ");
	engine_drain(engine);
	expect("b:C W0+10 ");
	ck_assert_uint_eq(stats.write_reason[WRITE_REASON_DRAIN], 1);
	ck_assert_uint_eq(stats.commit_reason[COMMIT_REASON_DRAIN], 1);
	written(0);
	expect("C ");
	write_in(2, 0, 10); /* not acked any more, but done */
	expect("W0+10 ");
	committed(); /* b */
	committed();
	ck_assert(engine_is_clean(engine));
	written(0);
	expect("C w2 ");
	committed();
	ck_assert(engine_is_clean(engine));
}
END_TEST

START_TEST(drain_goes_on_after_jukebox)
{
	grant_to(alice);
	write_in(0, 0, 10);
	engine_drain(engine);
	write_failed(0, NFS3ERR_JUKEBOX);
	tick_at(engine_next_deadline_us(engine));
	expect("w0 W0+10 W0+10 ");
	written(0);
	commit_failed(NFS3ERR_JUKEBOX);
	expect("C ");
	tick_at(engine_next_deadline_us(engine));
	expect("C ");
	committed();
	ck_assert(engine_is_clean(engine));
}
END_TEST

/* Without books_check(), which would look at all files each time. */
static void write_stable(struct nfs3_fh *fh)
{
	const struct engine_write_result done = { .count = 1,
						  .committed = NFS3_FILE_SYNC };

	op[0] = (struct engine_op){ .fh = fh,
				    .client_id = 1,
				    .credential = alice,
				    .count = 1,
				    .stable = NFS3_FILE_SYNC,
				    .payload = buf_new(1) };
	op[0].data = buf_start(op[0].payload);
	ck_assert_int_eq(engine_write(engine, &op[0]), 0);
	ck_assert_uint_eq(out_count, 1);
	free(out[--out_count].copy);
	engine_on_write_result(engine, out[0].io, &done, false);
	seen.log[0] = '\0';
}

START_TEST(i11_records_are_bounded_and_an_unknown_file_is_asked_for)
{
	struct nfs3_fh fh = { .len = 8, .data = "x" };
	uint32_t i;

	for (i = 0; i < 17000; i++) {
		memcpy(fh.data + 4, &i, sizeof(i));
		write_stable(&fh);
	}
	ck_assert_uint_le(engine_file_count(engine), 16384);
	ck_assert_uint_gt(engine_file_count(engine), 16000);
	/* the first is forgotten, so its COMMIT goes upstream; the last is known */
	commit_with(1, .fh = &fh);
	expect("c1 ");
	memset(fh.data + 4, 0, 4);
	commit_with(2, .fh = &fh);
	expect("x:C ");
	committed();
	expect("c2 ");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("engine");
	TCase *tcase = unit_case(suite, "whole");

	tcase_add_checked_fixture(tcase, engine_setup, engine_teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, p3_one_verifier_in_every_reply);
	tcase_add_test(tcase, p3_zero_is_no_verifier);
	tcase_add_test(tcase, p3_verifier_of_a_stable_reply_is_ignored);
	tcase_add_test(tcase, p4_overlapping_writes_go_one_after_the_other);
	tcase_add_test(tcase, p4_ranges_at_the_end_of_the_number_space);
	tcase_add_test(tcase, p4_write_beyond_the_number_space_breaks_nothing);
	tcase_add_test(tcase, p4_empty_write_waits_for_nobody_and_reaches_the_upstream);
	tcase_add_test(tcase, p4_refused_or_failed_write_lets_the_next_one_go);
	tcase_add_test(tcase, p2_stable_write_waits_for_stability_as_asked);
	tcase_add_test(tcase, answers_may_call_the_engine);
	tcase_add_test(tcase, barrier_may_be_done_from_inside_pass);
	tcase_add_test(tcase, free_with_everything_inside);
	tcase_add_test(tcase, drain_writes_and_commits_everything);
	tcase_add_test(tcase, drain_goes_on_after_jukebox);
	tcase_add_test(tcase, i11_records_are_bounded_and_an_unknown_file_is_asked_for);
	return unit_run(suite);
}
