/*
 * Where early acks are off after an error, how wide, and when they are on again.
 */
#include "coalesce/engine_private.h"
#include "unit/engine_fixture.h"

static struct nfs3_fh fh[8];

static void setup(void)
{
	unsigned int i;

	engine_setup();
	for (i = 0; i < 8; i++)
		fh[i] = (struct nfs3_fh){ .len = 1, .data = { (uint8_t)('b' + i) } };
}

/* A stable WRITE: the upstream says of the file what attr says. */
static void know(unsigned int i, struct credential *credential)
{
	write_with(40, .fh = &fh[i], .credential = credential, .offset = 50000,
		   .count = 1, .stable = NFS3_FILE_SYNC);
	written(50000);
	(void)take_log();
}

static void go_wrong(unsigned int i, struct credential *credential, uint32_t status)
{
	write_with(41, .fh = &fh[i], .credential = credential, .offset = 40000,
		   .count = 1, .stable = NFS3_FILE_SYNC);
	write_failed(40000, status);
	(void)take_log();
}

static bool holds(unsigned int i, const struct credential *credential)
{
	const struct engine_file *file = file_find(&engine->files, &fh[i]);

	return file != NULL && quarantine_holds(file, credential);
}

START_TEST(scope_follows_the_error)
{
	static const struct {
		uint32_t status;
		bool same_file, same_fs, other_fs;
	} row[] = {
		{ NFS3ERR_NOSPC, true, true, false },
		{ NFS3ERR_ROFS, true, true, false },
		{ NFS3ERR_IO, true, false, false },
		{ NFS3ERR_FBIG, true, false, false },
		{ NFS3ERR_INVAL, true, false, false },
		{ NFS3ERR_STALE, true, false, false },
		{ NFS3ERR_ACCES, false, false, false }, /* a grant that never was */
		{ NFS3ERR_PERM, false, false, false },
		{ NFS3ERR_JUKEBOX, false, false, false },
	};
	unsigned int i;

	for (i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		use_config(&engine_config_default);
		know(0, alice);
		know(1, alice);
		attr.fsid = 8;
		know(2, alice);
		attr.fsid = 7;
		go_wrong(0, alice, row[i].status);
		ck_assert_msg(holds(0, alice) == row[i].same_file, "row %u", i);
		ck_assert_msg(holds(1, bob) == row[i].same_fs, "row %u", i);
		ck_assert_msg(holds(2, alice) == row[i].other_fs, "row %u", i);
		engine_teardown();
		setup();
	}
}
END_TEST

START_TEST(full_quota_holds_its_users_in_the_file_system)
{
	struct credential *carol = credential_of(1002);

	attr.uid = 1002; /* carol's file, written by bob */
	know(0, bob);
	go_wrong(0, bob, NFS3ERR_DQUOT);
	attr.uid = 500;
	know(1, alice);
	know(1, bob);
	know(1, carol);
	ck_assert(!holds(1, alice));
	ck_assert(holds(1, bob));
	ck_assert(holds(1, carol));
	attr.uid = 1002;
	know(2, alice); /* a file of carol's: her quota, whoever writes */
	ck_assert(holds(2, alice));
	attr.fsid = 8;
	know(3, bob);
	ck_assert(!holds(3, bob));
	credential_unref(carol);
}
END_TEST

START_TEST(ends_after_time_and_clean_writes)
{
	unsigned int i;

	know(0, alice);
	know(1, alice);
	go_wrong(0, alice, NFS3ERR_NOSPC);
	for (i = 0; i < 2 * ENGINE_QUARANTINE_WRITES; i++)
		know(0, alice); /* clean WRITEs, but too soon */
	ck_assert(holds(0, alice) && holds(1, alice));
	tick_after(engine_config_default.quarantine_us);
	ck_assert(holds(0, alice)); /* time alone is not enough */
	know(0, alice);
	ck_assert(!holds(0, alice));
	ck_assert(!holds(1, alice));
}
END_TEST

START_TEST(ends_not_before_enough_clean_writes)
{
	unsigned int i;

	know(0, alice);
	go_wrong(0, alice, NFS3ERR_IO);
	tick_after(engine_config_default.quarantine_us + 1);
	for (i = 0; i < ENGINE_QUARANTINE_WRITES; i++) {
		ck_assert(holds(0, alice));
		know(0, alice);
	}
	ck_assert(!holds(0, alice));
}
END_TEST

START_TEST(an_error_in_it_begins_it_again)
{
	unsigned int i;

	know(0, alice);
	go_wrong(0, alice, NFS3ERR_NOSPC);
	tick_after(engine_config_default.quarantine_us - 1);
	go_wrong(0, alice, NFS3ERR_NOSPC);
	tick_after(2);
	for (i = 0; i < 2 * ENGINE_QUARANTINE_WRITES; i++)
		know(0, alice);
	ck_assert(holds(0, alice));
	ck_assert_uint_eq(engine->quarantine_count, 1); /* one per scope */
}
END_TEST

START_TEST(writes_pass_as_file_sync_and_no_further_error_is_late)
{
	know(0, alice);
	go_wrong(0, alice, NFS3ERR_NOSPC);
	know(1, alice);
	write_with(0, .fh = &fh[1], .offset = 0, .count = 10); /* same file system */
	expect("c:W0+10f ");
	write_failed(0, NFS3ERR_NOSPC);
	expect("w0!28 ");
	ck_assert_uint_eq(seen.losses, 0);
}
END_TEST

START_TEST(table_has_an_end_and_the_first_to_end_gives_way)
{
	unsigned int i;

	for (i = 0; i < ENGINE_QUARANTINES_MAX + 5; i++) {
		attr.fsid = 100 + i;
		know(0, alice); /* the file moves to another file system */
		go_wrong(0, alice, NFS3ERR_NOSPC);
		tick_after(1);
	}
	ck_assert_uint_eq(engine->quarantine_count, ENGINE_QUARANTINES_MAX);
	attr.fsid = 100;
	know(1, alice);
	ck_assert(!holds(1, alice));
	attr.fsid = 105;
	know(2, alice);
	ck_assert(holds(2, alice));
	attr.fsid = 100 + ENGINE_QUARANTINES_MAX + 4;
	know(3, alice);
	ck_assert(holds(3, alice));
}
END_TEST

START_TEST(counted)
{
	know(0, alice);
	go_wrong(0, alice, NFS3ERR_IO);
	go_wrong(0, alice, NFS3ERR_ACCES);
	ck_assert_uint_eq(stats.value[STAT_QUARANTINES], 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("quarantine");
	TCase *tcase = unit_case(suite, "quarantine");

	tcase_add_checked_fixture(tcase, setup, engine_teardown);
	tcase_add_test(tcase, scope_follows_the_error);
	tcase_add_test(tcase, full_quota_holds_its_users_in_the_file_system);
	tcase_add_test(tcase, ends_after_time_and_clean_writes);
	tcase_add_test(tcase, ends_not_before_enough_clean_writes);
	tcase_add_test(tcase, an_error_in_it_begins_it_again);
	tcase_add_test(tcase, writes_pass_as_file_sync_and_no_further_error_is_late);
	tcase_add_test(tcase, table_has_an_end_and_the_first_to_end_gives_way);
	tcase_add_test(tcase, counted);
	return unit_run(suite);
}
