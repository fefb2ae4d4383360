/*
 * Attributes in the results of every procedure, against bytes made by hand: who is asked
 * about, in which order, and what is left when any choice of them is taken out. And the
 * handles that some results tell.
 */
#include <errno.h>

#include "unit.h"
#include "wire/nfs3_attrs.h"
#include "wire/nfs3_result.h"
#include "wire/rpc_msg.h"
#include "wire_bytes.h"

enum {
	HEADROOM_BYTES = RPC_RECORD_MARK_BYTES + RPC_REPLY_HEADER_BYTES,
	ASKED_MAX = 8,
};

static struct wire_bytes full; /* as the upstream sends it */
static struct wire_bytes left; /* as it must be after the choice */
static unsigned int choice;    /* bit i: the i-th attributes stay */

struct asked {
	enum nfs3_attrs_role role;
	char fh; /* its last byte, 0: none */
	bool has_before;
	bool has_after;
};

static struct asked expected[ASKED_MAX];
static unsigned int expected_count;

static void put_u32(uint32_t value)
{
	wire_put_u32(&full, value);
	wire_put_u32(&left, value);
}

static void put_u64(uint64_t value)
{
	wire_put_u64(&full, value);
	wire_put_u64(&left, value);
}

static void put_text(const char *text)
{
	wire_put_text(&full, text);
	wire_put_text(&left, text);
}

static void put_fh(char name)
{
	const char fh[] = { 'f', 'i', 'l', 'e', ' ', name, 0 };

	put_text(fh);
}

static void put_fattr(struct wire_bytes *to)
{
	uint32_t i;

	for (i = 0; i < 21; i++)
		wire_put_u32(to, NFS3_REG + i);
}

static bool expect(enum nfs3_attrs_role role, char fh, bool before, bool after)
{
	ck_assert_uint_lt(expected_count, ASKED_MAX);
	expected[expected_count] = (struct asked){ role, fh, before, after };
	return choice >> expected_count++ & 1;
}

static void put_attr(enum nfs3_attrs_role role, char fh)
{
	wire_put_u32(&full, 1);
	put_fattr(&full);
	if (!expect(role, fh, false, true)) {
		wire_put_u32(&left, 0);
		return;
	}
	wire_put_u32(&left, 1);
	put_fattr(&left);
}

static void put_wcc_to(struct wire_bytes *to, bool before, bool after)
{
	uint32_t i;

	wire_put_u32(to, before);
	for (i = 0; before && i < 6; i++)
		wire_put_u32(to, 100 + i);
	wire_put_u32(to, after);
	if (after)
		put_fattr(to);
}

static void put_wcc(enum nfs3_attrs_role role, char fh, bool before, bool after)
{
	bool stays;

	put_wcc_to(&full, before, after);
	stays = (before || after) && expect(role, fh, before, after);
	put_wcc_to(&left, before && stays, after && stays);
}

/* --- results, OK (no status yet) and failed, of calls about 'c' --- */

static void results_none(void)
{
}

static void results_getattr(void)
{
	put_fattr(&full);
	put_fattr(&left);
}

static void results_call_wcc(void)
{
	put_wcc(NFS3_ATTRS_OF_CALL, 'c', true, true);
}

static void results_call_attr(void)
{
	put_attr(NFS3_ATTRS_OF_CALL, 'c');
}

static void results_dir_attr(void)
{
	put_attr(NFS3_ATTRS_OF_DIR, 'c');
}

static void results_dir_wcc(void)
{
	put_wcc(NFS3_ATTRS_OF_DIR, 'c', true, true);
}

static void results_two_dirs(void)
{
	put_wcc(NFS3_ATTRS_OF_DIR, 'c', true, false);
	put_wcc(NFS3_ATTRS_OF_DIR, 't', false, true);
}

static void results_link(void)
{
	put_attr(NFS3_ATTRS_OF_CALL, 'c');
	put_wcc(NFS3_ATTRS_OF_DIR, 't', true, true);
}

static void results_lookup(void)
{
	put_fh('x');
	put_attr(NFS3_ATTRS_OF_FOUND, 'x');
	put_attr(NFS3_ATTRS_OF_DIR, 'c');
}

static void results_make(void)
{
	put_u32(1);
	put_fh('x');
	put_attr(NFS3_ATTRS_OF_FOUND, 'x');
	put_wcc(NFS3_ATTRS_OF_DIR, 'c', false, true);
}

static void results_make_bare(void)
{
	put_u32(0);
	put_attr(NFS3_ATTRS_OF_FOUND, 0);
	put_wcc(NFS3_ATTRS_OF_DIR, 'c', false, false);
}

static void results_words(void)
{
	put_attr(NFS3_ATTRS_OF_CALL, 'c');
	put_u64(0x1122334455667788);
	put_u32(7);
}

static void results_read(void)
{
	put_attr(NFS3_ATTRS_OF_CALL, 'c');
	put_u32(11);
	put_u32(1);
	put_text("eleven byte");
}

static void results_write(void)
{
	put_wcc(NFS3_ATTRS_OF_CALL, 'c', false, true);
	put_u32(11);
	put_u32(2);
	put_u64(0x7665726966696572);
}

static void put_entry(char fh, bool has_attr)
{
	put_u32(1);
	put_u64(77);
	put_text("some name");
	put_u64(78);
	if (has_attr)
		put_attr(NFS3_ATTRS_OF_ENTRY, fh);
	else
		put_u32(0);
	put_u32(fh != 0);
	if (fh != 0)
		put_fh(fh);
}

static void results_readdirplus(void)
{
	put_attr(NFS3_ATTRS_OF_CALL, 'c');
	put_u64(0x636f6f6b69657666);
	put_entry('1', true);
	put_entry('2', false);
	put_entry(0, true);
	put_entry('3', true);
	put_entry(0, false);
	put_u32(0);
	put_u32(1);
}

static const struct {
	uint32_t program;
	uint32_t proc;
	void (*ok)(void);
	void (*failed)(void);
} cases[] = {
	{ PROGRAM_NFS, NFS3_PROC_GETATTR, results_getattr, results_none },
	{ PROGRAM_NFS, NFS3_PROC_SETATTR, results_call_wcc, results_call_wcc },
	{ PROGRAM_NFS, NFS3_PROC_LOOKUP, results_lookup, results_dir_attr },
	{ PROGRAM_NFS, NFS3_PROC_ACCESS, results_words, results_call_attr },
	{ PROGRAM_NFS, NFS3_PROC_READLINK, results_words, results_call_attr },
	{ PROGRAM_NFS, NFS3_PROC_READ, results_read, results_call_attr },
	{ PROGRAM_NFS, NFS3_PROC_WRITE, results_write, results_call_wcc },
	{ PROGRAM_NFS, NFS3_PROC_CREATE, results_make, results_dir_wcc },
	{ PROGRAM_NFS, NFS3_PROC_CREATE, results_make_bare, results_dir_wcc },
	{ PROGRAM_NFS, NFS3_PROC_MKDIR, results_make, results_dir_wcc },
	{ PROGRAM_NFS, NFS3_PROC_SYMLINK, results_make, results_dir_wcc },
	{ PROGRAM_NFS, NFS3_PROC_MKNOD, results_make, results_dir_wcc },
	{ PROGRAM_NFS, NFS3_PROC_REMOVE, results_dir_wcc, results_dir_wcc },
	{ PROGRAM_NFS, NFS3_PROC_RMDIR, results_dir_wcc, results_dir_wcc },
	{ PROGRAM_NFS, NFS3_PROC_RENAME, results_two_dirs, results_two_dirs },
	{ PROGRAM_NFS, NFS3_PROC_LINK, results_link, results_link },
	{ PROGRAM_NFS, NFS3_PROC_READDIR, results_words, results_call_attr },
	{ PROGRAM_NFS, NFS3_PROC_READDIRPLUS, results_readdirplus, results_call_attr },
	{ PROGRAM_NFS, NFS3_PROC_FSSTAT, results_words, results_call_attr },
	{ PROGRAM_NFS, NFS3_PROC_FSINFO, results_words, results_call_attr },
	{ PROGRAM_NFS, NFS3_PROC_PATHCONF, results_words, results_call_attr },
	{ PROGRAM_NFS, NFS3_PROC_COMMIT, results_call_wcc, results_call_wcc },
	{ PROGRAM_NFSACL, NFSACL_PROC_GETACL, results_words, results_call_attr },
	{ PROGRAM_NFSACL, NFSACL_PROC_GETACL, results_words, results_none },
	{ PROGRAM_NFSACL, NFSACL_PROC_SETACL, results_call_attr, results_call_attr },
};

enum { CASES = sizeof(cases) / sizeof(cases[0]) };

static struct nfs3_fh fh_of(char name)
{
	struct nfs3_fh fh = { .len = 6, .data = "file " };

	fh.data[5] = (uint8_t)name;
	return fh;
}

/* A call of the case about 'c'; 't' is where RENAME and LINK go. */
static struct nfs_call call_of(int i)
{
	struct nfs_call call = { .program = cases[i].program,
				 .version = 3,
				 .proc = cases[i].proc };

	if (call.program == PROGRAM_NFS && call.proc == NFS3_PROC_RENAME) {
		call.args.rename.from.dir = fh_of('c');
		call.args.rename.to.dir = fh_of('t');
	} else if (call.program == PROGRAM_NFS && call.proc == NFS3_PROC_LINK) {
		call.args.link.fh = fh_of('c');
		call.args.link.to.dir = fh_of('t');
	} else {
		call.args.fh = fh_of('c'); /* first in the arguments of all others */
	}
	return call;
}

/* Makes `full`, `left` and `expected`. */
static void make_results(int i, bool ok, unsigned int stay)
{
	full.len = 0;
	left.len = 0;
	choice = stay;
	expected_count = 0;
	put_u32(ok ? NFS3_OK : NFS3ERR_ACCES);
	if (ok)
		cases[i].ok();
	else
		cases[i].failed();
}

static unsigned int asked_count;

static bool keep(void *arg, const struct nfs3_attrs *attrs)
{
	unsigned int at = asked_count++ % (expected_count ? expected_count : 1);
	const struct asked *want = &expected[at];

	ck_assert_ptr_eq(arg, &choice);
	ck_assert_uint_lt(at, expected_count);
	ck_assert_int_eq(attrs->role, want->role);
	ck_assert_int_eq(attrs->wcc.has_before, want->has_before);
	ck_assert_int_eq(attrs->wcc.has_after, want->has_after);
	if (want->has_before)
		ck_assert_uint_eq(attrs->wcc.before.ctime.nseconds, 105);
	if (want->has_after)
		ck_assert_uint_eq(attrs->wcc.after.ctime.nseconds, NFS3_REG + 20);
	if (want->fh == 0) {
		ck_assert_ptr_null(attrs->fh);
	} else {
		struct nfs3_fh fh = fh_of(want->fh);

		ck_assert_ptr_nonnull(attrs->fh);
		ck_assert(nfs3_fh_equal(attrs->fh, &fh));
	}
	return choice >> at & 1;
}

static struct buf *results_of(const struct wire_bytes *bytes, size_t len)
{
	struct buf *results = buf_new(HEADROOM_BYTES + len);

	results->off_bytes = HEADROOM_BYTES;
	results->len_bytes = len;
	memcpy(buf_start(results), bytes->data, len);
	return results;
}

static void expect_bytes(struct buf *results, const struct wire_bytes *want, size_t len)
{
	ck_assert_uint_eq(results->off_bytes, HEADROOM_BYTES);
	ck_assert_uint_eq(results->len_bytes, len);
	ck_assert_mem_eq(buf_start(results), want->data, len);
	buf_unref(results);
}

START_TEST(every_choice_leaves_the_rest)
{
	struct nfs_call call = call_of(_i);
	unsigned int stay;
	int ok;

	for (ok = 0; ok < 2; ok++) {
		for (stay = 0; stay < 1U << ASKED_MAX; stay++) {
			struct buf *results;

			make_results(_i, ok, stay);
			results = results_of(&full, full.len);
			asked_count = 0;
			ck_assert_int_eq(
				nfs3_attrs_filter(&call, results, keep, &choice), 0);
			ck_assert_uint_ge(asked_count, expected_count);
			expect_bytes(results, &left, left.len);
			if (stay >> expected_count != 0)
				break; /* further bits choose nothing */
		}
	}
}
END_TEST

START_TEST(what_does_not_decode_is_left_alone)
{
	struct nfs_call call = call_of(_i);
	size_t len;
	int ok;

	for (ok = 0; ok < 2; ok++) {
		make_results(_i, ok, 0);
		for (len = 0; len < full.len; len++) {
			struct buf *results = results_of(&full, len);
			int err;

			asked_count = 0;
			err = nfs3_attrs_filter(&call, results, keep, &choice);
			/* What follows the attributes is not looked into. */
			if (err == 0) {
				ck_assert_uint_le(results->len_bytes, left.len);
				buf_unref(results);
				continue;
			}
			ck_assert_int_eq(err, -EBADMSG);
			expect_bytes(results, &full, len);
		}
	}
}
END_TEST

START_TEST(bytes_behind_the_last_attributes_are_refused)
{
	static const uint32_t procs[] = { NFS3_PROC_LOOKUP, NFS3_PROC_CREATE,
					  NFS3_PROC_REMOVE, NFS3_PROC_RENAME,
					  NFS3_PROC_LINK,   NFS3_PROC_READDIRPLUS };
	size_t i;

	for (i = 0; i < sizeof(procs) / sizeof(procs[0]); i++) {
		int at = 0;
		struct nfs_call call;
		struct buf *results;

		while (cases[at].program != PROGRAM_NFS || cases[at].proc != procs[i])
			at++;
		call = call_of(at);
		make_results(at, true, 0);
		put_u32(0);
		asked_count = 0;
		results = results_of(&full, full.len);
		ck_assert_int_eq(nfs3_attrs_filter(&call, results, keep, &choice),
				 -EBADMSG);
		expect_bytes(results, &full, full.len);
	}
}
END_TEST

START_TEST(null_has_nothing_and_other_programs_are_refused)
{
	struct nfs_call null = { .program = PROGRAM_NFS, .version = 3 };
	struct nfs_call mnt = { .program = PROGRAM_MOUNT, .version = 3, .proc = 1 };
	struct buf *results = results_of(&full, 0);

	ck_assert_int_eq(nfs3_attrs_filter(&null, results, keep, &choice), 0);
	null.program = PROGRAM_NFSACL;
	ck_assert_int_eq(nfs3_attrs_filter(&null, results, keep, &choice), 0);
	ck_assert_int_eq(nfs3_attrs_filter(&mnt, results, keep, &choice), -EBADMSG);
	null.program = PROGRAM_NFS;
	null.proc = 22;
	ck_assert_int_eq(nfs3_attrs_filter(&null, results, keep, &choice), -EBADMSG);
	buf_unref(results);
}
END_TEST

/* --- handles (nfs3_result.h) --- */

/* With and without attributes of object and directory (bits of _i). */
START_TEST(the_handle_of_lookup_is_found)
{
	struct nfs3_wcc attr;
	struct nfs3_fh fh;
	size_t len;
	int part;

	full.len = 0;
	wire_put_u32(&full, 0);
	wire_put_text(&full, "handle");
	for (part = 0; part < 2; part++) {
		wire_put_u32(&full, (uint32_t)_i >> part & 1);
		if (_i >> part & 1)
			put_fattr(&full);
	}
	for (len = 0; len <= full.len; len++) {
		struct buf *results = results_of(&full, len);

		ck_assert_int_eq(nfs3_lookup_result_decode(&fh, &attr, results),
				 len == full.len ? 0 : -EBADMSG);
		buf_unref(results);
	}
	ck_assert_uint_eq(fh.len, 6);
	ck_assert_mem_eq(fh.data, "handle", 6);
	ck_assert_int_eq(attr.has_after, _i & 1);
	ck_assert_uint_eq(attr.after.nlink, _i & 1 ? NFS3_REG + 2 : 0);
	full.data[3] = NFS3ERR_IO;
	struct buf *failed = results_of(&full, full.len);
	ck_assert_int_eq(nfs3_lookup_result_decode(&fh, &attr, failed), -EBADMSG);
	buf_unref(failed);
}
END_TEST

START_TEST(the_handle_of_create_may_be_there)
{
	struct nfs3_fh fh;
	uint32_t has_fh;

	for (has_fh = 0; has_fh < 2; has_fh++) {
		struct buf *results;

		full.len = 0;
		wire_put_u32(&full, 0);
		wire_put_u32(&full, has_fh);
		wire_put_text(&full, "handle"); /* else the rest begins here */
		results = results_of(&full, full.len);
		ck_assert_int_eq(nfs3_create_result_has_fh(&fh, results), has_fh);
		buf_start(results)[3] = NFS3ERR_IO;
		ck_assert(!nfs3_create_result_has_fh(&fh, results));
		buf_unref(results);
	}
	ck_assert_mem_eq(fh.data, "handle", 6);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("nfs3_attrs");
	TCase *tcase = unit_case(suite, "filter");

	tcase_add_loop_test(tcase, every_choice_leaves_the_rest, 0, CASES);
	tcase_add_loop_test(tcase, what_does_not_decode_is_left_alone, 0, CASES);
	tcase_add_test(tcase, bytes_behind_the_last_attributes_are_refused);
	tcase_add_test(tcase, null_has_nothing_and_other_programs_are_refused);
	tcase_add_loop_test(tcase, the_handle_of_lookup_is_found, 0, 4);
	tcase_add_test(tcase, the_handle_of_create_may_be_there);
	tcase_set_timeout(tcase, 60);
	return unit_run(suite);
}
