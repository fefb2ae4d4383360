/*
 * Fault rules: which calls a fault is for, and how often.
 *
 * The hard case is counting: a rule is used up only by calls that match all its filters,
 * and lets its first `skip` matches pass. The oldest matching rule wins.
 */
#include "faultd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const proc_names[PROC_COUNT] = {
	[PROC_NFS_FIRST] = "NULL",
	[PROC_GETATTR] = "GETATTR",
	[PROC_SETATTR] = "SETATTR",
	[PROC_LOOKUP] = "LOOKUP",
	[PROC_ACCESS] = "ACCESS",
	[PROC_READLINK] = "READLINK",
	[PROC_READ] = "READ",
	[PROC_WRITE] = "WRITE",
	[PROC_CREATE] = "CREATE",
	[PROC_MKDIR] = "MKDIR",
	[PROC_SYMLINK] = "SYMLINK",
	[PROC_MKNOD] = "MKNOD",
	[PROC_REMOVE] = "REMOVE",
	[PROC_RMDIR] = "RMDIR",
	[PROC_RENAME] = "RENAME",
	[PROC_LINK] = "LINK",
	[PROC_READDIR] = "READDIR",
	[PROC_READDIRPLUS] = "READDIRPLUS",
	[PROC_FSSTAT] = "FSSTAT",
	[PROC_FSINFO] = "FSINFO",
	[PROC_PATHCONF] = "PATHCONF",
	[PROC_COMMIT] = "COMMIT",
	[PROC_MOUNT_FIRST] = "MOUNT_NULL",
	[PROC_MOUNT_MNT] = "MNT",
	[PROC_MOUNT_DUMP] = "DUMP",
	[PROC_MOUNT_UMNT] = "UMNT",
	[PROC_MOUNT_UMNTALL] = "UMNTALL",
	[PROC_MOUNT_EXPORT] = "EXPORT",
	[PROC_ACL_FIRST] = "ACL_NULL",
	[PROC_ACL_GETACL] = "GETACL",
	[PROC_ACL_SETACL] = "SETACL",
};

static const struct {
	const char *name;
	uint32_t status;
} statuses[] = {
	{ "PERM", 1 },	       { "NOENT", 2 },		 { "IO", 5 },
	{ "NXIO", 6 },	       { "ACCES", 13 },		 { "EXIST", 17 },
	{ "XDEV", 18 },	       { "NODEV", 19 },		 { "NOTDIR", 20 },
	{ "ISDIR", 21 },       { "INVAL", 22 },		 { "FBIG", 27 },
	{ "NOSPC", 28 },       { "ROFS", 30 },		 { "MLINK", 31 },
	{ "NAMETOOLONG", 63 }, { "NOTEMPTY", 66 },	 { "DQUOT", 69 },
	{ "STALE", 70 },       { "REMOTE", 71 },	 { "BADHANDLE", 10001 },
	{ "NOT_SYNC", 10002 }, { "BAD_COOKIE", 10003 },	 { "NOTSUPP", 10004 },
	{ "TOOSMALL", 10005 }, { "SERVERFAULT", 10006 }, { "BADTYPE", 10007 },
	{ "JUKEBOX", 10008 },
};

const char *proc_name(enum proc p)
{
	return proc_names[p];
}

int rule_parse_procs(const char *name, struct rule *r)
{
	char copy[256], *rest = NULL;
	size_t len;

	r->mask = 0;
	r->forced_only = false;
	if (!strcasecmp(name, "any") || !strcasecmp(name, "forced")) {
		r->mask = UINT32_MAX;
		r->forced_only = !strcasecmp(name, "forced");
		return 0;
	}
	len = strlen(name);
	if (len >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, name, len + 1);
	for (char *w = strtok_r(copy, ",", &rest); w; w = strtok_r(NULL, ",", &rest)) {
		uint32_t before = r->mask;

		for (uint32_t i = 0; i < PROC_COUNT; i++) {
			if (!strcasecmp(w, proc_names[i]))
				r->mask |= 1u << i;
		}
		if (r->mask == before)
			return -EINVAL;
	}
	return r->mask ? 0 : -EINVAL;
}

int nfs_status_parse(const char *name, uint32_t *status)
{
	char *end;

	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		if (!strcasecmp(name, statuses[i].name)) {
			*status = statuses[i].status;
			return 0;
		}
	}
	*status = (uint32_t)strtoul(name, &end, 10);
	return *end || end == name || !*status ? -EINVAL : 0;
}

void rule_add(struct faultd *f, const struct rule *r)
{
	struct rule **tail = &f->rules;
	struct rule *copy = malloc(sizeof(*copy));

	if (!copy)
		abort();
	*copy = *r;
	copy->next = NULL;
	while (*tail)
		tail = &(*tail)->next;
	*tail = copy;
}

bool rule_matches(const struct rule *r, const struct call *call)
{
	if (!(r->mask & 1u << call->proc) || (r->forced_only && !call->forced))
		return false;
	if (r->conn && r->conn != call->conn->number)
		return false;
	if (r->node_id && r->node_id != call->node_id)
		return false;
	return r->uid < 0 || (uint64_t)r->uid == call->cred.uid;
}

bool rule_take(struct faultd *f, const struct call *call, enum rule_kind kind,
	       struct rule *out)
{
	for (struct rule **at = &f->rules; *at; at = &(*at)->next) {
		struct rule *r = *at;

		if (r->kind != kind || !rule_matches(r, call))
			continue;
		if (r->skip) {
			r->skip--;
			continue;
		}
		*out = *r;
		if (r->count > 0 && --r->count == 0) {
			*at = r->next;
			free(r);
		}
		return true;
	}
	return false;
}

void rule_clear(struct faultd *f, int kind, uint32_t mask)
{
	struct rule **at = &f->rules;

	while (*at) {
		struct rule *r = *at;

		if ((kind >= 0 && (int)r->kind != kind) || !(r->mask & mask)) {
			at = &r->next;
			continue;
		}
		*at = r->next;
		free(r);
	}
}
