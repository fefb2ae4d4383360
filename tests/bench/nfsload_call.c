/*
 * The calls of a load: arguments to the library, and a look at each result.
 *
 * The hard case: a benchmark that is fast because the work was not done. So every status is
 * looked at, WRITEs carry their offset in their first bytes and READs are looked at for it,
 * short ones are failures, and COMMIT has to show the verifier that the WRITEs had.
 *
 * Not promised: that all bytes of a READ are right.
 */
#include <stdio.h>
#include <string.h>

#include "bench/nfsload.h"

#include <nfsc/libnfs-raw-mount.h>
#include <nfsc/libnfs-raw-nfs.h>

enum { FILE_MODE = 0666 };

static struct load_handle *op_file(struct load_op *op)
{
	return op->is_own_file ? &op->file : &op->client->file;
}

static nfs_fh3 handle_view(struct load_handle *handle)
{
	return (nfs_fh3){ .data = { handle->len, handle->data } };
}

static bool handle_keep(struct load_handle *handle, const char *data, unsigned int len)
{
	if (len == 0 || len > LOAD_HANDLE_MAX)
		return false;
	handle->len = len;
	memcpy(handle->data, data, len);
	return true;
}

static uint64_t op_offset(const struct load_op *op)
{
	const struct load *load = op->client->load;

	if (op->is_own_file)
		return 0;
	if (load->is_shared)
		return (op->number * load->client_count + op->client->index) *
		       load->size_bytes;
	return op->number * load->size_bytes;
}

static uint32_t fail_status(struct load_op *op, const char *what, uint32_t status)
{
	if (status != 0)
		load_fail(op->client->load, "%s: status %u", what, status);
	return status;
}

/* --- callbacks: one for each kind; they only look and take notes --- */

/* False: there are no results to look at. */
static bool reply_take(struct load_op *op, int status, void *data, const char *what)
{
	op->is_replied = true;
	if (status == RPC_STATUS_SUCCESS)
		return true;
	load_fail(op->client->load, "%s: %s", what,
		  status == RPC_STATUS_ERROR && data != NULL ? (const char *)data
							     : "connection lost");
	return false;
}

static void on_mount(struct rpc_context *rpc, int status, void *data, void *arg)
{
	struct load_op *op = arg;
	const mountres3 *res = data;
	const fhandle3 *fh;

	(void)rpc;
	if (!reply_take(op, status, data, "MNT") ||
	    fail_status(op, "MNT", res->fhs_status) != 0)
		return;
	fh = &res->mountres3_u.mountinfo.fhandle;
	if (!handle_keep(&op->client->root, fh->fhandle3_val, fh->fhandle3_len))
		load_fail(op->client->load, "MNT: no handle");
}

static void create_done(struct load_op *op, const CREATE3res *res,
			struct load_handle *to)
{
	const post_op_fh3 *obj;

	if (fail_status(op, "CREATE", res->status) != 0)
		return;
	obj = &res->CREATE3res_u.resok.obj;
	if (!obj->handle_follows ||
	    !handle_keep(to, obj->post_op_fh3_u.handle.data.data_val,
			 obj->post_op_fh3_u.handle.data.data_len))
		load_fail(op->client->load, "CREATE: no handle");
}

static void on_make_file(struct rpc_context *rpc, int status, void *data, void *arg)
{
	struct load_op *op = arg;

	(void)rpc;
	if (reply_take(op, status, data, "CREATE"))
		create_done(op, data, &op->client->file);
}

static void on_create(struct rpc_context *rpc, int status, void *data, void *arg)
{
	struct load_op *op = arg;

	(void)rpc;
	if (!reply_take(op, status, data, "CREATE"))
		return;
	create_done(op, data, &op->file);
	op->is_own_file = true;
}

static void on_null(struct rpc_context *rpc, int status, void *data, void *arg)
{
	(void)rpc;
	reply_take(arg, status, data, "NULL");
}

static void on_getattr(struct rpc_context *rpc, int status, void *data, void *arg)
{
	(void)rpc;
	if (reply_take(arg, status, data, "GETATTR"))
		fail_status(arg, "GETATTR", ((const GETATTR3res *)data)->status);
}

static void on_remove(struct rpc_context *rpc, int status, void *data, void *arg)
{
	(void)rpc;
	if (reply_take(arg, status, data, "REMOVE"))
		fail_status(arg, "REMOVE", ((const REMOVE3res *)data)->status);
}

static void on_read(struct rpc_context *rpc, int status, void *data, void *arg)
{
	struct load_op *op = arg;
	struct load *load = op->client->load;
	const READ3res *res = data;
	const READ3resok *ok;
	uint64_t offset = op_offset(op);

	(void)rpc;
	if (!reply_take(op, status, data, "READ") ||
	    fail_status(op, "READ", res->status) != 0)
		return;
	ok = &res->READ3res_u.resok;
	if (ok->count != load->size_bytes || ok->data.data_len != ok->count)
		load_fail(load, "READ: %u bytes instead of %u", ok->count,
			  load->size_bytes);
	else if (memcmp(ok->data.data_val, &offset, sizeof(offset)) != 0)
		load_fail(load, "READ: not the bytes of this offset");
}

static void on_write(struct rpc_context *rpc, int status, void *data, void *arg)
{
	struct load_op *op = arg;
	struct load_client *client = op->client;
	const WRITE3res *res = data;
	const WRITE3resok *ok;

	(void)rpc;
	if (!reply_take(op, status, data, "WRITE") ||
	    fail_status(op, "WRITE", res->status) != 0)
		return;
	ok = &res->WRITE3res_u.resok;
	if (ok->count != client->load->size_bytes)
		load_fail(client->load, "WRITE: short");
	if (client->load->calls[op->at] == LOAD_WRITE_SYNC &&
	    ok->committed != FILE_SYNC)
		load_fail(client->load, "WRITE: not stable");
	if (client->has_verifier &&
	    memcmp(client->verifier, ok->verf, sizeof(client->verifier)) != 0)
		load_fail(client->load, "WRITE: the verifier changed");
	memcpy(client->verifier, ok->verf, sizeof(client->verifier));
	client->has_verifier = true;
}

static void on_commit(struct rpc_context *rpc, int status, void *data, void *arg)
{
	struct load_op *op = arg;
	const COMMIT3res *res = data;

	(void)rpc;
	if (!reply_take(op, status, data, "COMMIT") ||
	    fail_status(op, "COMMIT", res->status) != 0)
		return;
	if (memcmp(op->client->verifier, res->COMMIT3res_u.resok.verf,
		   sizeof(op->client->verifier)) != 0)
		load_fail(op->client->load, "COMMIT: another verifier");
}

/* --- arguments --- */

static int send_mount(struct load_op *op)
{
	return rpc_mount3_mnt_async(op->client->rpc, on_mount,
				    (char *)(uintptr_t)op->client->load->export_path,
				    op);
}

static int send_create(struct load_op *op, rpc_cb cb, char *name)
{
	CREATE3args args = { .how.mode = UNCHECKED };
	sattr3 *attributes = &args.how.createhow3_u.obj_attributes;

	args.where.dir = handle_view(&op->client->root);
	args.where.name = name;
	attributes->mode.set_it = 1;
	attributes->mode.set_mode3_u.mode = FILE_MODE;
	return rpc_nfs3_create_async(op->client->rpc, cb, &args, op);
}

static int send_make_file(struct load_op *op)
{
	const struct load *load = op->client->load;
	char name[128];

	if (load->is_shared)
		snprintf(name, sizeof(name), "%s-shared", load->prefix);
	else
		snprintf(name, sizeof(name), "%s-%u", load->prefix, op->client->index);
	return send_create(op, on_make_file, name);
}

static void small_name(char *name, size_t size, const struct load_op *op)
{
	snprintf(name, size, "%s-%u-%llu", op->client->load->prefix, op->client->index,
		 (unsigned long long)op->number);
}

static int send_small_file(struct load_op *op)
{
	char name[128];

	small_name(name, sizeof(name), op);
	return send_create(op, on_create, name);
}

static int send_remove(struct load_op *op)
{
	REMOVE3args args = { .object.dir = handle_view(&op->client->root) };
	char name[128];

	small_name(name, sizeof(name), op);
	args.object.name = name;
	return rpc_nfs3_remove_async(op->client->rpc, on_remove, &args, op);
}

static int send_getattr(struct load_op *op)
{
	GETATTR3args args = { .object = handle_view(&op->client->root) };

	return rpc_nfs3_getattr_async(op->client->rpc, on_getattr, &args, op);
}

static int send_read(struct load_op *op)
{
	READ3args args = { .file = handle_view(op_file(op)),
			   .offset = op_offset(op),
			   .count = op->client->load->size_bytes };

	return rpc_nfs3_read_async(op->client->rpc, on_read, &args, op);
}

/* The library copies the payload before it returns, so all WRITEs can use the same. */
static int send_write(struct load_op *op, stable_how stable)
{
	struct load *load = op->client->load;
	uint64_t offset = op_offset(op);
	WRITE3args args = { .file = handle_view(op_file(op)),
			    .offset = offset,
			    .count = load->size_bytes,
			    .stable = stable,
			    .data = { load->size_bytes, load->payload } };

	memcpy(load->payload, &offset, sizeof(offset));
	return rpc_nfs3_write_async(op->client->rpc, on_write, &args, op);
}

static int send_commit(struct load_op *op)
{
	COMMIT3args args = { .file = handle_view(op_file(op)) };

	return rpc_nfs3_commit_async(op->client->rpc, on_commit, &args, op);
}

void load_call_send(struct load_op *op)
{
	int err = -1;

	op->is_replied = false;
	switch (op->client->load->calls[op->at]) {
	case LOAD_MOUNT:
		err = send_mount(op);
		break;
	case LOAD_MAKE_FILE:
		err = send_make_file(op);
		break;
	case LOAD_NULL:
		err = rpc_nfs3_null_async(op->client->rpc, on_null, op);
		break;
	case LOAD_GETATTR:
		err = send_getattr(op);
		break;
	case LOAD_READ:
		err = send_read(op);
		break;
	case LOAD_WRITE:
		err = send_write(op, UNSTABLE);
		break;
	case LOAD_WRITE_SYNC:
		err = send_write(op, FILE_SYNC);
		break;
	case LOAD_COMMIT:
		err = send_commit(op);
		break;
	case LOAD_CREATE:
		err = send_small_file(op);
		break;
	case LOAD_REMOVE:
		err = send_remove(op);
		break;
	case LOAD_END:
		break;
	}
	if (err != 0)
		load_fail(op->client->load, "a call could not be sent: %s",
			  rpc_get_error(op->client->rpc));
}
