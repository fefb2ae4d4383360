/*
 * Results against bytes made by hand: WRITE and COMMIT both ways, and every change that
 * is made to results on their way to the client.
 *
 * Not reached: the paths where memory is short.
 */
#include <errno.h>

#include "unit.h"
#include "wire/nfs3_result.h"
#include "wire/rpc_msg.h"
#include "wire_bytes.h"

enum { HEADROOM_BYTES = RPC_RECORD_MARK_BYTES + RPC_REPLY_HEADER_BYTES };

static struct wire_bytes bytes;

/* The first `len` bytes as an upstream hands them over. */
static struct buf *results_of(size_t len)
{
	struct buf *results = buf_new(HEADROOM_BYTES + len);

	results->off_bytes = HEADROOM_BYTES;
	results->len_bytes = len;
	memcpy(buf_start(results), bytes.data, len);
	return results;
}

/* Room for the header in front, and these bytes; gives the buffer back. */
static void expect_results(struct buf *results, const struct wire_bytes *want)
{
	ck_assert_ptr_nonnull(results);
	ck_assert_uint_ge(results->off_bytes, HEADROOM_BYTES);
	ck_assert_uint_eq(results->len_bytes, want->len);
	ck_assert_mem_eq(buf_start(results), want->data, want->len);
	rpc_reply_prepend(results, 1);
	buf_unref(results);
}

static const struct nfs3_attr some_attr = {
	.type = NFS3_REG,
	.mode = 0100640,
	.nlink = 2,
	.uid = 1000,
	.gid = 0xfffffffe,
	.size = 0x1122334455667788,
	.used = 4096,
	.rdev_major = 8,
	.rdev_minor = 1,
	.fsid = 0xfedcba9876543210,
	.fileid = 0x8000000000000000,
	.atime = { 1, 2 },
	.mtime = { 3, 4 },
	.ctime = { 5, 999999999 },
};

static void put_some_attr(void)
{
	static const uint32_t before_size[] = { 1, 0100640, 2, 1000, 0xfffffffe };
	static const uint32_t times[] = { 1, 2, 3, 4, 5, 999999999 };

	for (size_t i = 0; i < 5; i++)
		wire_put_u32(&bytes, before_size[i]);
	wire_put_u64(&bytes, 0x1122334455667788);
	wire_put_u64(&bytes, 4096);
	wire_put_u32(&bytes, 8);
	wire_put_u32(&bytes, 1);
	wire_put_u64(&bytes, 0xfedcba9876543210);
	wire_put_u64(&bytes, 0x8000000000000000);
	for (size_t i = 0; i < 6; i++)
		wire_put_u32(&bytes, times[i]);
}

/* Bit 0 of `parts`: attributes before; bit 1: after. */
static struct nfs3_wcc put_wcc(int parts)
{
	struct nfs3_wcc wcc = { 0 };

	wire_put_u32(&bytes, (uint32_t)parts & 1);
	if (parts & 1) {
		wcc.has_before = true;
		wcc.before.size = 0x0102030405060708;
		wcc.before.mtime = (struct nfs3_time){ 10, 11 };
		wcc.before.ctime = (struct nfs3_time){ 12, 13 };
		wire_put_u64(&bytes, 0x0102030405060708);
		wire_put_u64(&bytes, 0x0000000a0000000b);
		wire_put_u64(&bytes, 0x0000000c0000000d);
	}
	wire_put_u32(&bytes, (uint32_t)parts >> 1);
	if (parts >> 1) {
		wcc.has_after = true;
		wcc.after = some_attr;
		put_some_attr();
	}
	return wcc;
}

static void expect_wcc(const struct nfs3_wcc *wcc, const struct nfs3_wcc *want)
{
	ck_assert_int_eq(wcc->has_before, want->has_before);
	ck_assert_uint_eq(wcc->before.size, want->before.size);
	ck_assert_mem_eq(&wcc->before.mtime, &want->before.mtime, 8);
	ck_assert_mem_eq(&wcc->before.ctime, &want->before.ctime, 8);
	ck_assert_int_eq(wcc->has_after, want->has_after);
	ck_assert_uint_eq(wcc->after.type, want->after.type);
	ck_assert_uint_eq(wcc->after.mode, want->after.mode);
	ck_assert_uint_eq(wcc->after.nlink, want->after.nlink);
	ck_assert_uint_eq(wcc->after.uid, want->after.uid);
	ck_assert_uint_eq(wcc->after.gid, want->after.gid);
	ck_assert_uint_eq(wcc->after.size, want->after.size);
	ck_assert_uint_eq(wcc->after.used, want->after.used);
	ck_assert_uint_eq(wcc->after.rdev_major, want->after.rdev_major);
	ck_assert_uint_eq(wcc->after.rdev_minor, want->after.rdev_minor);
	ck_assert_uint_eq(wcc->after.fsid, want->after.fsid);
	ck_assert_uint_eq(wcc->after.fileid, want->after.fileid);
	ck_assert_mem_eq(&wcc->after.atime, &want->after.atime, 8);
	ck_assert_mem_eq(&wcc->after.mtime, &want->after.mtime, 8);
	ck_assert_mem_eq(&wcc->after.ctime, &want->after.ctime, 8);
}

static int decode_write(struct engine_write_result *result, size_t len)
{
	struct buf *results = results_of(len);
	int err = nfs3_write_result_decode(result, results);

	buf_unref(results);
	return err;
}

static int decode_commit(struct engine_commit_result *result, size_t len)
{
	struct buf *results = results_of(len);
	int err = nfs3_commit_result_decode(result, results);

	buf_unref(results);
	return err;
}

/* Every combination of attributes (_i), OK: both ways, whole, and nothing else. */
START_TEST(write_ok)
{
	struct engine_write_result result;

	bytes.len = 0;
	wire_put_u32(&bytes, 0);
	struct nfs3_wcc wcc = put_wcc(_i);
	wire_put_u32(&bytes, 0x00100000);
	wire_put_u32(&bytes, NFS3_DATA_SYNC);
	wire_put_raw(&bytes, "\1\2\3\4\5\6\7\xff", 8);

	ck_assert_int_eq(decode_write(&result, bytes.len), 0);
	ck_assert_uint_eq(result.status, NFS3_OK);
	expect_wcc(&result.wcc, &wcc);
	ck_assert_uint_eq(result.count, 0x00100000);
	ck_assert_int_eq(result.committed, NFS3_DATA_SYNC);
	ck_assert_mem_eq(result.verifier.data, "\1\2\3\4\5\6\7\xff", 8);
	expect_results(nfs3_write_result_encode(&result), &bytes);

	for (size_t len = 0; len < bytes.len; len++)
		ck_assert_int_eq(decode_write(&result, len), -EBADMSG);
	for (size_t more = 1; more <= 4; more++)
		ck_assert_int_eq(decode_write(&result, bytes.len + more), -EBADMSG);
	bytes.data[bytes.len - 9] = 3;
	ck_assert_int_eq(decode_write(&result, bytes.len), -EBADMSG);
}
END_TEST

START_TEST(write_failure)
{
	static const uint32_t statuses[] = { NFS3ERR_NOSPC, NFS3ERR_JUKEBOX, 123456 };

	for (size_t i = 0; i < 3; i++) {
		struct engine_write_result result;

		bytes.len = 0;
		wire_put_u32(&bytes, statuses[i]);
		struct nfs3_wcc wcc = put_wcc(_i);
		ck_assert_int_eq(decode_write(&result, bytes.len), 0);
		ck_assert_uint_eq(result.status, statuses[i]);
		expect_wcc(&result.wcc, &wcc);
		ck_assert_uint_eq(result.count, 0);
		expect_results(nfs3_write_result_encode(&result), &bytes);
		for (size_t len = 0; len < bytes.len; len++)
			ck_assert_int_eq(decode_write(&result, len), -EBADMSG);
		ck_assert_int_eq(decode_write(&result, bytes.len + 4), -EBADMSG);
	}
}
END_TEST

START_TEST(commit_ok)
{
	struct engine_commit_result result;

	bytes.len = 0;
	wire_put_u32(&bytes, 0);
	struct nfs3_wcc wcc = put_wcc(_i);
	wire_put_raw(&bytes, "verifier", 8);

	ck_assert_int_eq(decode_commit(&result, bytes.len), 0);
	ck_assert_uint_eq(result.status, NFS3_OK);
	expect_wcc(&result.wcc, &wcc);
	ck_assert_mem_eq(result.verifier.data, "verifier", 8);
	expect_results(nfs3_commit_result_encode(&result), &bytes);
	for (size_t len = 0; len < bytes.len; len++)
		ck_assert_int_eq(decode_commit(&result, len), -EBADMSG);
	for (size_t more = 1; more <= 4; more++)
		ck_assert_int_eq(decode_commit(&result, bytes.len + more), -EBADMSG);
}
END_TEST

START_TEST(commit_failure)
{
	struct engine_commit_result result;

	bytes.len = 0;
	wire_put_u32(&bytes, NFS3ERR_IO);
	struct nfs3_wcc wcc = put_wcc(_i);
	ck_assert_int_eq(decode_commit(&result, bytes.len), 0);
	ck_assert_uint_eq(result.status, NFS3ERR_IO);
	expect_wcc(&result.wcc, &wcc);
	expect_results(nfs3_commit_result_encode(&result), &bytes);
	ck_assert_int_eq(decode_commit(&result, bytes.len + 4), -EBADMSG);
}
END_TEST

START_TEST(attribute_switches_are_bools)
{
	struct engine_write_result result;

	bytes.len = 0;
	wire_put_u32(&bytes, NFS3ERR_IO);
	wire_put_u32(&bytes, _i == 0 ? 2 : 0);
	wire_put_u32(&bytes, _i == 1 ? 2 : 0);
	ck_assert_int_eq(decode_write(&result, bytes.len), -EBADMSG);
}
END_TEST

START_TEST(failures_of_every_shape)
{
	static const struct {
		enum nfs_fail_shape shape;
		size_t absent_words;
	} rows[] = { { NFS_FAIL_STATUS, 0 },
		     { NFS_FAIL_ATTR, 1 },
		     { NFS_FAIL_WCC, 2 },
		     { NFS_FAIL_TWO_WCC, 4 },
		     { NFS_FAIL_ATTR_WCC, 3 } };

	bytes.len = 0;
	wire_put_u32(&bytes, NFS3ERR_ROFS);
	for (size_t i = 0; i < rows[_i].absent_words; i++)
		wire_put_u32(&bytes, 0);
	struct buf *results = nfs3_failure_encode(rows[_i].shape, NFS3ERR_ROFS);
	ck_assert_uint_eq(nfs3_result_status(results), NFS3ERR_ROFS);
	expect_results(results, &bytes);
}
END_TEST

START_TEST(void_results_are_empty)
{
	bytes.len = 0;
	struct buf *results = nfs3_void_encode();
	ck_assert_uint_eq(nfs3_result_status(results), NFS3ERR_SERVERFAULT);
	expect_results(results, &bytes);
}
END_TEST

START_TEST(status_needs_a_word)
{
	bytes.len = 0;
	wire_put_u32(&bytes, NFS3ERR_STALE);
	for (size_t len = 0; len <= 4; len++) {
		struct buf *results = results_of(len);

		ck_assert_uint_eq(nfs3_result_status(results),
				  len < 4 ? NFS3ERR_SERVERFAULT : NFS3ERR_STALE);
		buf_unref(results);
	}
}
END_TEST

/* Without attributes (_i = 0) and with. `sizes`: rtmax, rtpref, wtmax, wtpref. */
static void make_fsinfo(int has_attr, const uint32_t sizes[4])
{
	bytes.len = 0;
	wire_put_u32(&bytes, 0);
	wire_put_u32(&bytes, (uint32_t)has_attr);
	if (has_attr)
		put_some_attr();
	wire_put_u32(&bytes, sizes[0]);
	wire_put_u32(&bytes, sizes[1]);
	wire_put_u32(&bytes, 512);
	wire_put_u32(&bytes, sizes[2]);
	wire_put_u32(&bytes, sizes[3]);
	wire_put_u32(&bytes, 4096);
	wire_put_u32(&bytes, 65536);
	wire_put_u64(&bytes, 0x7fffffffffffffff);
	wire_put_u64(&bytes, 1);
	wire_put_u32(&bytes, 0x1b);
}

START_TEST(fsinfo_caps_sizes)
{
	enum { READ_MAX = 1048576, WRITE_MAX = 3145728 };
	static const struct {
		uint32_t found[4];
		uint32_t shown[4];
	} rows[] = {
		{ { 4194304, 2097152, 8, 8 }, { READ_MAX, READ_MAX, 8, 8 } },
		{ { READ_MAX + 1, 65536, 8, 8 }, { READ_MAX, 65536, 8, 8 } },
		{ { 4096, 4097, 8, 8 }, { 4096, 4097, 8, 8 } },
		{ { READ_MAX, READ_MAX, WRITE_MAX, WRITE_MAX },
		  { READ_MAX, READ_MAX, WRITE_MAX, WRITE_MAX } },
		{ { 8, 9, 16777216, 4194304 }, { 8, 9, WRITE_MAX, WRITE_MAX } },
		{ { 8, 9, WRITE_MAX + 1, 65536 }, { 8, 9, WRITE_MAX, 65536 } },
		{ { 8, 9, 65536, UINT32_MAX }, { 8, 9, 65536, WRITE_MAX } },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make_fsinfo(_i, rows[i].found);
		struct buf *results = results_of(bytes.len);
		ck_assert_uint_eq(nfs3_fsinfo_wtmax(results), rows[i].found[2]);
		nfs3_fsinfo_cap_sizes(results, READ_MAX, WRITE_MAX);
		ck_assert_uint_eq(nfs3_fsinfo_wtmax(results), rows[i].shown[2]);
		make_fsinfo(_i, rows[i].shown);
		expect_results(results, &bytes);
	}
}
END_TEST

START_TEST(fsinfo_that_is_none_stays)
{
	static const uint32_t sizes[] = { 4194304, 4194304, 4194304, 4194304 };

	make_fsinfo(_i, sizes);
	for (size_t len = 0; len <= bytes.len + 4; len++) {
		if (len == bytes.len)
			continue;
		struct buf *results = results_of(len);
		nfs3_fsinfo_cap_sizes(results, 4096, 4096);
		ck_assert_uint_eq(nfs3_fsinfo_wtmax(results), 0);
		ck_assert_mem_eq(buf_start(results), bytes.data, len);
		buf_unref(results);
	}
	bytes.data[3] = NFS3ERR_IO;
	struct buf *results = results_of(bytes.len);
	nfs3_fsinfo_cap_sizes(results, 4096, 4096);
	ck_assert_uint_eq(nfs3_fsinfo_wtmax(results), 0);
	expect_results(results, &bytes);
}
END_TEST

static void make_access(int has_attr, uint32_t access)
{
	bytes.len = 0;
	wire_put_u32(&bytes, 0);
	wire_put_u32(&bytes, (uint32_t)has_attr);
	if (has_attr)
		put_some_attr();
	wire_put_u32(&bytes, access);
}

START_TEST(access_bits_are_cleared)
{
	make_access(_i, 0x3f);
	struct buf *results = results_of(bytes.len);
	nfs3_access_clear(results,
			  NFS3_ACCESS_MODIFY | NFS3_ACCESS_EXTEND | NFS3_ACCESS_DELETE);
	make_access(_i, 0x23);
	expect_results(results, &bytes);

	for (size_t len = 0; len < bytes.len; len++) {
		results = results_of(len);
		nfs3_access_clear(results, 0xffffffff);
		ck_assert_mem_eq(buf_start(results), bytes.data, len);
		buf_unref(results);
	}
	bytes.data[3] = NFS3ERR_ACCES;
	results = results_of(bytes.len);
	nfs3_access_clear(results, 0xffffffff);
	expect_results(results, &bytes);
}
END_TEST

static void make_mnt(uint32_t fh_len, const uint32_t *flavors, uint32_t count)
{
	bytes.len = 0;
	wire_put_u32(&bytes, 0);
	wire_put_opaque(&bytes, 0xf1, fh_len);
	wire_put_u32(&bytes, count);
	for (uint32_t i = 0; i < count; i++)
		wire_put_u32(&bytes, flavors[i]);
}

static struct buf *mnt_of(size_t len)
{
	struct buf *results = results_of(len);
	struct buf *changed = mount3_mnt_result_sys_only(results);

	ck_assert_mem_eq(buf_start(results), bytes.data, len);
	buf_unref(results);
	return changed;
}

START_TEST(mnt_offers_auth_sys)
{
	static const uint32_t fh_lens[] = { 1, 28, 63, 64 };
	static const uint32_t flavors[] = { 390003, 1, 390004 };
	static const uint32_t sys[] = { 1 };

	make_mnt(fh_lens[_i], flavors, (uint32_t)_i);
	struct buf *changed = mnt_of(bytes.len);
	make_mnt(fh_lens[_i], sys, 1);
	expect_results(changed, &bytes);
}
END_TEST

START_TEST(mnt_failures)
{
	static const uint32_t flavors[] = { 1 };
	struct wire_bytes *want = calloc(1, sizeof(*want));

	bytes.len = 0;
	wire_put_u32(&bytes, MNT3ERR_ACCES);
	expect_results(mnt_of(bytes.len), &bytes);
	wire_put_u32(want, 10006);
	for (uint32_t fh_len = 0; fh_len <= 65; fh_len += 65) {
		make_mnt(fh_len, flavors, 1);
		expect_results(mnt_of(bytes.len), want);
	}
	make_mnt(64, flavors, 1);
	for (size_t len = 0; len < 72; len++)
		expect_results(mnt_of(len), want);
	free(want);
}
END_TEST

static bool keep_slash_a(void *arg, const char *path)
{
	int *asked = arg;

	(*asked)++;
	return strncmp(path, "/a", 2) == 0;
}

static void put_export(const char *path, int groups)
{
	wire_put_u32(&bytes, 1);
	wire_put_text(&bytes, path);
	for (int i = 0; i < groups; i++) {
		wire_put_u32(&bytes, 1);
		wire_put_text(&bytes, i % 2 == 0 ? "10.0.0.0/8" : "host");
	}
	wire_put_u32(&bytes, 0);
}

static struct buf *filter_of(size_t len, int *asked)
{
	struct buf *results = results_of(len);
	struct buf *changed = mount3_export_filter(results, keep_slash_a, asked);

	ck_assert_mem_eq(buf_start(results), bytes.data, len);
	buf_unref(results);
	return changed;
}

static void make_exports(bool all)
{
	bytes.len = 0;
	if (all)
		put_export("/b", 1);
	put_export("/a", 0);
	put_export("/a/sub", 3);
	if (all)
		put_export("/", 0);
	put_export("/abc", 1);
	if (all)
		put_export("/z", 2);
	wire_put_u32(&bytes, 0);
}

START_TEST(exports_are_filtered)
{
	int asked = 0;

	make_exports(true);
	struct buf *changed = filter_of(bytes.len, &asked);
	ck_assert_int_eq(asked, 6);
	make_exports(false);
	expect_results(changed, &bytes);

	/* All kept, and the empty list. */
	expect_results(filter_of(bytes.len, &asked), &bytes);
	bytes.len = 0;
	wire_put_u32(&bytes, 0);
	expect_results(filter_of(bytes.len, &asked), &bytes);
}
END_TEST

START_TEST(broken_exports_are_an_empty_list)
{
	struct wire_bytes *want = calloc(1, sizeof(*want));
	int asked = 0;

	wire_put_u32(want, 0);
	make_exports(true);
	for (size_t len = 0; len < bytes.len; len++)
		expect_results(filter_of(len, &asked), want);
	expect_results(filter_of(bytes.len + 4, &asked), want);
	free(want);
}
END_TEST

START_TEST(export_paths_have_limits)
{
	struct wire_bytes *want = calloc(1, sizeof(*want));
	int asked = 0;

	wire_put_u32(want, 0);
	bytes.len = 0;
	put_export("/a", 0);
	bytes.data[9] = 0; /* "/\0" */
	wire_put_u32(&bytes, 0);
	expect_results(filter_of(bytes.len, &asked), want);
	ck_assert_int_eq(asked, 0);

	for (uint32_t len = 1024; len <= 1025; len++) {
		bytes.len = 0;
		wire_put_u32(&bytes, 1);
		wire_put_opaque(&bytes, 'x', len);
		wire_put_u32(&bytes, 0);
		wire_put_u32(&bytes, 0);
		expect_results(filter_of(bytes.len, &asked), want);
	}
	ck_assert_int_eq(asked, 1);
	free(want);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("nfs3_result");
	TCase *engine = unit_case(suite, "write and commit");
	TCase *failures = unit_case(suite, "failures");
	TCase *changes = unit_case(suite, "changes");

	tcase_add_loop_test(engine, write_ok, 0, 4);
	tcase_add_loop_test(engine, write_failure, 0, 4);
	tcase_add_loop_test(engine, commit_ok, 0, 4);
	tcase_add_loop_test(engine, commit_failure, 0, 4);
	tcase_add_loop_test(engine, attribute_switches_are_bools, 0, 2);
	tcase_add_loop_test(failures, failures_of_every_shape, 0, 5);
	tcase_add_test(failures, void_results_are_empty);
	tcase_add_test(failures, status_needs_a_word);
	tcase_add_loop_test(changes, fsinfo_caps_sizes, 0, 2);
	tcase_add_loop_test(changes, fsinfo_that_is_none_stays, 0, 2);
	tcase_add_loop_test(changes, access_bits_are_cleared, 0, 2);
	tcase_add_loop_test(changes, mnt_offers_auth_sys, 0, 4);
	tcase_add_test(changes, mnt_failures);
	tcase_add_test(changes, exports_are_filtered);
	tcase_add_test(changes, broken_exports_are_an_empty_list);
	tcase_add_test(changes, export_paths_have_limits);
	return unit_run(suite);
}
