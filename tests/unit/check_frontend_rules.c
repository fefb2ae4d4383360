/*
 * What the frontend allows, changes and passes on: access rules per connection and per
 * call, MOUNT against `exports`, results that must not pass as they are, and what becomes
 * of calls the upstream does not answer.
 */
#include "unit/unit.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "frontend/call_mount.h"
#include "unit/frontend_fixture.h"

#define MEMORY_BYTES ((uint64_t)64 << 20)
#define AUTH_TOOWEAK(xid) (xid), 1, 1, 1, 5

static struct test_call call;
static struct test_client client;

static void start(const char *clients)
{
	fixture_start(clients, NULL, 0, MEMORY_BYTES);
	client_open(&client);
}

static void stop(void)
{
	client_shut(&client);
	fixture_stop();
}

static void send_call(size_t len)
{
	client_send(&client, call.bytes, len);
}

static void send_mount(uint32_t xid, uint32_t proc, const char *path)
{
	call_begin(&call, xid, PROGRAM_MOUNT, 3, proc, "host");
	if (path)
		xdr_out_bytes(&call.out, path, (uint32_t)strlen(path));
	send_call(call_end(&call));
}

static void send_null(uint32_t xid)
{
	call_begin(&call, xid, PROGRAM_NFS, 3, NFS3_PROC_NULL, NULL);
	send_call(call_end(&call));
}

START_TEST(addresses_without_a_rule_are_refused_at_accept)
{
	struct test_client other;

	start("127.0.0.1(insecure)");
	client_open_from(&other, "127.0.0.2", false);
	client_expect_closed(&other);
	ck_assert_uint_eq(other.in_bytes, 0);
	ck_assert_uint_eq(fixture_stat(STAT_SESSIONS_REFUSED), 1);
	ck_assert_uint_eq(fixture_stat(STAT_SESSIONS_ACCEPTED), 1);
	send_null(1);
	CLIENT_EXPECT(&client, ACCEPTED(1));
	client_shut(&other);
	stop();
}
END_TEST

START_TEST(secure_refuses_calls_from_unprivileged_ports)
{
	start("127.0.0.1");
	send_call(call_make_fh(&call, 1, NFS3_PROC_GETATTR, "host"));
	CLIENT_EXPECT(&client, AUTH_TOOWEAK(1));
	send_call(call_make_write(&call, 2, 0, 10, 'x'));
	CLIENT_EXPECT(&client, AUTH_TOOWEAK(2));
	call_begin(&call, 3, PROGRAM_NFSACL, 3, NFSACL_PROC_GETACL, "host");
	xdr_out_bytes(&call.out, "handle-1", 8);
	xdr_out_u32(&call.out, 1);
	send_call(call_end(&call));
	CLIENT_EXPECT(&client, AUTH_TOOWEAK(3));
	send_mount(4, MOUNT_PROC_MNT, "/exp");
	CLIENT_EXPECT(&client, ACCEPTED(4), MNT3ERR_ACCES);
	ck_assert_uint_eq(fixture_stat(STAT_CALLS_DENIED), 4);
	ck_assert_uint_eq(fixture.upstream.count, 0);
	/* What showmount -e and a ping need is free. */
	send_null(5);
	CLIENT_EXPECT(&client, ACCEPTED(5));
	send_mount(6, MOUNT_PROC_EXPORT, NULL);
	fixture_run_until_submitted(1);
	UPSTREAM_ANSWER(0, 0);
	CLIENT_EXPECT(&client, ACCEPTED(6), 0);
	send_mount(7, MOUNT_PROC_DUMP, NULL);
	fixture_run_until_submitted(2);
	UPSTREAM_ANSWER(1, 0);
	CLIENT_EXPECT(&client, ACCEPTED(7), 0);
	stop();
}
END_TEST

START_TEST(secure_takes_privileged_ports)
{
	/* Root needs no leave to bind one; anybody else has none. */
	if (geteuid() != 0)
		return;
	fixture_start("127.0.0.1", NULL, 0, MEMORY_BYTES);
	client_open_from(&client, "127.0.0.1", true);
	send_call(call_make_fh(&call, 1, NFS3_PROC_GETATTR, "host"));
	fixture_run_until_submitted(1);
	UPSTREAM_ANSWER(0, NFS3ERR_STALE);
	CLIENT_EXPECT(&client, ACCEPTED(1), NFS3ERR_STALE);
	stop();
}
END_TEST

START_TEST(ro_refuses_what_modifies_and_hides_write_access)
{
	start("127.0.0.1(ro,insecure)");
	send_call(call_make_write(&call, 1, 0, 10, 'x'));
	CLIENT_EXPECT(&client, ACCEPTED(1), NFS3ERR_ROFS, 0, 0);
	send_call(call_make_remove(&call, 2, "host", "name"));
	CLIENT_EXPECT(&client, ACCEPTED(2), NFS3ERR_ROFS, 0, 0);
	ck_assert_uint_eq(fixture_stat(STAT_CALLS_DENIED), 2);
	ck_assert_uint_eq(fixture.upstream.count, 0);
	call_begin(&call, 3, PROGRAM_NFS, 3, NFS3_PROC_ACCESS, "host");
	xdr_out_bytes(&call.out, "handle-1", 8);
	xdr_out_u32(&call.out, 0x3f);
	send_call(call_end(&call));
	fixture_run_until_submitted(1);
	UPSTREAM_ANSWER(0, 0, 0, 0x3f);
	CLIENT_EXPECT(&client, ACCEPTED(3), 0, 0,
		      NFS3_ACCESS_READ | NFS3_ACCESS_LOOKUP | NFS3_ACCESS_EXECUTE);
	stop();
}
END_TEST

START_TEST(rw_passes_access_as_it_is)
{
	start("127.0.0.1(rw,insecure)");
	call_begin(&call, 3, PROGRAM_NFS, 3, NFS3_PROC_ACCESS, "host");
	xdr_out_bytes(&call.out, "handle-1", 8);
	xdr_out_u32(&call.out, 0x3f);
	send_call(call_end(&call));
	fixture_run_until_submitted(1);
	UPSTREAM_ANSWER(0, 0, 0, 0x3f);
	CLIENT_EXPECT(&client, ACCEPTED(3), 0, 0, 0x3f);
	stop();
}
END_TEST

START_TEST(squashed_ids_go_upstream)
{
	const struct rpc_cred *cred;

	start("127.0.0.1(insecure,root_squash)");
	send_call(call_make_fh(&call, 1, NFS3_PROC_GETATTR, "host"));
	fixture_run_until_submitted(1);
	cred = fixture.upstream.request[0]->cred;
	ck_assert_uint_eq(cred->uid, ACCESS_SQUASH_ID);
	ck_assert_uint_eq(cred->gid, ACCESS_SQUASH_ID);
	ck_assert_str_eq(cred->machine_name, "host");
	stop();
}
END_TEST

START_TEST(credentials_pass_byte_for_byte)
{
	/* stamp 9, name "ab", uid 5, gid 6, gids 7 8 */
	static const uint8_t body[] = { 0, 0, 0, 9, 0, 0, 0, 2, 'a', 'b', 0,
					0, 0, 0, 0, 5, 0, 0, 0, 6,   0,	  0,
					0, 2, 0, 0, 0, 7, 0, 0, 0,   8 };

	start("127.0.0.1(insecure)");
	call_begin_raw(&call, 1, 2, PROGRAM_NFS, 3, NFS3_PROC_GETATTR, RPC_AUTH_SYS,
		       body, sizeof(body));
	xdr_out_bytes(&call.out, "handle-1", 8);
	send_call(call_end(&call));
	fixture_run_until_submitted(1);
	ck_assert_uint_eq(fixture.upstream.request[0]->cred->body_len, sizeof(body));
	ck_assert_mem_eq(fixture.upstream.request[0]->cred->body, body, sizeof(body));
	stop();
}
END_TEST

START_TEST(paths_are_inside_exports_by_component)
{
	static const struct {
		const char *path;
		bool inside;
	} paths[] = {
		{ "/exp", true },
		{ "/exp/", true },
		{ "//exp//sub", true },
		{ "/./exp/.", true },
		{ "/exp/sub/..", false },
		{ "/exp/../etc", false },
		{ "/..", false },
		{ "/exports", false },
		{ "/ex", false },
		{ "/", false },
		{ "", false },
		{ "exp", false },
		{ "/a/b", true },
		{ "/a/b/c", true },
		{ "/a", false },
		{ "/a/bc", false },
		{ "/a//b/", true },
		{ "/exp/..x", true },
		{ "/exp/...", true },
	};
	static const char *const exports[] = { "/exp", "/a/b" };
	static const char *const all[] = { "/" };
	size_t i;

	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		ck_assert_msg(mount_path_is_inside(paths[i].path, strlen(paths[i].path),
						   exports, 2) == paths[i].inside,
			      "\"%s\"", paths[i].path);
	ck_assert(!mount_path_is_inside("/exp\0/x", 7, exports, 2));
	ck_assert(!mount_path_is_inside("/exp/a\0b", 8, exports, 2));
	ck_assert(mount_path_is_inside("/etc", 4, all, 1));
	ck_assert(!mount_path_is_inside("/etc", 4, exports, 0));
}
END_TEST

/* MNT OK: status, handle "abcd", flavors AUTH_GSS krb5 (390003) and AUTH_SYS. */
#define MNT_OK 0, 4, 0x61626364, 2, 390003, 1
#define MNT_OK_SYS 0, 4, 0x61626364, 1, 1

START_TEST(mounts_are_limited_to_exports)
{
	static const char *const exports[] = { "/exp", "/other/dir" };
	const struct nfs3_bytes *path;

	fixture_start("127.0.0.1(insecure)", exports, 2, MEMORY_BYTES);
	client_open(&client);
	send_mount(1, MOUNT_PROC_MNT, "/etc");
	CLIENT_EXPECT(&client, ACCEPTED(1), MNT3ERR_ACCES);
	send_mount(2, MOUNT_PROC_MNT, "/exp/../etc");
	CLIENT_EXPECT(&client, ACCEPTED(2), MNT3ERR_ACCES);
	ck_assert_uint_eq(fixture_stat(STAT_CALLS_DENIED), 2);
	ck_assert_uint_eq(fixture.upstream.count, 0);
	/* Forwarded as the client sent it. */
	send_mount(3, MOUNT_PROC_MNT, "//exp/sub/");
	fixture_run_until_submitted(1);
	path = &fixture.upstream.request[0]->call->args.mount_path;
	ck_assert_uint_eq(path->len, 10);
	ck_assert_mem_eq(path->data, "//exp/sub/", 10);
	UPSTREAM_ANSWER(0, MNT_OK);
	CLIENT_EXPECT(&client, ACCEPTED(3), MNT_OK_SYS);
	send_mount(4, MOUNT_PROC_MNT, "/exp/none");
	fixture_run_until_submitted(2);
	UPSTREAM_ANSWER(1, 2);
	CLIENT_EXPECT(&client, ACCEPTED(4), 2);
	stop();
}
END_TEST

START_TEST(exports_are_listed_as_far_as_they_may_be_mounted)
{
	static const char *const exports[] = { "/exp" };

	fixture_start("127.0.0.1(insecure)", exports, 1, MEMORY_BYTES);
	client_open(&client);
	send_mount(1, MOUNT_PROC_EXPORT, NULL);
	fixture_run_until_submitted(1);
	/* "/exp" for group "*", "/etc" for nobody in particular, "/exp" + "/a" */
	UPSTREAM_ANSWER(0, 1, 4, 0x2f657870, 1, 1, 0x2a000000, 0, 1, 4, 0x2f657463, 0,
			1, 6, 0x2f657870, 0x2f610000, 0, 0);
	CLIENT_EXPECT(&client, ACCEPTED(1), 1, 4, 0x2f657870, 1, 1, 0x2a000000, 0, 1, 6,
		      0x2f657870, 0x2f610000, 0, 0);
	stop();
}
END_TEST

START_TEST(umntall_is_answered_here_and_umnt_goes_on)
{
	start("127.0.0.1(insecure)");
	send_mount(1, MOUNT_PROC_UMNTALL, NULL);
	CLIENT_EXPECT(&client, ACCEPTED(1));
	ck_assert_uint_eq(fixture.upstream.count, 0);
	send_mount(2, MOUNT_PROC_UMNT, "/anything");
	fixture_run_until_submitted(1);
	upstream_answer_bytes(0, "", 0);
	CLIENT_EXPECT(&client, ACCEPTED(2));
	stop();
}
END_TEST

#define FSINFO_RESULTS(rtmax, rtpref, wtmax)                                           \
	0, 0, (rtmax), (rtpref), 4096, (wtmax), 65536, 4096, 8192, 0x7fff, 0xffffffff, \
		0, 1, 0x1b

START_TEST(read_sizes_are_capped_and_write_sizes_raise_the_record_limit)
{
	const uint32_t mib = 1024 * 1024;
	size_t len;

	start("127.0.0.1(insecure)");
	fixture.upstream.wtmax_bytes = 65536;
	send_call(call_make_fh(&call, 1, NFS3_PROC_FSINFO, "host"));
	fixture_run_until_submitted(1);
	UPSTREAM_ANSWER(0, FSINFO_RESULTS(4 * mib, 2 * mib, mib + 8192));
	CLIENT_EXPECT(&client, ACCEPTED(1), FSINFO_RESULTS(mib, mib, mib + 8192));
	len = call_make_write(&call, 2, 0, mib + 8192, 'x');
	send_call(len);
	fixture_run_until_submitted(2);
	UPSTREAM_ANSWER(1, 0, 0, 0, mib + 8192, 0, THEIR_VERIFIER);
	CLIENT_EXPECT(&client, ACCEPTED(2), 0, 0, 0, mib + 8192, 0, OUR_VERIFIER);
	len = call_make_write(&call, 3, 0, mib + 16384, 'x');
	send_call(100);
	client_expect_closed(&client);
	ck_assert_uint_eq(fixture_stat(STAT_RECORDS_MALFORMED), 1);
	(void)len;
	stop();
}
END_TEST

START_TEST(a_file_system_with_small_writes_does_not_lower_the_limit_of_others)
{
	start("127.0.0.1(insecure)");
	fixture.upstream.wtmax_bytes = 8192;
	send_call(call_make_write(&call, 2, 0, 1024 * 1024, 'x'));
	fixture_run_until_submitted(1);
	stop();
}
END_TEST

/* What the client gets for each thing the upstream may do to a call. */
static const struct {
	enum upstream_outcome outcome;
	uint32_t words[8];
	size_t count;
} refusals[] = {
	{ UPSTREAM_PROG_UNAVAIL, { 1, 1, 0, 0, 0, 1 }, 6 },
	{ UPSTREAM_PROG_MISMATCH, { 1, 1, 0, 0, 0, 2, 3, 3 }, 8 },
	{ UPSTREAM_PROC_UNAVAIL, { 1, 1, 0, 0, 0, 3 }, 6 },
	{ UPSTREAM_GARBAGE_ARGS, { 1, 1, 0, 0, 0, 4 }, 6 },
	{ UPSTREAM_SYSTEM_ERR, { 1, 1, 0, 0, 0, 5 }, 6 },
	{ UPSTREAM_DENIED, { 1, 1, 1, 1, 5 }, 5 },
};

static size_t make_call(size_t kind)
{
	switch (kind) {
	case 0:
		return call_make_fh(&call, 1, NFS3_PROC_GETATTR, "host");
	case 1:
		return call_make_write(&call, 1, 0, 10, 'x');
	case 2:
		return call_make_commit(&call, 1);
	case 3: /* SETATTR of the size, no guard */
		call_begin(&call, 1, PROGRAM_NFS, 3, NFS3_PROC_SETATTR, "host");
		xdr_out_bytes(&call.out, "handle-1", 8);
		xdr_out_u32(&call.out, 0);
		xdr_out_u32(&call.out, 0);
		xdr_out_u32(&call.out, 0);
		xdr_out_u32(&call.out, 1);
		xdr_out_u64(&call.out, 4096);
		xdr_out_u32(&call.out, 0);
		xdr_out_u32(&call.out, 0);
		xdr_out_u32(&call.out, 0);
		return call_end(&call);
	default:
		call_begin(&call, 1, PROGRAM_MOUNT, 3, MOUNT_PROC_MNT, "host");
		xdr_out_bytes(&call.out, "/exp", 4);
		return call_end(&call);
	}
}

enum { CALL_KINDS = 5 };

START_TEST(refusals_of_the_upstream_are_passed_on)
{
	size_t i;

	for (i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		start("127.0.0.1(insecure)");
		send_call(make_call((size_t)_i));
		fixture_run_until_submitted(1);
		upstream_refuse(0, refusals[i].outcome);
		client_expect_words(&client, refusals[i].words, refusals[i].count);
		/* The next call of the file is not stuck behind it. */
		send_call(call_make_write(&call, 2, 0, 10, 'y'));
		fixture_run_until_submitted(2);
		stop();
	}
}
END_TEST

START_TEST(results_that_do_not_decode_are_a_system_error)
{
	start("127.0.0.1(insecure)");
	send_call(call_make_write(&call, 1, 0, 10, 'x'));
	fixture_run_until_submitted(1);
	UPSTREAM_ANSWER(0, 0, 0, 0, 10); /* cut off */
	CLIENT_EXPECT(&client, 1, 1, 0, 0, 0, 5);
	send_call(call_make_commit(&call, 2));
	fixture_run_until_submitted(2);
	UPSTREAM_ANSWER(1, 0, 7);
	CLIENT_EXPECT(&client, 2, 1, 0, 0, 0, 5);
	stop();
}
END_TEST

static size_t make_stable_write(uint32_t xid)
{
	call_begin(&call, xid, PROGRAM_NFS, 3, NFS3_PROC_WRITE, "host");
	xdr_out_bytes(&call.out, "handle-1", 8);
	xdr_out_u64(&call.out, 0);
	xdr_out_u32(&call.out, 4);
	xdr_out_u32(&call.out, NFS3_FILE_SYNC);
	xdr_out_bytes(&call.out, "data", 4);
	return call_end(&call);
}

START_TEST(a_stable_write_that_came_back_unstable_is_proven_by_a_commit)
{
	const struct nfs_call *proof;

	start("127.0.0.1(insecure)");
	send_call(make_stable_write(1));
	fixture_run_until_submitted(1);
	UPSTREAM_ANSWER(0, 0, 0, 0, 4, NFS3_UNSTABLE, THEIR_VERIFIER);
	fixture_run_until_submitted(2);
	client_expect_nothing(&client);
	proof = fixture.upstream.request[1]->call;
	ck_assert_uint_eq(proof->proc, NFS3_PROC_COMMIT);
	ck_assert_mem_eq(proof->args.commit.fh.data, "handle-1", 8);
	ck_assert_uint_eq(proof->args.commit.count, 0);
	UPSTREAM_ANSWER(1, 0, 0, 0, THEIR_VERIFIER);
	CLIENT_EXPECT(&client, ACCEPTED(1), 0, 0, 0, 4, NFS3_FILE_SYNC, OUR_VERIFIER);
	ck_assert_uint_eq(fixture_stat(STAT_CLIENT_FORCED_WRITES), 1);
	ck_assert_uint_eq(fixture_stat(STAT_CLIENT_WRITES_STABLE), 1);
	stop();
}
END_TEST

START_TEST(size_changes_take_their_turn_among_writes)
{
	start("127.0.0.1(insecure)");
	send_call(call_make_write(&call, 1, 8192, 10, 'x'));
	send_call(make_call(3));
	send_call(call_make_write(&call, 3, 8192, 10, 'y'));
	fixture_run_until_submitted(1);
	UPSTREAM_ANSWER(0, 0, 0, 0, 10, 0, THEIR_VERIFIER);
	fixture_run_until_submitted(2);
	ck_assert_uint_eq(fixture.upstream.request[1]->call->proc, NFS3_PROC_SETATTR);
	UPSTREAM_ANSWER(1, 0, 0, 0);
	fixture_run_until_submitted(3);
	ck_assert_uint_eq(fixture.upstream.request[2]->call->proc, NFS3_PROC_WRITE);
	stop();
}
END_TEST

static bool listener_has_refused(const void *arg)
{
	(void)arg;
	return fixture_stat(STAT_SESSIONS_REFUSED) > 0;
}

START_TEST(running_out_of_descriptors_refuses_and_recovers)
{
	struct rlimit limit;
	struct rlimit low;
	struct test_client late;
	int top;

	if (getenv("UNDER_VALGRIND") != NULL)
		return; /* it has descriptors of its own, and its own idea of the limit */
	start("127.0.0.1(insecure)");
	memset(&late, 0, sizeof(late));
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	/* Room for the client's own socket, and none for its other end. */
	top = dup(0);
	ck_assert_int_ge(top, 0);
	close(top);
	low = (struct rlimit){ (rlim_t)top + 1, limit.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
	client_open(&late);
	fixture_run_until(listener_has_refused, NULL);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	client_expect_closed(&late);
	client_shut(&late);
	client_open(&late);
	call_begin(&call, 1, PROGRAM_NFS, 3, NFS3_PROC_NULL, NULL);
	client_send(&late, call.bytes, call_end(&call));
	CLIENT_EXPECT(&late, ACCEPTED(1));
	client_shut(&late);
	stop();
}
END_TEST

START_TEST(sessions_outlive_their_listener)
{
	start("127.0.0.1(insecure)");
	frontend_stop_listening(fixture.frontend);
	send_null(1);
	CLIENT_EXPECT(&client, ACCEPTED(1));
	stop();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("frontend rules");
	TCase *access = unit_case(suite, "access");
	TCase *mount = unit_case(suite, "mount");
	TCase *results = unit_case(suite, "results");
	TCase *listener = unit_case(suite, "listener");

	tcase_add_test(access, addresses_without_a_rule_are_refused_at_accept);
	tcase_add_test(access, secure_refuses_calls_from_unprivileged_ports);
	tcase_add_test(access, secure_takes_privileged_ports);
	tcase_add_test(access, ro_refuses_what_modifies_and_hides_write_access);
	tcase_add_test(access, rw_passes_access_as_it_is);
	tcase_add_test(access, squashed_ids_go_upstream);
	tcase_add_test(access, credentials_pass_byte_for_byte);
	tcase_add_test(mount, paths_are_inside_exports_by_component);
	tcase_add_test(mount, mounts_are_limited_to_exports);
	tcase_add_test(mount, exports_are_listed_as_far_as_they_may_be_mounted);
	tcase_add_test(mount, umntall_is_answered_here_and_umnt_goes_on);
	tcase_add_test(results,
		       read_sizes_are_capped_and_write_sizes_raise_the_record_limit);
	tcase_add_test(
		results,
		a_file_system_with_small_writes_does_not_lower_the_limit_of_others);
	tcase_add_loop_test(results, refusals_of_the_upstream_are_passed_on, 0,
			    CALL_KINDS);
	tcase_add_test(results, results_that_do_not_decode_are_a_system_error);
	tcase_add_test(results,
		       a_stable_write_that_came_back_unstable_is_proven_by_a_commit);
	tcase_add_test(results, size_changes_take_their_turn_among_writes);
	tcase_add_test(listener, running_out_of_descriptors_refuses_and_recovers);
	tcase_add_test(listener, sessions_outlive_their_listener);
	tcase_set_timeout(access, 60);
	tcase_set_timeout(mount, 60);
	tcase_set_timeout(results, 60);
	tcase_set_timeout(listener, 60);
	return unit_run(suite);
}
