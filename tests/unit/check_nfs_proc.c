/*
 * The table of procedures: what is offered, what is refused and with which range, and
 * the properties of each, written down here a second time on purpose.
 */
#include "unit.h"
#include "wire/nfs_proc.h"

static const struct nfs_proc *found;
static uint32_t low;
static uint32_t high;

static enum nfs_lookup find(uint32_t program, uint32_t version, uint32_t proc)
{
	static const struct nfs_proc nobody;

	found = &nobody;
	low = high = 99;
	return nfs_proc_find(program, version, proc, &found, &low, &high);
}

static const struct {
	const char *name;
	enum nfs_proc_class class;
	enum nfs_fail_shape fail_shape;
	bool modifies;
	bool bulk;
	bool idempotent;
} nfs3[] = {
	{ "NULL", NFS_CLASS_LOCAL, NFS_FAIL_VOID, false, false, true },
	{ "GETATTR", NFS_CLASS_BARRIER, NFS_FAIL_STATUS, false, false, true },
	{ "SETATTR", NFS_CLASS_BARRIER, NFS_FAIL_WCC, true, false, false },
	{ "LOOKUP", NFS_CLASS_RELAY, NFS_FAIL_ATTR, false, false, true },
	{ "ACCESS", NFS_CLASS_RELAY, NFS_FAIL_ATTR, false, false, true },
	{ "READLINK", NFS_CLASS_RELAY, NFS_FAIL_ATTR, false, false, true },
	{ "READ", NFS_CLASS_BARRIER, NFS_FAIL_ATTR, false, true, true },
	{ "WRITE", NFS_CLASS_WRITE, NFS_FAIL_WCC, true, true, false },
	{ "CREATE", NFS_CLASS_NAME, NFS_FAIL_WCC, true, false, false },
	{ "MKDIR", NFS_CLASS_RELAY, NFS_FAIL_WCC, true, false, false },
	{ "SYMLINK", NFS_CLASS_RELAY, NFS_FAIL_WCC, true, false, false },
	{ "MKNOD", NFS_CLASS_RELAY, NFS_FAIL_WCC, true, false, false },
	{ "REMOVE", NFS_CLASS_NAME, NFS_FAIL_WCC, true, false, false },
	{ "RMDIR", NFS_CLASS_RELAY, NFS_FAIL_WCC, true, false, false },
	{ "RENAME", NFS_CLASS_NAME, NFS_FAIL_TWO_WCC, true, false, false },
	{ "LINK", NFS_CLASS_RELAY, NFS_FAIL_ATTR_WCC, true, false, false },
	{ "READDIR", NFS_CLASS_RELAY, NFS_FAIL_ATTR, false, false, true },
	{ "READDIRPLUS", NFS_CLASS_RELAY, NFS_FAIL_ATTR, false, false, true },
	{ "FSSTAT", NFS_CLASS_RELAY, NFS_FAIL_ATTR, false, false, true },
	{ "FSINFO", NFS_CLASS_RELAY, NFS_FAIL_ATTR, false, false, true },
	{ "PATHCONF", NFS_CLASS_RELAY, NFS_FAIL_ATTR, false, false, true },
	{ "COMMIT", NFS_CLASS_COMMIT, NFS_FAIL_WCC, false, true, true },
};

START_TEST(nfs3_procedures)
{
	ck_assert_int_eq(find(100003, 3, (uint32_t)_i), NFS_LOOKUP_OK);
	ck_assert_str_eq(found->name, nfs3[_i].name);
	ck_assert_int_eq(found->class, nfs3[_i].class);
	ck_assert_int_eq(found->fail_shape, nfs3[_i].fail_shape);
	ck_assert_int_eq(found->modifies, nfs3[_i].modifies);
	ck_assert_int_eq(found->bulk, nfs3[_i].bulk);
	ck_assert_int_eq(found->idempotent, nfs3[_i].idempotent);
}
END_TEST

START_TEST(mount_procedures)
{
	static const char *const names[] = { "NULL", "MNT",	"DUMP",
					     "UMNT", "UMNTALL", "EXPORT" };
	uint32_t proc = (uint32_t)_i;
	bool local = proc == MOUNT_PROC_NULL || proc == MOUNT_PROC_UMNTALL;

	ck_assert_int_eq(find(100005, 3, proc), NFS_LOOKUP_OK);
	ck_assert_str_eq(found->name, names[_i]);
	ck_assert_int_eq(found->class, local ? NFS_CLASS_LOCAL : NFS_CLASS_MOUNT);
	ck_assert_int_eq(found->fail_shape,
			 proc == MOUNT_PROC_MNT ? NFS_FAIL_STATUS : NFS_FAIL_VOID);
	ck_assert(found->idempotent && !found->modifies && !found->bulk);

	const struct nfs_proc *version_3 = found;
	if (proc == MOUNT_PROC_MNT) {
		ck_assert_int_eq(find(100005, 1, proc), NFS_LOOKUP_PROC_UNAVAIL);
		ck_assert_ptr_null(found);
	} else {
		ck_assert_int_eq(find(100005, 1, proc), NFS_LOOKUP_OK);
		ck_assert_ptr_eq(found, version_3);
	}
}
END_TEST

START_TEST(nfsacl_procedures)
{
	ck_assert_int_eq(find(100227, 3, NFSACL_PROC_NULL), NFS_LOOKUP_OK);
	ck_assert_int_eq(found->class, NFS_CLASS_LOCAL);
	ck_assert_int_eq(find(100227, 3, NFSACL_PROC_GETACL), NFS_LOOKUP_OK);
	ck_assert_str_eq(found->name, "GETACL");
	ck_assert(found->idempotent && !found->modifies);
	ck_assert_int_eq(found->fail_shape, NFS_FAIL_ATTR);
	ck_assert_int_eq(find(100227, 3, NFSACL_PROC_SETACL), NFS_LOOKUP_OK);
	ck_assert_str_eq(found->name, "SETACL");
	ck_assert(!found->idempotent && found->modifies);
	ck_assert_int_eq(found->fail_shape, NFS_FAIL_ATTR);
}
END_TEST

START_TEST(unknown_programs)
{
	static const uint32_t programs[] = { 0,	     100000, 100002,
					     100021, 100004, 0xffffffff };

	ck_assert_int_eq(find(programs[_i], 3, 0), NFS_LOOKUP_PROG_UNAVAIL);
	ck_assert_ptr_null(found);
}
END_TEST

START_TEST(unknown_versions)
{
	static const struct {
		uint32_t program, version, low, high;
	} rows[] = {
		{ 100003, 0, 3, 3 }, { 100003, 2, 3, 3 }, { 100003, 4, 3, 3 },
		{ 100005, 0, 1, 3 }, { 100005, 2, 1, 3 }, { 100005, 4, 1, 3 },
		{ 100227, 2, 3, 3 }, { 100227, 4, 3, 3 }, { 100003, 0xffffffff, 3, 3 },
	};

	ck_assert_int_eq(find(rows[_i].program, rows[_i].version, 0),
			 NFS_LOOKUP_PROG_MISMATCH);
	ck_assert_ptr_null(found);
	ck_assert_uint_eq(low, rows[_i].low);
	ck_assert_uint_eq(high, rows[_i].high);
	/* The version is looked at before the procedure. */
	ck_assert_int_eq(find(rows[_i].program, rows[_i].version, 1000),
			 NFS_LOOKUP_PROG_MISMATCH);
}
END_TEST

START_TEST(unknown_procedures)
{
	static const struct {
		uint32_t program, version, first_unknown;
	} rows[] = {
		{ 100003, 3, 22 }, { 100005, 1, 6 }, { 100005, 3, 6 }, { 100227, 3, 3 }
	};

	ck_assert_int_eq(find(rows[_i].program, rows[_i].version,
			      rows[_i].first_unknown),
			 NFS_LOOKUP_PROC_UNAVAIL);
	ck_assert_ptr_null(found);
	ck_assert_int_eq(find(rows[_i].program, rows[_i].version, 0xffffffff),
			 NFS_LOOKUP_PROC_UNAVAIL);
	ck_assert_uint_eq(low, 99);
	ck_assert_uint_eq(high, 99);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("nfs_proc");
	TCase *table = unit_case(suite, "table");
	TCase *unknown = unit_case(suite, "unknown");

	tcase_add_loop_test(table, nfs3_procedures, 0, 22);
	tcase_add_loop_test(table, mount_procedures, 0, 6);
	tcase_add_test(table, nfsacl_procedures);
	tcase_add_loop_test(unknown, unknown_programs, 0, 6);
	tcase_add_loop_test(unknown, unknown_versions, 0, 9);
	tcase_add_loop_test(unknown, unknown_procedures, 0, 4);
	return unit_run(suite);
}
