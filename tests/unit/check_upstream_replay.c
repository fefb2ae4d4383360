/*
 * Errors of calls that we sent a second time ourselves: when they become success.
 * The peer drops the connection at the first sending, then plays a server that had
 * executed the call.
 */
#include <string.h>

#include "unit/check_upstream_peer.h"
#include "unit/unit.h"
#include "wire/nfs3_result.h"

enum {
	SEEN_S = 1000,	/* newest ctime the peer shows at first */
	FIRST_S = 1010, /* ten seconds later by our clock the call is sent */
	FILE_ID = 500,
};

struct script {
	uint32_t proc; /* the call under test */
	struct bytes failure;
	uint32_t look_proc;
	struct bytes look;
	unsigned int sendings;
	unsigned int looks;
};

static void play(struct peer *peer, struct peer_call *call, void *arg)
{
	struct script *script = arg;

	(void)peer;
	if (call->proc == script->look_proc && script->sendings == 2) {
		script->looks++;
		peer_reply(call, script->look.data, script->look.len);
	} else if (call->proc == script->proc) {
		script->sendings++;
		if (script->sendings == 1)
			peer_hang_up(call->conn);
		else
			peer_reply(call, script->failure.data, script->failure.len);
	} else {
		struct bytes results = { .len = 0 };

		ck_assert_uint_eq(call->proc, NFS3_PROC_WRITE);
		put_small_write_ok(&results, SEEN_S);
		peer_reply(call, results.data, results.len);
	}
}

/* Shows the upstream's clock, lets ten seconds pass, runs the call. */
static struct sent *run_script(struct bench *bench, struct script *script,
			       const struct bytes *args, bool clock_known)
{
	struct bytes write = { .len = 0 };
	struct sent *sent;

	bench->peer->on_call = play;
	bench->peer->arg = script;
	bench_start(bench);
	if (clock_known) {
		put_small_write(&write);
		sent = sent_new(bench, PROGRAM_NFS, 3, NFS3_PROC_WRITE, write.data,
				write.len);
		sent_submit(sent);
		bench_until_done(bench, 1);
		sent_free(sent);
	}
	bench->clock.now += (mono_us)(FIRST_S - SEEN_S) * 1000000;
	sent = sent_new(bench, PROGRAM_NFS, 3, script->proc, args->data, args->len);
	sent_submit(sent);
	bench_until_done(bench, clock_known ? 2 : 1);
	ck_assert_int_eq(sent->request.outcome, UPSTREAM_ANSWERED);
	ck_assert_uint_eq(sent->request.sent_count, 2);
	ck_assert_uint_eq(script->sendings, 2);
	return sent;
}

static void check_results(const struct sent *sent, const struct bytes *results)
{
	ck_assert_uint_eq(sent->request.results->len_bytes, results->len);
	ck_assert_int_eq(memcmp(buf_start(sent->request.results), results->data,
				results->len),
			 0);
}

static void put_dirop(struct bytes *args)
{
	put_fh(args, 8, 36);
	put_text(args, "a name");
}

static void put_sattr_none(struct bytes *args)
{
	unsigned int i;

	for (i = 0; i < 6; i++)
		put_u32(args, 0);
}

/* --- REMOVE, RMDIR --- */

static void check_removed(uint32_t proc, uint32_t status, uint32_t expected)
{
	struct bench *bench = bench_new();
	struct script script = { .proc = proc, .look_proc = UINT32_MAX };
	struct bytes args = { .len = 0 };
	struct bytes expected_results = { .len = 0 };
	struct sent *sent;

	put_dirop(&args);
	put_u32(&script.failure, status);
	put_wcc(&script.failure, 1011);
	put_u32(&expected_results, expected);
	put_wcc(&expected_results, 1011);
	sent = run_script(bench, &script, &args, true);
	check_results(sent, &expected_results);
	sent_free(sent);
	bench_free(bench);
}

START_TEST(remove_of_what_is_gone)
{
	check_removed(NFS3_PROC_REMOVE, NFS3ERR_NOENT, NFS3_OK);
	check_removed(NFS3_PROC_RMDIR, NFS3ERR_NOENT, NFS3_OK);
}
END_TEST

START_TEST(other_errors_of_remove_stand)
{
	check_removed(NFS3_PROC_REMOVE, NFS3ERR_ACCES, NFS3ERR_ACCES);
	check_removed(NFS3_PROC_RMDIR, NFS3ERR_NOTEMPTY, NFS3ERR_NOTEMPTY);
}
END_TEST

START_TEST(an_error_of_the_first_sending_stands)
{
	struct bench *bench = bench_new();
	struct bytes args = { .len = 0 };
	struct bytes failure = { .len = 0 };
	struct sent *sent;

	put_dirop(&args);
	put_u32(&failure, NFS3ERR_NOENT);
	put_wcc(&failure, 100);
	bench_start(bench);
	sent = sent_new(bench, PROGRAM_NFS, 3, NFS3_PROC_REMOVE, args.data, args.len);
	sent_submit(sent);
	bench_until_calls(bench, 1);
	peer_reply(&bench->peer->call[0], failure.data, failure.len);
	bench_until_done(bench, 1);
	check_results(sent, &failure);
	sent_free(sent);
	bench_free(bench);
}
END_TEST

/* --- RENAME --- */

static void check_renamed(uint32_t look_status, uint32_t expected)
{
	struct bench *bench = bench_new();
	struct script script = { .proc = NFS3_PROC_RENAME,
				 .look_proc = NFS3_PROC_LOOKUP };
	struct bytes args = { .len = 0 };
	struct bytes expected_results = { .len = 0 };
	const struct peer_call *look;
	struct bytes target = { .len = 0 };
	struct sent *sent;

	put_fh(&args, 8, 36);
	put_text(&args, "old");
	put_fh(&target, 9, 64);
	put_text(&target, "new");
	put_fixed(&args, target.data, target.len);
	put_u32(&script.failure, NFS3ERR_NOENT);
	put_wcc(&script.failure, 1011);
	put_wcc(&script.failure, 1012);
	put_u32(&expected_results, expected);
	put_wcc(&expected_results, 1011);
	put_wcc(&expected_results, 1012);
	put_u32(&script.look, look_status);
	if (look_status == NFS3_OK) {
		put_fh(&script.look, 5, 64);
		put_u32(&script.look, 0);
	}
	put_u32(&script.look, 0);
	sent = run_script(bench, &script, &args, true);
	ck_assert_uint_eq(script.looks, 1);
	look = &bench->peer->call[bench->peer->call_count - 1];
	ck_assert_uint_eq(look->args_len, target.len);
	ck_assert_int_eq(memcmp(look->args, target.data, target.len), 0);
	ck_assert_uint_eq(look->cred_len, sent->cred.body_len);
	ck_assert_int_eq(memcmp(look->cred, sent->cred.body, look->cred_len), 0);
	check_results(sent, &expected_results);
	sent_free(sent);
	bench_free(bench);
}

START_TEST(rename_whose_target_is_there)
{
	check_renamed(NFS3_OK, NFS3_OK);
}
END_TEST

START_TEST(rename_whose_target_is_not)
{
	check_renamed(NFS3ERR_NOENT, NFS3ERR_NOENT);
	check_renamed(NFS3ERR_STALE, NFS3ERR_NOENT);
}
END_TEST

/* --- CREATE, MKDIR, SYMLINK, MKNOD --- */

struct creation {
	uint32_t proc;
	uint32_t type;
	void (*put_rest)(struct bytes *args);
};

static void rest_guarded(struct bytes *args)
{
	put_u32(args, NFS3_GUARDED);
	put_sattr_none(args);
}

static void rest_unchecked(struct bytes *args)
{
	put_u32(args, NFS3_UNCHECKED);
	put_sattr_none(args);
}

static void rest_exclusive(struct bytes *args)
{
	put_u32(args, NFS3_EXCLUSIVE);
	put_u64(args, 1);
}

static void rest_symlink(struct bytes *args)
{
	put_sattr_none(args);
	put_text(args, "elsewhere");
}

static void rest_mknod(struct bytes *args)
{
	put_u32(args, NFS3_SOCK);
	put_sattr_none(args);
}

static const struct creation creations[] = {
	{ NFS3_PROC_CREATE, NFS3_REG, rest_guarded },
	{ NFS3_PROC_MKDIR, NFS3_DIR, put_sattr_none },
	{ NFS3_PROC_SYMLINK, NFS3_LNK, rest_symlink },
	{ NFS3_PROC_MKNOD, NFS3_SOCK, rest_mknod },
};
enum { CREATION_COUNT = sizeof(creations) / sizeof(creations[0]) };

struct found {
	uint32_t type;
	uint32_t ctime_s;
	uint32_t ctime_ns;
	bool no_attr;
	bool no_clock;
};

static void check_created(const struct creation *creation, const struct found *found,
			  bool is_ours)
{
	struct bench *bench = bench_new();
	struct script script = { .proc = creation->proc,
				 .look_proc = NFS3_PROC_LOOKUP };
	struct bytes args = { .len = 0 };
	struct bytes expected = { .len = 0 };
	struct sent *sent;

	put_dirop(&args);
	creation->put_rest(&args);
	put_u32(&script.failure, NFS3ERR_EXIST);
	put_wcc(&script.failure, 900);
	put_u32(&script.look, NFS3_OK);
	put_fh(&script.look, 5, 63);
	put_u32(&script.look, found->no_attr ? 0 : 1);
	if (!found->no_attr)
		put_attr(&script.look, found->type, FILE_ID, found->ctime_s,
			 found->ctime_ns);
	put_u32(&script.look, 0);
	if (is_ours) {
		put_u32(&expected, NFS3_OK);
		put_u32(&expected, 1);
		put_fh(&expected, 5, 63);
		put_u32(&expected, 1);
		put_attr(&expected, found->type, FILE_ID, found->ctime_s,
			 found->ctime_ns);
		put_wcc(&expected, 900);
	} else {
		expected = script.failure;
	}
	sent = run_script(bench, &script, &args, !found->no_clock);
	ck_assert_uint_eq(script.looks, 1);
	check_results(sent, &expected);
	sent_free(sent);
	bench_free(bench);
}

START_TEST(creation_of_what_is_there_since_then)
{
	const struct creation *creation = &creations[_i];
	struct found found = { .type = creation->type };

	found.ctime_s = FIRST_S;
	found.ctime_ns = 5; /* where the estimate is, to the nanosecond */
	check_created(creation, &found, true);
	found.ctime_s = FIRST_S + 100;
	check_created(creation, &found, true);
	/* stamped with the clock tick before */
	found.ctime_s = FIRST_S - 1;
	found.ctime_ns = 990000000;
	check_created(creation, &found, true);
	/* whole seconds only */
	found.ctime_s = FIRST_S;
	found.ctime_ns = 0;
	check_created(creation, &found, true);
}
END_TEST

START_TEST(creation_of_what_was_there_before)
{
	const struct creation *creation = &creations[_i];
	struct found found = { .type = creation->type };

	found.ctime_s = FIRST_S - 1;
	found.ctime_ns = 900000000;
	check_created(creation, &found, false);
	found.ctime_ns = 0;
	check_created(creation, &found, false);
}
END_TEST

START_TEST(creation_of_what_cannot_be_told)
{
	const struct creation *creation = &creations[_i];
	struct found found = { .type = NFS3_FIFO, .ctime_s = FIRST_S + 1 };

	check_created(creation, &found, false);
	found.type = creation->type;
	found.no_attr = true;
	check_created(creation, &found, false);
	found.no_attr = false;
	found.no_clock = true;
	check_created(creation, &found, false);
}
END_TEST

static void check_created_unseen(void (*put_rest)(struct bytes *args))
{
	struct bench *bench = bench_new();
	struct script script = { .proc = NFS3_PROC_CREATE,
				 .look_proc = NFS3_PROC_LOOKUP };
	struct bytes args = { .len = 0 };
	struct sent *sent;

	put_dirop(&args);
	put_rest(&args);
	put_u32(&script.failure, NFS3ERR_EXIST);
	put_wcc(&script.failure, 900);
	sent = run_script(bench, &script, &args, true);
	ck_assert_uint_eq(script.looks, 0);
	check_results(sent, &script.failure);
	sent_free(sent);
	bench_free(bench);
}

START_TEST(other_modes_of_create_are_taken_at_their_word)
{
	check_created_unseen(rest_unchecked);
	check_created_unseen(rest_exclusive);
}
END_TEST

/* The verifier of an EXCLUSIVE CREATE lies in the times of the file. */
START_TEST(exclusive_create_does_not_set_the_clock)
{
	struct bench *bench = bench_new();
	struct bytes args = { .len = 0 };
	struct bytes results = { .len = 0 };
	struct sent *sent;

	bench_start(bench);
	put_dirop(&args);
	rest_exclusive(&args);
	put_u32(&results, NFS3_OK);
	put_u32(&results, 0);
	put_post_attr(&results, NFS3_REG, FILE_ID, 0xfffffff0u);
	put_no_wcc(&results);
	sent = sent_new(bench, PROGRAM_NFS, 3, NFS3_PROC_CREATE, args.data, args.len);
	sent_submit(sent);
	bench_until_calls(bench, 1);
	peer_reply(&bench->peer->call[0], results.data, results.len);
	bench_until_done(bench, 1);
	sent_free(sent);
	sent = send_getattr(bench, 1);
	bench_until_calls(bench, 2);
	ck_assert_uint_eq(sent->request.first_sent_upstream_ns, 0);
	results.len = 0;
	put_u32(&results, NFS3_OK);
	put_attr(&results, NFS3_REG, FILE_ID, SEEN_S, 7);
	peer_reply(&bench->peer->call[1], results.data, results.len);
	bench_until_done(bench, 2);
	sent_free(sent);
	args.len = 0;
	put_small_write(&args);
	sent = sent_new(bench, PROGRAM_NFS, 3, NFS3_PROC_WRITE, args.data, args.len);
	sent_submit(sent);
	bench_until_calls(bench, 3);
	/* a file that was changed long ago says nothing about now */
	ck_assert_uint_eq(sent->request.first_sent_upstream_ns, 0);
	results.len = 0;
	put_small_write_ok(&results, SEEN_S);
	peer_reply(&bench->peer->call[2], results.data, results.len);
	bench_until_done(bench, 3);
	sent_free(sent);
	bench->clock.now += 1500000;
	sent = send_getattr(bench, 1);
	bench_until_calls(bench, 4);
	ck_assert_uint_eq(sent->request.first_sent_upstream_ns,
			  SEEN_S * 1000000000ull + 5 + 1500000000ull);
	results.len = 0;
	put_getattr_ok(&results, 1);
	peer_reply(&bench->peer->call[3], results.data, results.len);
	bench_until_done(bench, 4);
	sent_free(sent);
	bench_free(bench);
}
END_TEST

/* --- LINK --- */

static void check_linked(bool file_attr, uint64_t fileid, uint32_t fh, uint32_t ctime_s,
			 bool is_ours)
{
	struct bench *bench = bench_new();
	struct script script = { .proc = NFS3_PROC_LINK,
				 .look_proc = NFS3_PROC_LOOKUP };
	struct bytes args = { .len = 0 };
	struct bytes expected;
	struct sent *sent;

	put_fh(&args, 77, 64);
	put_dirop(&args);
	put_u32(&script.failure, NFS3ERR_EXIST);
	if (file_attr)
		put_post_attr(&script.failure, NFS3_REG, FILE_ID, 1011);
	else
		put_u32(&script.failure, 0);
	put_wcc(&script.failure, 900);
	put_u32(&script.look, NFS3_OK);
	put_fh(&script.look, fh, 64);
	put_post_attr(&script.look, NFS3_REG, fileid, ctime_s);
	put_u32(&script.look, 0);
	expected = script.failure;
	if (is_ours)
		memset(expected.data, 0, 4);
	sent = run_script(bench, &script, &args, true);
	ck_assert_uint_eq(script.looks, 1);
	check_results(sent, &expected);
	sent_free(sent);
	bench_free(bench);
}

START_TEST(link_to_a_name_that_is_there)
{
	check_linked(true, FILE_ID, 5, FIRST_S, true);
	check_linked(true, FILE_ID, 5, FIRST_S - 1, false);
	check_linked(true, FILE_ID + 1, 77, FIRST_S, false);
	check_linked(false, FILE_ID, 77, FIRST_S, true);
	check_linked(false, FILE_ID, 5, FIRST_S, false);
}
END_TEST

/* --- SETATTR --- */

static void put_setattr(struct bytes *args, uint32_t mode, uint32_t uid, uint64_t size,
			uint32_t mtime_how, uint32_t mtime_s)
{
	put_fh(args, 77, 64);
	put_u32(args, 1);
	put_u32(args, mode);
	put_u32(args, 1);
	put_u32(args, uid);
	put_u32(args, 0);
	put_u32(args, 1);
	put_u64(args, size);
	put_u32(args, 0);
	put_u32(args, mtime_how);
	if (mtime_how == 2) {
		put_u32(args, mtime_s);
		put_u32(args, 14);
	}
	put_u32(args, 1);
	put_u32(args, 900);
	put_u32(args, 0);
}

/* put_attr() has mode 0644, uid 1001, size 0x0102030405060708, mtime 13.14 */
static void check_set(uint32_t mode, uint32_t uid, uint64_t size, uint32_t mtime_how,
		      uint32_t mtime_s, bool is_ours)
{
	struct bench *bench = bench_new();
	struct script script = { .proc = NFS3_PROC_SETATTR,
				 .look_proc = NFS3_PROC_GETATTR };
	struct bytes args = { .len = 0 };
	struct bytes expected;
	struct sent *sent;

	put_setattr(&args, mode, uid, size, mtime_how, mtime_s);
	put_u32(&script.failure, NFS3ERR_NOT_SYNC);
	put_wcc(&script.failure, 1011);
	put_u32(&script.look, NFS3_OK);
	put_attr(&script.look, NFS3_REG, FILE_ID, FIRST_S, 0);
	expected = script.failure;
	if (is_ours)
		memset(expected.data, 0, 4);
	sent = run_script(bench, &script, &args, true);
	ck_assert_uint_eq(script.looks, 1);
	check_results(sent, &expected);
	sent_free(sent);
	bench_free(bench);
}

START_TEST(setattr_whose_guard_no_longer_holds)
{
	const uint64_t size = 0x0102030405060708u;

	check_set(0644, 1001, size, 0, 0, true);
	check_set(0644, 1001, size, 2, 13, true);
	check_set(0600, 1001, size, 0, 0, false);
	check_set(0644, 1000, size, 0, 0, false);
	check_set(0644, 1001, size + 1, 0, 0, false);
	check_set(0644, 1001, size, 2, 14, false);
	check_set(0644, 1001, size, 1, 0, false); /* mtime is long ago */
}
END_TEST

/* --- the end in the middle of it --- */

START_TEST(the_end_during_the_second_look_cancels_the_call)
{
	struct bench *bench = bench_new();
	struct script script = { .proc = NFS3_PROC_RENAME, .look_proc = UINT32_MAX };
	struct bytes args = { .len = 0 };
	struct sent *sent;

	put_dirop(&args);
	put_dirop(&args);
	put_u32(&script.failure, NFS3ERR_NOENT);
	put_no_wcc(&script.failure);
	put_no_wcc(&script.failure);
	bench->peer->on_call = play;
	bench->peer->arg = &script;
	bench_start(bench);
	sent = sent_new(bench, PROGRAM_NFS, 3, NFS3_PROC_RENAME, args.data, args.len);
	sent_submit(sent);
	bench_until_calls(bench, 2);
	bench->peer->on_call = NULL;
	bench_until_calls(bench, 3);
	ck_assert_uint_eq(bench->peer->call[2].proc, NFS3_PROC_LOOKUP);
	upstream_libnfs_free(bench->upstream);
	bench->upstream = NULL;
	ck_assert_uint_eq(bench->done_count, 1);
	ck_assert_int_eq(sent->request.outcome, UPSTREAM_CANCELLED);
	sent_free(sent);
	bench_free(bench);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("upstream_replay");
	TCase *tcase = unit_case(suite, "replay");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, remove_of_what_is_gone);
	tcase_add_test(tcase, other_errors_of_remove_stand);
	tcase_add_test(tcase, an_error_of_the_first_sending_stands);
	tcase_add_test(tcase, rename_whose_target_is_there);
	tcase_add_test(tcase, rename_whose_target_is_not);
	tcase_add_loop_test(tcase, creation_of_what_is_there_since_then, 0,
			    CREATION_COUNT);
	tcase_add_loop_test(tcase, creation_of_what_was_there_before, 0,
			    CREATION_COUNT);
	tcase_add_loop_test(tcase, creation_of_what_cannot_be_told, 0, CREATION_COUNT);
	tcase_add_test(tcase, other_modes_of_create_are_taken_at_their_word);
	tcase_add_test(tcase, exclusive_create_does_not_set_the_clock);
	tcase_add_test(tcase, link_to_a_name_that_is_there);
	tcase_add_test(tcase, setattr_whose_guard_no_longer_holds);
	tcase_add_test(tcase, the_end_during_the_second_look_cancels_the_call);
	return unit_run(suite);
}
