/*
 * RPC (RFC 5531): decodes call headers strictly, finds the procedure, makes the reply.
 *
 * The hard case is the order of faults: a call may be dropped, held, delayed, failed,
 * shortened, and its reply dropped, held, cut or spoiled, in this order. There is no
 * duplicate request cache: what comes twice is executed twice.
 */
#include "faultd.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
	RPC_CALL = 0,
	RPC_REPLY = 1,
	RPC_VERSION = 2,
	RPC_AUTH_MAX = 400,
	MACHINE_MAX = 255,
	NOBODY = 65534,
	REPLY_HEAD = 28, /* mark to accept_stat */
};
enum { AUTH_NONE = 0, AUTH_SYS = 1 };
enum { AUTH_BADCRED = 1, AUTH_BADVERF = 3 };
enum {
	ACCEPT_SUCCESS = 0,
	ACCEPT_PROG_UNAVAIL,
	ACCEPT_PROG_MISMATCH,
	ACCEPT_PROC_UNAVAIL,
	ACCEPT_GARBAGE_ARGS
};

struct program {
	uint32_t number, low, high;
	enum proc first;
	uint32_t count;
};

static const struct program programs[] = {
	{ 100003, 3, 3, PROC_NFS_FIRST, PROC_MOUNT_FIRST - PROC_NFS_FIRST },
	{ 100005, 1, 3, PROC_MOUNT_FIRST, PROC_ACL_FIRST - PROC_MOUNT_FIRST },
	{ 100227, 3, 3, PROC_ACL_FIRST, PROC_COUNT - PROC_ACL_FIRST },
};

static bool proc_null(struct faultd *f, struct call *call, struct xdr_out *out)
{
	(void)f;
	(void)out;
	return xdr_get_done(&call->args);
}

static proc_fn *const proc_fns[PROC_COUNT] = {
	[PROC_NFS_FIRST] = proc_null,
	[PROC_GETATTR] = nfs_getattr,
	[PROC_SETATTR] = nfs_setattr,
	[PROC_LOOKUP] = nfs_lookup,
	[PROC_ACCESS] = nfs_access,
	[PROC_READLINK] = nfs_readlink,
	[PROC_READ] = nfs_read,
	[PROC_WRITE] = nfs_write,
	[PROC_CREATE] = nfs_create,
	[PROC_MKDIR] = nfs_mkdir,
	[PROC_SYMLINK] = nfs_symlink,
	[PROC_MKNOD] = nfs_mknod,
	[PROC_REMOVE] = nfs_remove,
	[PROC_RMDIR] = nfs_rmdir,
	[PROC_RENAME] = nfs_rename,
	[PROC_LINK] = nfs_link,
	[PROC_READDIR] = nfs_readdir,
	[PROC_READDIRPLUS] = nfs_readdirplus,
	[PROC_FSSTAT] = nfs_fsstat,
	[PROC_FSINFO] = nfs_fsinfo,
	[PROC_PATHCONF] = nfs_pathconf,
	[PROC_COMMIT] = nfs_commit,
	[PROC_MOUNT_FIRST] = proc_null,
	[PROC_MOUNT_MNT] = mount_mnt,
	[PROC_MOUNT_DUMP] = mount_dump,
	[PROC_MOUNT_UMNT] = mount_umnt,
	[PROC_MOUNT_UMNTALL] = mount_umntall,
	[PROC_MOUNT_EXPORT] = mount_export,
	[PROC_ACL_FIRST] = proc_null,
	[PROC_ACL_GETACL] = acl_getacl,
	[PROC_ACL_SETACL] = acl_setacl,
};

void rpc_violation(struct faultd *f, const char *fmt, ...)
{
	va_list ap;

	f->stats.violations++;
	va_start(ap, fmt);
	vsnprintf(f->stats.last_violation, sizeof(f->stats.last_violation), fmt, ap);
	va_end(ap);
}

static struct xdr_out reply_start(struct faultd *f, const struct call *call,
				  bool accepted)
{
	struct xdr_out out = { .base = f->scratch, .len = 4, .cap = f->scratch_cap };

	xdr_put_u32(&out, call->xid);
	xdr_put_u32(&out, RPC_REPLY);
	xdr_put_u32(&out, accepted ? 0 : 1);
	if (accepted) {
		xdr_put_u32(&out, AUTH_NONE);
		xdr_put_u32(&out, 0);
	}
	return out;
}

static void reply_finish(struct xdr_out *out)
{
	xdr_put_at(out, 0, 0x80000000u | (uint32_t)(out->len - 4));
}

static void rpc_accept_error(struct faultd *f, struct call *call, uint32_t stat,
			     uint32_t low, uint32_t high)
{
	struct xdr_out out = reply_start(f, call, true);

	f->stats.rpc_errors++;
	xdr_put_u32(&out, stat);
	if (stat == ACCEPT_PROG_MISMATCH) {
		xdr_put_u32(&out, low);
		xdr_put_u32(&out, high);
	}
	reply_finish(&out);
	conn_reply(call->conn, out.base, out.len);
}

/* auth 0: RPC_MISMATCH. */
static void rpc_deny(struct faultd *f, struct call *call, uint32_t auth)
{
	struct xdr_out out = reply_start(f, call, false);

	f->stats.rpc_errors++;
	xdr_put_u32(&out, auth ? 1 : 0);
	xdr_put_u32(&out, auth ? auth : RPC_VERSION);
	if (!auth)
		xdr_put_u32(&out, RPC_VERSION);
	reply_finish(&out);
	conn_reply(call->conn, out.base, out.len);
}

/* RFC5531-A: AUTH_SYS. */
static bool cred_decode(struct cred *cred, const uint8_t *body, uint32_t len)
{
	struct xdr_in in = { .p = body, .left = len };

	if (cred->flavor == AUTH_NONE) {
		cred->uid = cred->gid = NOBODY;
		return len == 0;
	}
	if (cred->flavor != AUTH_SYS)
		return false;
	xdr_get_u32(&in); /* stamp */
	cred->machine = xdr_get_opaque(&in, MACHINE_MAX, &cred->machine_len);
	cred->uid = xdr_get_u32(&in);
	cred->gid = xdr_get_u32(&in);
	cred->n_gids = xdr_get_u32(&in);
	if (in.bad || cred->n_gids > 16)
		return false;
	for (uint32_t i = 0; i < cred->n_gids; i++)
		cred->gids[i] = xdr_get_u32(&in);
	return xdr_get_done(&in);
}

/* False: answered already, or the connection is closed. RFC5531-9. */
static bool header_decode(struct faultd *f, struct call *call)
{
	struct xdr_in *in = &call->args;
	uint32_t type, version, cred_len, verf_flavor, verf_len;
	const uint8_t *cred_body;

	call->xid = xdr_get_u32(in);
	type = xdr_get_u32(in);
	version = xdr_get_u32(in);
	if (!in->bad && type == RPC_CALL && version != RPC_VERSION) {
		rpc_deny(f, call, 0);
		return false;
	}
	call->program = xdr_get_u32(in);
	call->version = xdr_get_u32(in);
	call->number = xdr_get_u32(in);
	call->cred.flavor = xdr_get_u32(in);
	cred_body = xdr_get_opaque(in, RPC_AUTH_MAX, &cred_len);
	verf_flavor = xdr_get_u32(in);
	xdr_get_opaque(in, RPC_AUTH_MAX, &verf_len);
	if (in->bad || type != RPC_CALL) {
		rpc_violation(f, "not a call header, %zu bytes", call->record_len);
		conn_close(call->conn, false);
		return false;
	}
	if (!cred_decode(&call->cred, cred_body, cred_len)) {
		rpc_deny(f, call, AUTH_BADCRED);
		return false;
	}
	if (verf_flavor != AUTH_NONE || verf_len) {
		rpc_deny(f, call, AUTH_BADVERF);
		return false;
	}
	return true;
}

static bool proc_decode(struct faultd *f, struct call *call)
{
	const struct program *p = NULL;

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		if (programs[i].number == call->program)
			p = &programs[i];
	}
	if (!p) {
		rpc_accept_error(f, call, ACCEPT_PROG_UNAVAIL, 0, 0);
		return false;
	}
	if (call->version != p->low && call->version != p->high) {
		rpc_accept_error(f, call, ACCEPT_PROG_MISMATCH, p->low, p->high);
		return false;
	}
	call->proc = (enum proc)(p->first + call->number);
	if (call->number >= p->count ||
	    (call->version == 1 && call->proc == PROC_MOUNT_MNT)) {
		rpc_accept_error(f, call, ACCEPT_PROC_UNAVAIL, 0, 0);
		return false;
	}
	return true;
}

/* A first look at the arguments, for rules and the ring; mistakes show later. */
static void call_peek(struct faultd *f, struct call *call)
{
	struct xdr_in in = call->args;
	const uint8_t *fh;
	uint32_t len;

	if (call->program == programs[1].number || call->number == 0)
		return;
	fh = xdr_get_opaque(&in, FS_HANDLE_MAX, &len);
	if (fh && len == f->options.handle_size) {
		struct xdr_in id = { .p = fh + 4, .left = 8 };

		call->node_id = xdr_get_u64(&id);
	}
	if (call->proc == PROC_READ || call->proc == PROC_WRITE ||
	    call->proc == PROC_COMMIT) {
		call->offset = xdr_get_u64(&in);
		call->count = xdr_get_u32(&in);
	}
	if (call->proc == PROC_WRITE)
		call->stable = xdr_get_u32(&in);
	call->forced = call->proc == PROC_COMMIT ||
		       (call->proc == PROC_WRITE && call->stable != UNSTABLE);
}

static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static size_t reply_spoil(enum garbage how, uint8_t *bytes, size_t len, uint32_t seed)
{
	size_t from = len;

	seed |= 1;
	switch (how) {
	case GARBAGE_BODY:
		from = REPLY_HEAD;
		break;
	case GARBAGE_RECORD:
		from = 4;
		break;
	case GARBAGE_MARK:
		from = 0;
		break;
	case GARBAGE_XID:
		bytes[4] ^= 0x5a;
		bytes[7] ^= 0x5a;
		break;
	case GARBAGE_SHORT:
		len = 4 + ((len - 4) / 2 & ~(size_t)3);
		xdr_put_at(&(struct xdr_out){ .base = bytes }, 0,
			   0x80000000u | (uint32_t)(len - 4));
		return len;
	}
	for (; from < len; from++)
		bytes[from] = (uint8_t)next_random(&seed);
	return len;
}

void rpc_send_made(struct faultd *f, struct call *call, uint8_t *bytes, size_t len)
{
	struct rule rule;

	if (rule_take(f, call, RULE_CUT, &rule)) {
		size_t part = rule.value < len ? (size_t)rule.value : len;

		conn_reply_last(call->conn, bytes, part);
		return;
	}
	if (rule_take(f, call, RULE_GARBAGE, &rule))
		len = reply_spoil((enum garbage)rule.variant, bytes, len, call->xid);
	conn_reply(call->conn, bytes, len);
}

static struct xdr_out call_run(struct faultd *f, struct call *call)
{
	struct xdr_out out = reply_start(f, call, true);
	size_t at = out.len;

	xdr_put_u32(&out, ACCEPT_SUCCESS);
	if (!proc_fns[call->proc](f, call, &out)) {
		rpc_violation(f, "garbage arguments of %s", proc_name(call->proc));
		f->stats.rpc_errors++;
		out.len = at;
		xdr_put_u32(&out, ACCEPT_GARBAGE_ARGS);
	}
	reply_finish(&out);
	return out;
}

void rpc_execute(struct faultd *f, struct call *call)
{
	struct xdr_out out;
	struct rule rule;

	if (rule_take(f, call, RULE_ERROR, &rule))
		call->inject = (uint32_t)rule.value;
	if (rule_take(f, call, RULE_SHORT, &rule))
		call->short_bytes = rule.value;
	out = call_run(f, call);
	stats_answer(f, call);
	if (rule_take(f, call, RULE_DROP_AFTER, &rule))
		conn_close(call->conn, false);
	else if (rule_take(f, call, RULE_HOLD_AFTER, &rule))
		queue_hold_reply(f, call, out.base, out.len);
	else
		rpc_send_made(f, call, out.base, out.len);
	if (call->kept)
		call_free(f, call);
}

void rpc_receive(struct conn *c, const uint8_t *record, size_t len)
{
	struct faultd *f = c->f;
	struct call call = {
		.conn = c,
		.record = record,
		.record_len = len,
		.args = { .p = record, .left = len },
		.short_bytes = UINT64_MAX,
	};
	struct rule rule;

	if (!header_decode(f, &call) || !proc_decode(f, &call))
		return;
	call_peek(f, &call);
	stats_arrive(f, &call);
	control_notify(f);
	if (f->mute)
		return;
	if (rule_take(f, &call, RULE_DROP_BEFORE, &rule)) {
		conn_close(c, false);
		return;
	}
	if (!queue_take(f, &call))
		rpc_execute(f, &call);
}
