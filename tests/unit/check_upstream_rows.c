/*
 * Arguments and results of every procedure, written out by hand from the RFCs: what
 * must go through libnfs and back unchanged.
 */
#include "unit/check_upstream_rows.h"

#include <string.h>

static void put_nothing(struct bytes *bytes)
{
	(void)bytes;
}

static void args_fh(struct bytes *args)
{
	put_fh(args, 7, 64);
}

static void args_fh_short(struct bytes *args)
{
	put_fh(args, 7, 1);
}

static void args_dirop(struct bytes *args)
{
	put_fh(args, 8, 36);
	put_text(args, "a name");
}

static void args_dirop_longest(struct bytes *args)
{
	char text[256];

	memset(text, 0xe4, 255);
	text[255] = '\0';
	put_fh(args, 8, 64);
	put_text(args, text);
}

static void put_words(struct bytes *bytes, const uint32_t *words, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		put_u32(bytes, words[i]);
}

/* every attribute set, times by the client */
static void put_sattr_all(struct bytes *args)
{
	static const uint32_t words[] = { 1, 0751, 1,  31, 1, 32, 1, 0x80000000,
					  1, 2,	   33, 34, 2, 35, 36 };

	put_words(args, words, sizeof(words) / sizeof(words[0]));
}

/* nothing set, but one time to the server's */
static void put_sattr_few(struct bytes *args)
{
	static const uint32_t words[] = { 0, 0, 0, 0, 1, 0 };

	put_words(args, words, sizeof(words) / sizeof(words[0]));
}

static void args_setattr(struct bytes *args)
{
	put_fh(args, 1, 28);
	put_sattr_all(args);
	put_u32(args, 1);
	put_u32(args, 41);
	put_u32(args, 42);
}

static void args_setattr_few(struct bytes *args)
{
	put_fh(args, 1, 28);
	put_sattr_few(args);
	put_u32(args, 0);
}

static void args_access(struct bytes *args)
{
	put_fh(args, 2, 64);
	put_u32(args, 0x3f);
}

static void args_read(struct bytes *args)
{
	put_fh(args, 3, 64);
	put_u64(args, 0x0123456789abcdefu);
	put_u32(args, 4000);
}

static void args_write(struct bytes *args)
{
	uint8_t payload[1001];

	memset(payload, 0xa5, sizeof(payload));
	put_fh(args, 4, 64);
	put_u64(args, 0xfedcba9876543210u);
	put_u32(args, sizeof(payload));
	put_u32(args, NFS3_DATA_SYNC);
	put_opaque(args, payload, sizeof(payload));
}

static void args_write_empty(struct bytes *args)
{
	put_fh(args, 4, 64);
	put_u64(args, 0);
	put_u32(args, 0);
	put_u32(args, NFS3_UNSTABLE);
	put_u32(args, 0);
}

static void args_create_unchecked(struct bytes *args)
{
	args_dirop(args);
	put_u32(args, NFS3_UNCHECKED);
	put_sattr_all(args);
}

static void args_create_guarded(struct bytes *args)
{
	args_dirop(args);
	put_u32(args, NFS3_GUARDED);
	put_sattr_few(args);
}

static void args_create_exclusive(struct bytes *args)
{
	args_dirop(args);
	put_u32(args, NFS3_EXCLUSIVE);
	put_fixed(args, "\x01\x00\xff\x7f\x80\x02\x03\x04", 8);
}

static void args_mkdir(struct bytes *args)
{
	args_dirop(args);
	put_sattr_all(args);
}

static void args_symlink(struct bytes *args)
{
	args_dirop(args);
	put_sattr_few(args);
	put_text(args, "../to/somewhere");
}

static void args_mknod_chr(struct bytes *args)
{
	args_dirop(args);
	put_u32(args, NFS3_CHR);
	put_sattr_all(args);
	put_u32(args, 51);
	put_u32(args, 52);
}

static void args_mknod_fifo(struct bytes *args)
{
	args_dirop(args);
	put_u32(args, NFS3_FIFO);
	put_sattr_few(args);
}

static void args_mknod_dir(struct bytes *args)
{
	args_dirop(args);
	put_u32(args, NFS3_DIR);
}

static void args_rename(struct bytes *args)
{
	put_fh(args, 9, 64);
	put_text(args, "from");
	put_fh(args, 10, 32);
	put_text(args, "target");
}

static void args_link(struct bytes *args)
{
	put_fh(args, 11, 64);
	put_fh(args, 12, 60);
	put_text(args, "link");
}

static void args_readdir(struct bytes *args)
{
	put_fh(args, 13, 64);
	put_u64(args, 0xffffffffffffffffu);
	put_fixed(args, "\x00\x01\x02\x03\x04\x05\x06\x07", 8);
	put_u32(args, 8192);
}

static void args_readdirplus(struct bytes *args)
{
	args_readdir(args);
	put_u32(args, 32768);
}

static void args_commit(struct bytes *args)
{
	put_fh(args, 4, 64);
	put_u64(args, 4096);
	put_u32(args, 8192);
}

static void args_path(struct bytes *args)
{
	put_text(args, "/exp/with space/");
}

static void args_path_longest(struct bytes *args)
{
	char text[MOUNT_PATH_MAX_BYTES + 1];

	memset(text, 'p', MOUNT_PATH_MAX_BYTES);
	text[MOUNT_PATH_MAX_BYTES] = '\0';
	put_text(args, text);
}

static void args_getacl(struct bytes *args)
{
	put_fh(args, 14, 64);
	put_u32(args, 0xf);
}

static void args_setacl(struct bytes *args)
{
	put_fh(args, 14, 64);
	put_u32(args, 0xf);
	put_aces(args, 5, 3);
	put_aces(args, 2, 2);
}

static void args_setacl_longest(struct bytes *args)
{
	put_fh(args, 14, 64);
	put_u32(args, 0xf);
	put_aces(args, 200, 200);
	put_aces(args, 56, 56);
}

/* --- results --- */

static void res_status(struct bytes *results)
{
	put_u32(results, NFS3ERR_STALE);
}

static void res_unknown_status(struct bytes *results)
{
	put_u32(results, 123456);
}

static void res_fail_attr(struct bytes *results)
{
	put_u32(results, NFS3ERR_ACCES);
	put_post_attr(results, NFS3_REG, 600, 100);
}

static void res_fail_no_attr(struct bytes *results)
{
	put_u32(results, NFS3ERR_JUKEBOX);
	put_u32(results, 0);
}

static void res_fail_wcc(struct bytes *results)
{
	put_u32(results, NFS3ERR_NOSPC);
	put_wcc(results, 100);
}

static void res_fail_no_wcc(struct bytes *results)
{
	put_u32(results, NFS3ERR_ROFS);
	put_no_wcc(results);
}

static void res_fail_two_wcc(struct bytes *results)
{
	res_fail_wcc(results);
	put_wcc(results, 101);
}

static void res_fail_attr_wcc(struct bytes *results)
{
	res_fail_attr(results);
	put_wcc(results, 101);
}

static void res_getattr(struct bytes *results)
{
	put_u32(results, NFS3_OK);
	put_attr(results, NFS3_REG, 601, 100, 999999999);
}

static void res_wcc(struct bytes *results)
{
	put_u32(results, NFS3_OK);
	put_wcc(results, 100);
}

static void res_two_wcc(struct bytes *results)
{
	res_wcc(results);
	put_wcc(results, 102);
}

static void res_lookup(struct bytes *results)
{
	put_u32(results, NFS3_OK);
	put_fh(results, 99, 64);
	put_post_attr(results, NFS3_LNK, 602, 100);
	put_post_attr(results, NFS3_DIR, 603, 101);
}

static void res_access(struct bytes *results)
{
	put_u32(results, NFS3_OK);
	put_post_attr(results, NFS3_REG, 604, 100);
	put_u32(results, 0x1f);
}

static void res_readlink(struct bytes *results)
{
	put_u32(results, NFS3_OK);
	put_post_attr(results, NFS3_LNK, 605, 100);
	put_text(results, "some/target");
}

static void res_read(struct bytes *results)
{
	uint8_t payload[3999];

	memset(payload, 0x5a, sizeof(payload));
	put_u32(results, NFS3_OK);
	put_post_attr(results, NFS3_REG, 606, 100);
	put_u32(results, sizeof(payload));
	put_u32(results, 1);
	put_opaque(results, payload, sizeof(payload));
}

static void res_write(struct bytes *results)
{
	put_u32(results, NFS3_OK);
	put_wcc(results, 100);
	put_u32(results, 1001);
	put_u32(results, NFS3_FILE_SYNC);
	put_fixed(results, "\x88\x77\x66\x55\x44\x33\x22\x11", 8);
}

static void res_created(struct bytes *results)
{
	put_u32(results, NFS3_OK);
	put_u32(results, 1);
	put_fh(results, 98, 64);
	put_post_attr(results, NFS3_REG, 607, 100);
	put_wcc(results, 101);
}

static void res_created_bare(struct bytes *results)
{
	put_u32(results, NFS3_OK);
	put_u32(results, 0);
	put_u32(results, 0);
	put_no_wcc(results);
}

static void res_link(struct bytes *results)
{
	put_u32(results, NFS3_OK);
	put_post_attr(results, NFS3_REG, 608, 100);
	put_wcc(results, 101);
}

static void res_readdir(struct bytes *results)
{
	uint32_t i;

	put_u32(results, NFS3_OK);
	put_post_attr(results, NFS3_DIR, 609, 100);
	put_fixed(results, "\x07\x06\x05\x04\x03\x02\x01\x00", 8);
	for (i = 0; i < 100; i++) {
		put_u32(results, 1);
		put_u64(results, 700 + i);
		put_text(results, i % 2 == 0 ? "entry" : "four");
		put_u64(results, 0x8000000000000000u + i);
	}
	put_u32(results, 0);
	put_u32(results, 1);
}

static void res_readdirplus(struct bytes *results)
{
	uint32_t i;

	put_u32(results, NFS3_OK);
	put_post_attr(results, NFS3_DIR, 609, 100);
	put_fixed(results, "\x07\x06\x05\x04\x03\x02\x01\x00", 8);
	for (i = 0; i < 20; i++) {
		put_u32(results, 1);
		put_u64(results, 700 + i);
		put_text(results, "entry");
		put_u64(results, i);
		if (i % 3 == 0)
			put_u32(results, 0);
		else
			put_post_attr(results, NFS3_REG, 700 + i, 100);
		put_u32(results, i % 2);
		if (i % 2 == 1)
			put_fh(results, i, 64);
	}
	put_u32(results, 0);
	put_u32(results, 0);
}

static void res_fsstat(struct bytes *results)
{
	uint64_t i;

	put_u32(results, NFS3_OK);
	put_post_attr(results, NFS3_DIR, 610, 100);
	for (i = 1; i <= 6; i++)
		put_u64(results, 0x1000000000000000u * i + i);
	put_u32(results, 30);
}

static void res_fsinfo(struct bytes *results)
{
	uint32_t i;

	put_u32(results, NFS3_OK);
	put_post_attr(results, NFS3_DIR, 610, 100);
	for (i = 1; i <= 7; i++)
		put_u32(results, i * 65536);
	put_u64(results, 0x7fffffffffffffffu);
	put_u32(results, 0);
	put_u32(results, 1);
	put_u32(results, 0x1b);
}

static void res_pathconf(struct bytes *results)
{
	put_u32(results, NFS3_OK);
	put_post_attr(results, NFS3_DIR, 610, 100);
	put_words(results, (const uint32_t[]){ 32000, 255, 1, 1, 0, 1 }, 6);
}

static void res_commit(struct bytes *results)
{
	put_u32(results, NFS3_OK);
	put_wcc(results, 100);
	put_fixed(results, "\x88\x77\x66\x55\x44\x33\x22\x11", 8);
}

static void res_mnt(struct bytes *results)
{
	put_u32(results, 0);
	put_fh(results, 97, 64);
	put_u32(results, 2);
	put_u32(results, 390003);
	put_u32(results, 1);
}

static void res_mnt_fail(struct bytes *results)
{
	put_u32(results, MNT3ERR_ACCES);
}

static void res_dump(struct bytes *results)
{
	put_u32(results, 1);
	put_text(results, "client.example");
	put_text(results, "/exp");
	put_u32(results, 1);
	put_text(results, "192.0.2.9");
	put_text(results, "/other");
	put_u32(results, 0);
}

static void res_export(struct bytes *results)
{
	put_u32(results, 1);
	put_text(results, "/exp");
	put_u32(results, 1);
	put_text(results, "*");
	put_u32(results, 1);
	put_text(results, "192.0.2.0/24");
	put_u32(results, 0);
	put_u32(results, 1);
	put_text(results, "/other");
	put_u32(results, 0);
	put_u32(results, 0);
}

static void res_export_none(struct bytes *results)
{
	put_u32(results, 0);
}

static void res_getacl(struct bytes *results)
{
	put_u32(results, NFS3_OK);
	put_post_attr(results, NFS3_DIR, 611, 100);
	put_u32(results, 0xf);
	put_aces(results, 4, 4);
	put_aces(results, 0, 0);
}

static void res_setacl(struct bytes *results)
{
	put_u32(results, NFS3_OK);
	put_post_attr(results, NFS3_DIR, 611, 100);
}

#define NFS(proc, args, results)                                                       \
	{                                                                              \
#proc " " #args " " #results, PROGRAM_NFS, 3, NFS3_PROC_##proc, args,  \
			results                                                        \
	}
#define MOUNT(version, proc, args, results)                                            \
	{                                                                              \
		"MOUNT " #version " " #proc " " #args, PROGRAM_MOUNT, version,         \
			MOUNT_PROC_##proc, args, results                               \
	}
#define ACL(proc, args, results)                                                       \
	{                                                                              \
#proc " " #args " " #results, PROGRAM_NFSACL, 3, NFSACL_PROC_##proc,   \
			args, results                                                  \
	}

const struct upstream_row upstream_rows[] = {
	NFS(NULL, put_nothing, put_nothing),
	NFS(GETATTR, args_fh, res_getattr),
	NFS(GETATTR, args_fh_short, res_status),
	NFS(GETATTR, args_fh, res_unknown_status),
	NFS(SETATTR, args_setattr, res_wcc),
	NFS(SETATTR, args_setattr_few, res_fail_wcc),
	NFS(LOOKUP, args_dirop, res_lookup),
	NFS(LOOKUP, args_dirop_longest, res_fail_attr),
	NFS(ACCESS, args_access, res_access),
	NFS(ACCESS, args_access, res_fail_no_attr),
	NFS(READLINK, args_fh, res_readlink),
	NFS(READLINK, args_fh, res_fail_attr),
	NFS(READ, args_read, res_read),
	NFS(READ, args_read, res_fail_attr),
	NFS(WRITE, args_write, res_write),
	NFS(WRITE, args_write, res_fail_wcc),
	NFS(WRITE, args_write_empty, res_fail_no_wcc),
	NFS(CREATE, args_create_unchecked, res_created),
	NFS(CREATE, args_create_guarded, res_created_bare),
	NFS(CREATE, args_create_exclusive, res_fail_wcc),
	NFS(MKDIR, args_mkdir, res_created),
	NFS(MKDIR, args_mkdir, res_fail_wcc),
	NFS(SYMLINK, args_symlink, res_created),
	NFS(SYMLINK, args_symlink, res_fail_wcc),
	NFS(MKNOD, args_mknod_chr, res_created),
	NFS(MKNOD, args_mknod_fifo, res_fail_wcc),
	NFS(MKNOD, args_mknod_dir, res_fail_no_wcc),
	NFS(REMOVE, args_dirop, res_wcc),
	NFS(REMOVE, args_dirop, res_fail_wcc),
	NFS(RMDIR, args_dirop, res_wcc),
	NFS(RMDIR, args_dirop, res_fail_wcc),
	NFS(RENAME, args_rename, res_two_wcc),
	NFS(RENAME, args_rename, res_fail_two_wcc),
	NFS(LINK, args_link, res_link),
	NFS(LINK, args_link, res_fail_attr_wcc),
	NFS(READDIR, args_readdir, res_readdir),
	NFS(READDIR, args_readdir, res_fail_attr),
	NFS(READDIRPLUS, args_readdirplus, res_readdirplus),
	NFS(READDIRPLUS, args_readdirplus, res_fail_attr),
	NFS(FSSTAT, args_fh, res_fsstat),
	NFS(FSSTAT, args_fh, res_fail_attr),
	NFS(FSINFO, args_fh, res_fsinfo),
	NFS(FSINFO, args_fh, res_fail_attr),
	NFS(PATHCONF, args_fh, res_pathconf),
	NFS(PATHCONF, args_fh, res_fail_attr),
	NFS(COMMIT, args_commit, res_commit),
	NFS(COMMIT, args_commit, res_fail_wcc),
	MOUNT(1, DUMP, put_nothing, res_dump),
	MOUNT(1, UMNT, args_path, put_nothing),
	MOUNT(1, UMNTALL, put_nothing, put_nothing),
	MOUNT(1, EXPORT, put_nothing, res_export),
	MOUNT(3, NULL, put_nothing, put_nothing),
	MOUNT(3, MNT, args_path, res_mnt),
	MOUNT(3, MNT, args_path_longest, res_mnt_fail),
	MOUNT(3, DUMP, put_nothing, res_dump),
	MOUNT(3, UMNT, args_path, put_nothing),
	MOUNT(3, UMNTALL, put_nothing, put_nothing),
	MOUNT(3, EXPORT, put_nothing, res_export),
	MOUNT(3, EXPORT, put_nothing, res_export_none),
	ACL(NULL, put_nothing, put_nothing),
	ACL(GETACL, args_getacl, res_getacl),
	ACL(GETACL, args_getacl, res_fail_no_attr),
	ACL(SETACL, args_setacl, res_setacl),
	ACL(SETACL, args_setacl_longest, res_fail_no_attr),
};
const unsigned int upstream_row_count =
	sizeof(upstream_rows) / sizeof(upstream_rows[0]);
