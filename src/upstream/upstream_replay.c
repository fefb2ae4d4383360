/*
 * Errors that our own re-sending of non-idempotent calls brings about.
 *
 * After a reconnect the server does not know a call again (its cache of replies goes by
 * source port), so one that had run comes back as NOENT, EXIST or NOT_SYNC. What the
 * client is to see:
 *
 *   REMOVE, RMDIR    NOENT     OK
 *   RENAME           NOENT     OK if the target is there
 *   MKDIR, SYMLINK, MKNOD, GUARDED CREATE
 *                    EXIST     OK if one of that type is there, made since we sent
 *   LINK             EXIST     OK if it is that file, changed since we sent
 *   SETATTR          NOT_SYNC  OK if all is as it was to be set
 *
 * The hard case: telling our own work from another client's. "Since" is by the
 * upstream's clock as estimated when the call was first sent; without an estimate the
 * error stands, for a lock file taken twice is worse than one reported as taken.
 *
 * Not promised: the right answer when another client did the same thing between our two
 * sendings.
 */
#include "upstream/upstream_replay.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "nfsgather/hash.h"
#include "upstream/upstream_core.h"
#include "wire/nfs3_result.h"
#include "wire/xdr.h"

enum {
	STATUS_BYTES = 4,
	/* status, handle, attributes, and the wcc_data of the directory */
	CREATED_MAX_BYTES = STATUS_BYTES + 8 + NFS3_FHSIZE + 4 + 84 + 32 + 88,
	/* File times are those of the server's last clock tick, not of the moment. */
	CLOCK_TICK_NS = 20 * 1000 * 1000,
};

struct upstream_replay {
	struct upstream *upstream;
	struct upstream_request *original;
	const struct replay_rule *rule;
	struct nfs_call call;
	struct upstream_request look; /* LOOKUP or GETATTR, under the same credential */
	struct buf *created;	      /* room for better results, taken beforehand */
};

/* What LOOKUP or GETATTR told; for LOOKUP attributes may be missing. */
struct replay_found {
	struct nfs3_fh fh;
	bool has_attr;
	struct nfs3_attr attr;
	const uint8_t *attr_bytes; /* the same, as they came */
};

struct replay_rule {
	enum nfs3_proc proc;
	uint32_t status; /* the error that is doubted */
	/* What to look at; NULL: the error is taken for success unseen. */
	void (*ask)(struct nfs_call *look, const struct nfs_call *call);
	bool (*was_done)(const struct upstream_request *original,
			 const struct replay_found *found);
	bool creates; /* success has the object's handle and attributes */
};

static void ask_lookup(struct nfs_call *look, const struct nfs3_dirop *where)
{
	look->program = PROGRAM_NFS;
	look->version = 3;
	look->proc = NFS3_PROC_LOOKUP;
	look->args.dirop = *where;
}

static void ask_rename(struct nfs_call *look, const struct nfs_call *call)
{
	ask_lookup(look, &call->args.rename.to);
}

static void ask_link(struct nfs_call *look, const struct nfs_call *call)
{
	ask_lookup(look, &call->args.link.to);
}

static void ask_created(struct nfs_call *look, const struct nfs_call *call)
{
	switch (call->proc) {
	case NFS3_PROC_CREATE:
		ask_lookup(look, &call->args.create.where);
		return;
	case NFS3_PROC_MKDIR:
		ask_lookup(look, &call->args.mkdir.where);
		return;
	case NFS3_PROC_SYMLINK:
		ask_lookup(look, &call->args.symlink.where);
		return;
	case NFS3_PROC_MKNOD:
		ask_lookup(look, &call->args.mknod.where);
		return;
	default:
		UNREACHABLE();
	}
}

static void ask_setattr(struct nfs_call *look, const struct nfs_call *call)
{
	look->program = PROGRAM_NFS;
	look->version = 3;
	look->proc = NFS3_PROC_GETATTR;
	look->args.fh = call->args.setattr.fh;
}

static bool is_since_first_sent(const struct upstream_request *original,
				const struct nfs3_time *time)
{
	uint64_t since_ns = original->first_sent_upstream_ns;
	uint64_t time_ns = (uint64_t)time->seconds * 1000000000u + time->nseconds;

	if (since_ns == 0)
		return false;
	/* a file system that keeps whole seconds only */
	if (time->nseconds == 0)
		return time->seconds >= since_ns / 1000000000u;
	return time_ns + CLOCK_TICK_NS >= since_ns;
}

static bool was_renamed(const struct upstream_request *original,
			const struct replay_found *found)
{
	(void)original;
	(void)found;
	return true; /* the target is there */
}

static uint32_t created_type(const struct nfs_call *call)
{
	switch (call->proc) {
	case NFS3_PROC_CREATE:
		return NFS3_REG;
	case NFS3_PROC_MKDIR:
		return NFS3_DIR;
	case NFS3_PROC_SYMLINK:
		return NFS3_LNK;
	case NFS3_PROC_MKNOD:
		return call->args.mknod.type;
	default:
		UNREACHABLE();
	}
}

static bool was_created(const struct upstream_request *original,
			const struct replay_found *found)
{
	return found->has_attr && found->attr.type == created_type(original->call) &&
	       is_since_first_sent(original, &found->attr.ctime);
}

static void in_attr(struct xdr_in *in, struct nfs3_attr *attr)
{
	attr->type = xdr_in_u32(in);
	attr->mode = xdr_in_u32(in);
	attr->nlink = xdr_in_u32(in);
	attr->uid = xdr_in_u32(in);
	attr->gid = xdr_in_u32(in);
	attr->size = xdr_in_u64(in);
	attr->used = xdr_in_u64(in);
	attr->rdev_major = xdr_in_u32(in);
	attr->rdev_minor = xdr_in_u32(in);
	attr->fsid = xdr_in_u64(in);
	attr->fileid = xdr_in_u64(in);
	attr->atime.seconds = xdr_in_u32(in);
	attr->atime.nseconds = xdr_in_u32(in);
	attr->mtime.seconds = xdr_in_u32(in);
	attr->mtime.nseconds = xdr_in_u32(in);
	attr->ctime.seconds = xdr_in_u32(in);
	attr->ctime.nseconds = xdr_in_u32(in);
}

static void in_results(struct xdr_in *in, const struct buf *results)
{
	xdr_in_init(in, results->data + results->off_bytes, results->len_bytes);
}

/* The failed LINK tells the file's attributes; without them its handle must do. */
static bool was_linked(const struct upstream_request *original,
		       const struct replay_found *found)
{
	struct nfs3_attr file;
	struct xdr_in in;

	if (!found->has_attr || !is_since_first_sent(original, &found->attr.ctime))
		return false;
	in_results(&in, original->results);
	(void)xdr_in_u32(&in);
	if (!xdr_in_bool(&in))
		return nfs3_fh_equal(&found->fh, &original->call->args.link.fh);
	in_attr(&in, &file);
	return xdr_in_ok(&in) && file.fileid == found->attr.fileid &&
	       file.fsid == found->attr.fsid;
}

static bool time_was_set(const struct upstream_request *original,
			 enum nfs3_time_how how, const struct nfs3_time *asked,
			 const struct nfs3_time *now)
{
	switch (how) {
	case NFS3_DONT_CHANGE:
		return true;
	case NFS3_SET_TO_SERVER_TIME:
		return is_since_first_sent(original, now);
	case NFS3_SET_TO_CLIENT_TIME:
		return asked->seconds == now->seconds &&
		       (asked->nseconds == now->nseconds || now->nseconds == 0);
	}
	return false;
}

static bool was_set(const struct upstream_request *original,
		    const struct replay_found *found)
{
	const struct nfs3_sattr *asked = &original->call->args.setattr.sattr;
	const struct nfs3_attr *now = &found->attr;

	return (!asked->set_mode || (asked->mode & 07777) == (now->mode & 07777)) &&
	       (!asked->set_uid || asked->uid == now->uid) &&
	       (!asked->set_gid || asked->gid == now->gid) &&
	       (!asked->set_size || asked->size == now->size) &&
	       time_was_set(original, asked->atime_how, &asked->atime, &now->atime) &&
	       time_was_set(original, asked->mtime_how, &asked->mtime, &now->mtime);
}

static const struct replay_rule rules[] = {
	{ NFS3_PROC_REMOVE, NFS3ERR_NOENT, NULL, NULL, false },
	{ NFS3_PROC_RMDIR, NFS3ERR_NOENT, NULL, NULL, false },
	{ NFS3_PROC_RENAME, NFS3ERR_NOENT, ask_rename, was_renamed, false },
	{ NFS3_PROC_CREATE, NFS3ERR_EXIST, ask_created, was_created, true },
	{ NFS3_PROC_MKDIR, NFS3ERR_EXIST, ask_created, was_created, true },
	{ NFS3_PROC_SYMLINK, NFS3ERR_EXIST, ask_created, was_created, true },
	{ NFS3_PROC_MKNOD, NFS3ERR_EXIST, ask_created, was_created, true },
	{ NFS3_PROC_LINK, NFS3ERR_EXIST, ask_link, was_linked, false },
	{ NFS3_PROC_SETATTR, NFS3ERR_NOT_SYNC, ask_setattr, was_set, false },
};

static const struct replay_rule *rule_find(const struct upstream_request *request)
{
	const struct nfs_call *call = request->call;
	uint32_t status;
	size_t i;

	if (request->outcome != UPSTREAM_ANSWERED || request->sent_count < 2 ||
	    call->program != PROGRAM_NFS || request->results->len_bytes < STATUS_BYTES)
		return NULL;
	/* UNCHECKED finds what it made; EXCLUSIVE knows it again by the verifier */
	if (call->proc == NFS3_PROC_CREATE && call->args.create.mode != NFS3_GUARDED)
		return NULL;
	status = nfs3_result_status(request->results);
	for (i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].proc == call->proc && rules[i].status == status)
			return &rules[i];
	return NULL;
}

/* These have the same results for success and failure, but for the status. */
static void results_make_ok(struct buf *results)
{
	memset(buf_start(results), 0, STATUS_BYTES);
}

static void replay_free(struct upstream_replay *replay)
{
	buf_unref(replay->created);
	free(replay);
}

static bool found_decode(struct replay_found *found,
			 const struct upstream_request *look)
{
	struct nfs3_bytes fh;
	struct xdr_in in;

	if (look->outcome != UPSTREAM_ANSWERED)
		return false;
	in_results(&in, look->results);
	if (xdr_in_u32(&in) != NFS3_OK)
		return false;
	found->has_attr = true;
	if (look->call->proc == NFS3_PROC_LOOKUP) {
		fh = xdr_in_bytes(&in, NFS3_FHSIZE);
		found->fh.len = fh.len;
		if (fh.len > 0)
			memcpy(found->fh.data, fh.data, fh.len);
		found->has_attr = xdr_in_bool(&in);
	}
	if (found->has_attr) {
		found->attr_bytes = in.at;
		in_attr(&in, &found->attr);
	}
	return xdr_in_ok(&in);
}

/* The success of CREATE and its kin, around the directory's wcc_data of the failure. */
static bool replay_make_created(struct upstream_replay *replay,
				const struct replay_found *found)
{
	enum { ATTR_BYTES = 84 };
	struct upstream_request *original = replay->original;
	struct buf *failure = original->results;
	struct xdr_out out;

	xdr_out_init(&out, buf_start(replay->created), CREATED_MAX_BYTES);
	xdr_out_u32(&out, NFS3_OK);
	xdr_out_bool(&out, true);
	xdr_out_bytes(&out, found->fh.data, found->fh.len);
	xdr_out_bool(&out, true);
	xdr_out_fixed(&out, found->attr_bytes, ATTR_BYTES);
	xdr_out_fixed(&out, buf_start(failure) + STATUS_BYTES,
		      (uint32_t)(failure->len_bytes - STATUS_BYTES));
	if (!xdr_out_ok(&out))
		return false;
	replay->created->len_bytes = xdr_out_len_bytes(&out);
	original->results = replay->created;
	replay->created = NULL;
	buf_unref(failure);
	return true;
}

static void replay_on_look(struct upstream_request *look)
{
	struct upstream_replay *replay =
		container_of(look, struct upstream_replay, look);
	struct upstream_request *original = replay->original;
	struct replay_found found = { 0 };

	if (look->outcome == UPSTREAM_CANCELLED) {
		buf_unref(original->results);
		original->results = NULL;
		original->outcome = UPSTREAM_CANCELLED;
	} else if (found_decode(&found, look) &&
		   replay->rule->was_done(original, &found)) {
		if (!replay->rule->creates)
			results_make_ok(original->results);
		else if (!replay_make_created(replay, &found))
			log_debug("upstream %s: results too long",
				  replay->upstream->name);
	}
	if (look->outcome == UPSTREAM_ANSWERED)
		buf_unref(look->results);
	replay_free(replay);
	original->done(original);
}

static struct upstream_replay *replay_new(struct upstream *upstream,
					  struct upstream_request *original,
					  const struct replay_rule *rule)
{
	struct upstream_replay *replay = calloc(1, sizeof(*replay));

	if (replay == NULL)
		return NULL;
	replay->created = buf_new(UPSTREAM_REPLY_HEADROOM_BYTES + CREATED_MAX_BYTES);
	if (replay->created == NULL) {
		free(replay);
		return NULL;
	}
	replay->created->off_bytes = UPSTREAM_REPLY_HEADROOM_BYTES;
	replay->upstream = upstream;
	replay->original = original;
	replay->rule = rule;
	rule->ask(&replay->call, original->call);
	replay->look.call = &replay->call;
	replay->look.cred = original->cred;
	replay->look.done = replay_on_look;
	return replay;
}

bool upstream_replay_start(struct upstream *upstream, struct upstream_request *request)
{
	const struct replay_rule *rule = rule_find(request);
	struct upstream_replay *replay;

	if (rule == NULL)
		return false;
	if (rule->ask == NULL) {
		results_make_ok(request->results);
		return false;
	}
	replay = replay_new(upstream, request, rule);
	if (replay == NULL) {
		const struct timeval delay =
			upstream_timeval(upstream->tuning.memory_retry_ms);

		TAILQ_INSERT_TAIL(&upstream->replay_waiting, request, link);
		event_add(upstream->replay_event, &delay);
		return true;
	}
	upstream_submit(upstream, &replay->look);
	return true;
}

void upstream_replay_on_memory(int fd, short what, void *arg)
{
	struct upstream *upstream = arg;

	(void)fd;
	(void)what;
	TAILQ_CONCAT(&upstream->done, &upstream->replay_waiting, link);
	event_active(upstream->done_event, EV_TIMEOUT, 0);
}

void upstream_replay_give_up_waiting(struct upstream *upstream)
{
	TAILQ_CONCAT(&upstream->done, &upstream->replay_waiting, link);
}
