/*
 * One case or more for every procedure of every program: the arguments as bytes made by
 * hand (into `bytes`), and what must be read from them. For check_nfs_call.c alone.
 */
#ifndef UNIT_NFS_CALL_CASES_H
#define UNIT_NFS_CALL_CASES_H

#include "wire/nfs_proc.h"
#include "wire_bytes.h"

enum { FH_FILL = 0xf1, OTHER_FH_FILL = 0xf2, OTHER_FH_LEN = 5 };

static struct wire_bytes bytes;

/* Length of the first handle; tests move it between its limits. */
static uint32_t fh_len = 28;

static void put_fh(void)
{
	wire_put_opaque(&bytes, FH_FILL, fh_len);
}

static void put_other_fh(void)
{
	wire_put_opaque(&bytes, OTHER_FH_FILL, OTHER_FH_LEN);
}

static void check_fh(const struct nfs3_fh *fh)
{
	static struct wire_bytes fill;

	fill.len = 0;
	wire_put_fill(&fill, FH_FILL, fh_len, 0);
	ck_assert_uint_eq(fh->len, fh_len);
	ck_assert_mem_eq(fh->data, fill.data, fh_len);
}

static void check_other_fh(const struct nfs3_fh *fh)
{
	ck_assert_uint_eq(fh->len, OTHER_FH_LEN);
	ck_assert_mem_eq(fh->data, "\xf2\xf2\xf2\xf2\xf2", OTHER_FH_LEN);
}

static void check_text(struct nfs3_bytes view, const char *text)
{
	ck_assert_uint_eq(view.len, strlen(text));
	ck_assert_mem_eq(view.data, text, view.len);
}

/* Everything set; times from the client. */
static void put_sattr_full(void)
{
	wire_put_u32(&bytes, 1);
	wire_put_u32(&bytes, 0100644);
	wire_put_u32(&bytes, 1);
	wire_put_u32(&bytes, 1001);
	wire_put_u32(&bytes, 1);
	wire_put_u32(&bytes, 0xfffffffe);
	wire_put_u32(&bytes, 1);
	wire_put_u64(&bytes, 0x8000000000000001);
	wire_put_u32(&bytes, 2);
	wire_put_u64(&bytes, 0x1111111122222222);
	wire_put_u32(&bytes, 2);
	wire_put_u64(&bytes, 0x33333333ffffffff);
}

static void check_sattr_full(const struct nfs3_sattr *sattr)
{
	ck_assert(sattr->set_mode && sattr->set_uid && sattr->set_gid &&
		  sattr->set_size);
	ck_assert_uint_eq(sattr->mode, 0100644);
	ck_assert_uint_eq(sattr->uid, 1001);
	ck_assert_uint_eq(sattr->gid, 0xfffffffe);
	ck_assert_uint_eq(sattr->size, 0x8000000000000001);
	ck_assert_int_eq(sattr->atime_how, NFS3_SET_TO_CLIENT_TIME);
	ck_assert_uint_eq(sattr->atime.seconds, 0x11111111);
	ck_assert_uint_eq(sattr->atime.nseconds, 0x22222222);
	ck_assert_int_eq(sattr->mtime_how, NFS3_SET_TO_CLIENT_TIME);
	ck_assert_uint_eq(sattr->mtime.seconds, 0x33333333);
	ck_assert_uint_eq(sattr->mtime.nseconds, 0xffffffff);
}

/* Nothing set but the times, by the server's clock and not at all. */
static void put_sattr_sparse(void)
{
	for (int i = 0; i < 4; i++)
		wire_put_u32(&bytes, 0);
	wire_put_u32(&bytes, 1);
	wire_put_u32(&bytes, 0);
}

static void check_sattr_sparse(const struct nfs3_sattr *sattr)
{
	ck_assert(!sattr->set_mode && !sattr->set_uid && !sattr->set_gid &&
		  !sattr->set_size);
	ck_assert_int_eq(sattr->atime_how, NFS3_SET_TO_SERVER_TIME);
	ck_assert_int_eq(sattr->mtime_how, NFS3_DONT_CHANGE);
}

static void make_nothing(void)
{
}

static void check_nothing(const struct nfs_call *call)
{
	ck_assert_ptr_null(nfs_call_fh(call));
}

static void make_handle(void)
{
	put_fh();
}

static void check_handle(const struct nfs_call *call)
{
	check_fh(&call->args.fh);
	ck_assert_ptr_eq(nfs_call_fh(call), &call->args.fh);
}

static void make_setattr(void)
{
	put_fh();
	put_sattr_full();
	wire_put_u32(&bytes, 1);
	wire_put_u64(&bytes, 0x4444444455555555);
}

static void check_setattr(const struct nfs_call *call)
{
	check_sattr_full(&call->args.setattr.sattr);
	ck_assert(call->args.setattr.has_guard);
	ck_assert_uint_eq(call->args.setattr.guard_ctime.seconds, 0x44444444);
	ck_assert_uint_eq(call->args.setattr.guard_ctime.nseconds, 0x55555555);
	check_fh(nfs_call_fh(call));
}

static void make_setattr_no_guard(void)
{
	put_fh();
	put_sattr_sparse();
	wire_put_u32(&bytes, 0);
}

static void check_setattr_no_guard(const struct nfs_call *call)
{
	check_fh(&call->args.setattr.fh);
	check_sattr_sparse(&call->args.setattr.sattr);
	ck_assert(!call->args.setattr.has_guard);
}

static void make_dirop(void)
{
	put_fh();
	wire_put_text(&bytes, "name");
}

static void check_dirop(const struct nfs_call *call)
{
	check_fh(nfs_call_fh(call));
	check_text(call->args.dirop.name, "name");
}

static void make_access(void)
{
	put_fh();
	wire_put_u32(&bytes, 0xffffffff);
}

static void check_access(const struct nfs_call *call)
{
	check_fh(nfs_call_fh(call));
	ck_assert_uint_eq(call->args.access.access, 0xffffffff);
}

static void make_read(void)
{
	put_fh();
	wire_put_u64(&bytes, 0xfedcba9876543210);
	wire_put_u32(&bytes, 0xfffffff0);
}

static void check_read(const struct nfs_call *call)
{
	check_fh(nfs_call_fh(call));
	ck_assert_uint_eq(call->args.read.offset, 0xfedcba9876543210);
	ck_assert_uint_eq(call->args.read.count, 0xfffffff0);
}

static void check_commit(const struct nfs_call *call)
{
	check_fh(nfs_call_fh(call));
	ck_assert_uint_eq(call->args.commit.offset, 0xfedcba9876543210);
	ck_assert_uint_eq(call->args.commit.count, 0xfffffff0);
}

static void put_write(uint32_t count, uint32_t stable, uint32_t len)
{
	bytes.len = 0;
	put_fh();
	wire_put_u64(&bytes, 0x123456789a);
	wire_put_u32(&bytes, count);
	wire_put_u32(&bytes, stable);
	wire_put_opaque(&bytes, 'w', len);
}

static void make_write(void)
{
	put_write(7, NFS3_FILE_SYNC, 7);
}

static void check_write(const struct nfs_call *call)
{
	const struct nfs3_write_args *args = &call->args.write;

	check_fh(nfs_call_fh(call));
	ck_assert_uint_eq(args->offset, 0x123456789a);
	ck_assert_uint_eq(args->count, 7);
	ck_assert_int_eq(args->stable, NFS3_FILE_SYNC);
	check_text(args->payload, "wwwwwww");
}

static void make_create(void)
{
	make_dirop();
	wire_put_u32(&bytes, NFS3_GUARDED);
	put_sattr_full();
}

static void check_create(const struct nfs_call *call)
{
	check_fh(nfs_call_fh(call));
	check_text(call->args.create.where.name, "name");
	ck_assert_int_eq(call->args.create.mode, NFS3_GUARDED);
	check_sattr_full(&call->args.create.sattr);
}

static void make_create_exclusive(void)
{
	make_dirop();
	wire_put_u32(&bytes, NFS3_EXCLUSIVE);
	wire_put_raw(&bytes, "verifier", 8);
}

static void check_create_exclusive(const struct nfs_call *call)
{
	ck_assert_int_eq(call->args.create.mode, NFS3_EXCLUSIVE);
	ck_assert_mem_eq(call->args.create.verifier, "verifier", 8);
	ck_assert(!call->args.create.sattr.set_mode);
}

static void make_mkdir(void)
{
	make_dirop();
	put_sattr_full();
}

static void check_mkdir(const struct nfs_call *call)
{
	check_fh(nfs_call_fh(call));
	check_text(call->args.mkdir.where.name, "name");
	check_sattr_full(&call->args.mkdir.sattr);
}

static void make_symlink(void)
{
	make_dirop();
	put_sattr_sparse();
	wire_put_text(&bytes, "../some/where");
}

static void check_symlink(const struct nfs_call *call)
{
	check_fh(nfs_call_fh(call));
	check_text(call->args.symlink.where.name, "name");
	check_sattr_sparse(&call->args.symlink.sattr);
	check_text(call->args.symlink.path, "../some/where");
}

static void make_mknod_device(void)
{
	make_dirop();
	wire_put_u32(&bytes, NFS3_BLK);
	put_sattr_full();
	wire_put_u32(&bytes, 8);
	wire_put_u32(&bytes, 0xffffffff);
}

static void check_mknod_device(const struct nfs_call *call)
{
	check_fh(nfs_call_fh(call));
	check_text(call->args.mknod.where.name, "name");
	ck_assert_uint_eq(call->args.mknod.type, NFS3_BLK);
	check_sattr_full(&call->args.mknod.sattr);
	ck_assert_uint_eq(call->args.mknod.rdev_major, 8);
	ck_assert_uint_eq(call->args.mknod.rdev_minor, 0xffffffff);
}

static void make_mknod_fifo(void)
{
	make_dirop();
	wire_put_u32(&bytes, NFS3_FIFO);
	put_sattr_full();
}

static void check_mknod_fifo(const struct nfs_call *call)
{
	ck_assert_uint_eq(call->args.mknod.type, NFS3_FIFO);
	check_sattr_full(&call->args.mknod.sattr);
}

static void make_mknod_regular(void)
{
	make_dirop();
	wire_put_u32(&bytes, NFS3_REG);
}

static void check_mknod_regular(const struct nfs_call *call)
{
	ck_assert_uint_eq(call->args.mknod.type, NFS3_REG);
}

static void make_rename(void)
{
	make_dirop();
	put_other_fh();
	wire_put_text(&bytes, "newer");
}

static void check_rename(const struct nfs_call *call)
{
	check_fh(nfs_call_fh(call));
	check_text(call->args.rename.from.name, "name");
	check_other_fh(&call->args.rename.to.dir);
	check_text(call->args.rename.to.name, "newer");
}

static void make_link(void)
{
	put_fh();
	put_other_fh();
	wire_put_text(&bytes, "another");
}

static void check_link(const struct nfs_call *call)
{
	check_fh(nfs_call_fh(call));
	check_other_fh(&call->args.link.to.dir);
	check_text(call->args.link.to.name, "another");
}

static void make_readdir(void)
{
	put_fh();
	wire_put_u64(&bytes, 0x7fffffffffffffff);
	wire_put_raw(&bytes, "cookieve", 8);
	wire_put_u32(&bytes, 4096);
}

static void check_readdir(const struct nfs_call *call)
{
	check_fh(nfs_call_fh(call));
	ck_assert_uint_eq(call->args.readdir.cookie, 0x7fffffffffffffff);
	ck_assert_mem_eq(call->args.readdir.cookie_verifier, "cookieve", 8);
	ck_assert_uint_eq(call->args.readdir.dircount, 4096);
}

static void make_readdirplus(void)
{
	make_readdir();
	wire_put_u32(&bytes, 1048576);
}

static void check_readdirplus(const struct nfs_call *call)
{
	check_readdir(call);
	ck_assert_uint_eq(call->args.readdir.maxcount, 1048576);
}

static void make_path(void)
{
	wire_put_text(&bytes, "/export/a");
}

static void check_path(const struct nfs_call *call)
{
	check_text(call->args.mount_path, "/export/a");
	ck_assert_ptr_null(nfs_call_fh(call));
}

static void make_getacl(void)
{
	put_fh();
	wire_put_u32(&bytes, 0xf);
}

static void check_getacl(const struct nfs_call *call)
{
	check_fh(nfs_call_fh(call));
	ck_assert_uint_eq(call->args.getacl.mask, 0xf);
}

static void put_setacl(uint32_t count, uint32_t default_count)
{
	put_fh();
	wire_put_u32(&bytes, 5);
	wire_put_u32(&bytes, 99); /* limits are not compared with the counts */
	wire_put_u32(&bytes, count);
	wire_put_fill(&bytes, 'a', count <= 1025 ? count * 12 : 0, 0);
	wire_put_u32(&bytes, 0xffffffff);
	wire_put_u32(&bytes, default_count);
	wire_put_fill(&bytes, 'd', default_count <= 1025 ? default_count * 12 : 0, 0);
}

static void make_setacl(void)
{
	put_setacl(3, 1);
}

static void check_setacl(const struct nfs_call *call)
{
	const struct nfsacl_setacl_args *args = &call->args.setacl;

	check_fh(nfs_call_fh(call));
	ck_assert_uint_eq(args->mask, 5);
	ck_assert_uint_eq(args->ace_limit, 99);
	ck_assert_uint_eq(args->ace_count, 3);
	check_text(args->aces, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
	ck_assert_uint_eq(args->default_ace_limit, 0xffffffff);
	ck_assert_uint_eq(args->default_ace_count, 1);
	check_text(args->default_aces, "dddddddddddd");
}

static const struct {
	uint32_t program;
	uint32_t version;
	uint32_t proc;
	void (*make)(void);
	void (*check)(const struct nfs_call *call);
} cases[] = {
	{ PROGRAM_NFS, 3, NFS3_PROC_NULL, make_nothing, check_nothing },
	{ PROGRAM_NFS, 3, NFS3_PROC_GETATTR, make_handle, check_handle },
	{ PROGRAM_NFS, 3, NFS3_PROC_SETATTR, make_setattr, check_setattr },
	{ PROGRAM_NFS, 3, NFS3_PROC_SETATTR, make_setattr_no_guard,
	  check_setattr_no_guard },
	{ PROGRAM_NFS, 3, NFS3_PROC_LOOKUP, make_dirop, check_dirop },
	{ PROGRAM_NFS, 3, NFS3_PROC_ACCESS, make_access, check_access },
	{ PROGRAM_NFS, 3, NFS3_PROC_READLINK, make_handle, check_handle },
	{ PROGRAM_NFS, 3, NFS3_PROC_READ, make_read, check_read },
	{ PROGRAM_NFS, 3, NFS3_PROC_WRITE, make_write, check_write },
	{ PROGRAM_NFS, 3, NFS3_PROC_CREATE, make_create, check_create },
	{ PROGRAM_NFS, 3, NFS3_PROC_CREATE, make_create_exclusive,
	  check_create_exclusive },
	{ PROGRAM_NFS, 3, NFS3_PROC_MKDIR, make_mkdir, check_mkdir },
	{ PROGRAM_NFS, 3, NFS3_PROC_SYMLINK, make_symlink, check_symlink },
	{ PROGRAM_NFS, 3, NFS3_PROC_MKNOD, make_mknod_device, check_mknod_device },
	{ PROGRAM_NFS, 3, NFS3_PROC_MKNOD, make_mknod_fifo, check_mknod_fifo },
	{ PROGRAM_NFS, 3, NFS3_PROC_MKNOD, make_mknod_regular, check_mknod_regular },
	{ PROGRAM_NFS, 3, NFS3_PROC_REMOVE, make_dirop, check_dirop },
	{ PROGRAM_NFS, 3, NFS3_PROC_RMDIR, make_dirop, check_dirop },
	{ PROGRAM_NFS, 3, NFS3_PROC_RENAME, make_rename, check_rename },
	{ PROGRAM_NFS, 3, NFS3_PROC_LINK, make_link, check_link },
	{ PROGRAM_NFS, 3, NFS3_PROC_READDIR, make_readdir, check_readdir },
	{ PROGRAM_NFS, 3, NFS3_PROC_READDIRPLUS, make_readdirplus, check_readdirplus },
	{ PROGRAM_NFS, 3, NFS3_PROC_FSSTAT, make_handle, check_handle },
	{ PROGRAM_NFS, 3, NFS3_PROC_FSINFO, make_handle, check_handle },
	{ PROGRAM_NFS, 3, NFS3_PROC_PATHCONF, make_handle, check_handle },
	{ PROGRAM_NFS, 3, NFS3_PROC_COMMIT, make_read, check_commit },
	{ PROGRAM_MOUNT, 3, MOUNT_PROC_NULL, make_nothing, check_nothing },
	{ PROGRAM_MOUNT, 3, MOUNT_PROC_MNT, make_path, check_path },
	{ PROGRAM_MOUNT, 3, MOUNT_PROC_DUMP, make_nothing, check_nothing },
	{ PROGRAM_MOUNT, 3, MOUNT_PROC_UMNT, make_path, check_path },
	{ PROGRAM_MOUNT, 3, MOUNT_PROC_UMNTALL, make_nothing, check_nothing },
	{ PROGRAM_MOUNT, 3, MOUNT_PROC_EXPORT, make_nothing, check_nothing },
	{ PROGRAM_MOUNT, 1, MOUNT_PROC_NULL, make_nothing, check_nothing },
	{ PROGRAM_MOUNT, 1, MOUNT_PROC_DUMP, make_nothing, check_nothing },
	{ PROGRAM_MOUNT, 1, MOUNT_PROC_UMNT, make_path, check_path },
	{ PROGRAM_MOUNT, 1, MOUNT_PROC_UMNTALL, make_nothing, check_nothing },
	{ PROGRAM_MOUNT, 1, MOUNT_PROC_EXPORT, make_nothing, check_nothing },
	{ PROGRAM_NFSACL, 3, NFSACL_PROC_NULL, make_nothing, check_nothing },
	{ PROGRAM_NFSACL, 3, NFSACL_PROC_GETACL, make_getacl, check_getacl },
	{ PROGRAM_NFSACL, 3, NFSACL_PROC_SETACL, make_setacl, check_setacl },
};

enum { CASE_COUNT = sizeof(cases) / sizeof(cases[0]) };

#endif
