/*
 * Arguments of every procedure from bytes made by hand: what is read, and that neither
 * fewer nor more bytes are taken.
 *
 * Not reached: WRITE payloads over 100 KiB (the record's limit bounds them, not the
 * decoder).
 */
#include <errno.h>

#include "nfs_call_cases.h"
#include "unit.h"

/* Of the first `len` bytes; call is filled with rubbish before. */
static int decode(int which, struct nfs_call *call, const uint8_t *exact, size_t len)
{
	memset(call, 0xee, sizeof(*call));
	return nfs_call_decode(call, cases[which].program, cases[which].version,
			       cases[which].proc, exact, len);
}

START_TEST(reads_every_procedure)
{
	static const uint32_t fh_lens[] = { 1, 2, 3, 28, 63, 64 };
	struct nfs_call call;

	for (size_t i = 0; i < sizeof(fh_lens) / sizeof(fh_lens[0]); i++) {
		fh_len = fh_lens[i];
		bytes.len = 0;
		cases[_i].make();
		uint8_t *exact = wire_exact(&bytes, bytes.len);
		ck_assert_int_eq(decode(_i, &call, exact, bytes.len), 0);
		ck_assert_uint_eq(call.program, cases[_i].program);
		ck_assert_uint_eq(call.version, cases[_i].version);
		ck_assert_uint_eq(call.proc, cases[_i].proc);
		cases[_i].check(&call);
		free(exact);
	}
}
END_TEST

START_TEST(neither_fewer_nor_more_bytes)
{
	struct nfs_call call;

	bytes.len = 0;
	cases[_i].make();
	for (size_t len = 0; len < bytes.len; len++) {
		uint8_t *exact = wire_exact(&bytes, len);

		ck_assert_int_eq(decode(_i, &call, exact, len), -EBADMSG);
		free(exact);
	}
	for (size_t more = 1; more <= 8; more++)
		ck_assert_int_eq(decode(_i, &call, bytes.data, bytes.len + more),
				 -EBADMSG);
}
END_TEST

START_TEST(handles_are_1_to_64_bytes)
{
	struct nfs_call call;

	for (fh_len = 0; fh_len <= 68; fh_len++) {
		bytes.len = 0;
		cases[_i].make();
		bool has_fh = cases[_i].make != make_nothing &&
			      cases[_i].make != make_path;
		bool good = !has_fh || (fh_len >= 1 && fh_len <= 64);

		ck_assert_int_eq(decode(_i, &call, bytes.data, bytes.len),
				 good ? 0 : -EBADMSG);
	}
}
END_TEST

static int decode_bytes(uint32_t program, uint32_t proc)
{
	uint8_t *exact = wire_exact(&bytes, bytes.len);
	struct nfs_call call;
	int err = nfs_call_decode(&call, program, 3, proc, exact, bytes.len);

	free(exact);
	return err;
}

START_TEST(write_count_is_payload_length)
{
	for (uint32_t len = 0; len <= 9; len++) {
		put_write(len, NFS3_UNSTABLE, len);
		ck_assert_int_eq(decode_bytes(PROGRAM_NFS, NFS3_PROC_WRITE), 0);
		put_write(len + 1, NFS3_UNSTABLE, len);
		ck_assert_int_eq(decode_bytes(PROGRAM_NFS, NFS3_PROC_WRITE), -EBADMSG);
		put_write(len - 1, NFS3_UNSTABLE, len);
		ck_assert_int_eq(decode_bytes(PROGRAM_NFS, NFS3_PROC_WRITE), -EBADMSG);
	}
	put_write(100000, NFS3_DATA_SYNC, 100000);
	ck_assert_int_eq(decode_bytes(PROGRAM_NFS, NFS3_PROC_WRITE), 0);
	put_write(7, 3, 7);
	ck_assert_int_eq(decode_bytes(PROGRAM_NFS, NFS3_PROC_WRITE), -EBADMSG);
	/* A length that lies, with a count that agrees. */
	put_write(0xfffffffc, 0, 0);
	memset(bytes.data + bytes.len - 4, 0xff, 3);
	bytes.data[bytes.len - 1] = 0xfc;
	ck_assert_int_eq(decode_bytes(PROGRAM_NFS, NFS3_PROC_WRITE), -EBADMSG);
}
END_TEST

START_TEST(texts_have_bounds)
{
	bytes.len = 0;
	put_fh();
	wire_put_opaque(&bytes, 'n', NFS_CALL_NAME_MAX_BYTES + (uint32_t)_i);
	ck_assert_int_eq(decode_bytes(PROGRAM_NFS, NFS3_PROC_REMOVE),
			 -EBADMSG * (_i > 0));
	bytes.len = 0;
	make_dirop();
	put_sattr_sparse();
	wire_put_opaque(&bytes, 'p', NFS_CALL_SYMLINK_MAX_BYTES + (uint32_t)_i);
	ck_assert_int_eq(decode_bytes(PROGRAM_NFS, NFS3_PROC_SYMLINK),
			 -EBADMSG * (_i > 0));
	bytes.len = 0;
	wire_put_opaque(&bytes, '/', MOUNT_PATH_MAX_BYTES + (uint32_t)_i);
	ck_assert_int_eq(decode_bytes(PROGRAM_MOUNT, MOUNT_PROC_MNT),
			 -EBADMSG * (_i > 0));
}
END_TEST

START_TEST(texts_have_no_nul_inside)
{
	bytes.len = 0;
	make_dirop();
	bytes.data[bytes.len - 1 - (size_t)_i] = 0;
	ck_assert_int_eq(decode_bytes(PROGRAM_NFS, NFS3_PROC_REMOVE), -EBADMSG);
	bytes.len = 0;
	make_symlink();
	bytes.data[bytes.len - 4 - (size_t)_i] = 0;
	ck_assert_int_eq(decode_bytes(PROGRAM_NFS, NFS3_PROC_SYMLINK), -EBADMSG);
	bytes.len = 0;
	make_path();
	bytes.data[bytes.len - 4 - (size_t)_i] = 0;
	ck_assert_int_eq(decode_bytes(PROGRAM_MOUNT, MOUNT_PROC_UMNT), -EBADMSG);
	bytes.len = 0;
	put_fh();
	wire_put_text(&bytes, "");
	ck_assert_int_eq(decode_bytes(PROGRAM_NFS, NFS3_PROC_REMOVE), 0);
}
END_TEST

START_TEST(enums_have_limits)
{
	bytes.len = 0;
	make_dirop();
	wire_put_u32(&bytes, 3);
	put_sattr_sparse();
	ck_assert_int_eq(decode_bytes(PROGRAM_NFS, NFS3_PROC_CREATE), -EBADMSG);
	for (uint32_t type = 0; type <= 10; type++) {
		bool device = type == NFS3_CHR || type == NFS3_BLK;
		bool pipe = type == NFS3_SOCK || type == NFS3_FIFO;
		bool known = type >= NFS3_REG && type <= NFS3_FIFO;

		bytes.len = 0;
		make_dirop();
		wire_put_u32(&bytes, type);
		if (device || pipe)
			put_sattr_sparse();
		if (device)
			wire_put_u64(&bytes, 0);
		ck_assert_int_eq(decode_bytes(PROGRAM_NFS, NFS3_PROC_MKNOD),
				 known ? 0 : -EBADMSG);
	}
}
END_TEST

/* Each of the six switches of sattr3 (_i), one over its limit. */
START_TEST(sattr_switches_have_limits)
{
	bytes.len = 0;
	make_setattr_no_guard();
	bytes.data[4 + fh_len + 4 * (size_t)_i + 3] = _i < 4 ? 2 : 9;
	ck_assert_int_eq(decode_bytes(PROGRAM_NFS, NFS3_PROC_SETATTR), -EBADMSG);
	bytes.len = 0;
	make_setattr_no_guard();
	bytes.data[bytes.len - 1] = 2;
	ck_assert_int_eq(decode_bytes(PROGRAM_NFS, NFS3_PROC_SETATTR), -EBADMSG);
}
END_TEST

START_TEST(acl_entries_have_a_limit)
{
	static const uint32_t bad[] = { 1025, 0x15555556, 0x40000000, 0xffffffff };

	bytes.len = 0;
	put_setacl(1024, 1024);
	ck_assert_int_eq(decode_bytes(PROGRAM_NFSACL, NFSACL_PROC_SETACL), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		bytes.len = 0;
		put_setacl(bad[i], 0);
		ck_assert_int_eq(decode_bytes(PROGRAM_NFSACL, NFSACL_PROC_SETACL),
				 -EBADMSG);
		bytes.len = 0;
		put_setacl(0, bad[i]);
		ck_assert_int_eq(decode_bytes(PROGRAM_NFSACL, NFSACL_PROC_SETACL),
				 -EBADMSG);
	}
}
END_TEST

START_TEST(padding_may_be_anything)
{
	struct nfs_call call;

	put_write(5, NFS3_UNSTABLE, 5);
	memset(bytes.data + bytes.len - 3, 0xdb, 3);
	ck_assert_int_eq(nfs_call_decode(&call, PROGRAM_NFS, 3, NFS3_PROC_WRITE,
					 bytes.data, bytes.len),
			 0);
	check_text(call.args.write.payload, "wwwww");
}
END_TEST

START_TEST(unknown_procedures_are_bad)
{
	struct nfs_call call;

	ck_assert_int_eq(nfs_call_decode(&call, 100000, 2, 0, NULL, 0), -EBADMSG);
	ck_assert_ptr_null(nfs_call_fh(&call));
	ck_assert_int_eq(nfs_call_decode(&call, PROGRAM_NFS, 2, 0, NULL, 0), -EBADMSG);
	ck_assert_int_eq(nfs_call_decode(&call, PROGRAM_NFS, 3, 22, NULL, 0), -EBADMSG);
	ck_assert_int_eq(nfs_call_decode(&call, PROGRAM_NFS, 3, 0, NULL, 0), 0);
	bytes.len = 0;
	make_path();
	ck_assert_int_eq(nfs_call_decode(&call, PROGRAM_MOUNT, 1, MOUNT_PROC_MNT,
					 bytes.data, bytes.len),
			 -EBADMSG);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("nfs_call");
	TCase *every = unit_case(suite, "every procedure");
	TCase *limits = unit_case(suite, "limits");

	tcase_add_loop_test(every, reads_every_procedure, 0, CASE_COUNT);
	tcase_add_loop_test(every, neither_fewer_nor_more_bytes, 0, CASE_COUNT);
	tcase_add_loop_test(every, handles_are_1_to_64_bytes, 0, CASE_COUNT);
	tcase_add_test(limits, write_count_is_payload_length);
	tcase_add_loop_test(limits, texts_have_bounds, 0, 2);
	tcase_add_loop_test(limits, texts_have_no_nul_inside, 0, 4);
	tcase_add_test(limits, enums_have_limits);
	tcase_add_loop_test(limits, sattr_switches_have_limits, 0, 6);
	tcase_add_test(limits, acl_entries_have_a_limit);
	tcase_add_test(limits, padding_may_be_anything);
	tcase_add_test(limits, unknown_procedures_are_bad);
	return unit_run(suite);
}
