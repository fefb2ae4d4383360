/*
 * The fault server: one process, one loop, NFSv3, MOUNT and NFSACL on one port.
 *
 * A call's way: faultd_conn.c cuts records, faultd_rpc.c decodes the header and applies
 * rules (faultd_rules.c), faultd_nfs*.c, faultd_mount.c execute, faultd_conn.c sends.
 */
#ifndef FAULTD_H
#define FAULTD_H

#include <event2/event.h>

#include "faultd_fs.h"
#include "faultd_xdr.h"

struct evbuffer;
struct control;
struct ring_call;

/* All procedures of all programs in one row: bits of a rule's mask. */
enum proc {
	PROC_NFS_FIRST = 0,
	PROC_GETATTR = 1,
	PROC_SETATTR,
	PROC_LOOKUP,
	PROC_ACCESS,
	PROC_READLINK,
	PROC_READ,
	PROC_WRITE,
	PROC_CREATE,
	PROC_MKDIR,
	PROC_SYMLINK,
	PROC_MKNOD,
	PROC_REMOVE,
	PROC_RMDIR,
	PROC_RENAME,
	PROC_LINK,
	PROC_READDIR,
	PROC_READDIRPLUS,
	PROC_FSSTAT,
	PROC_FSINFO,
	PROC_PATHCONF,
	PROC_COMMIT,
	PROC_MOUNT_FIRST,
	PROC_MOUNT_MNT,
	PROC_MOUNT_DUMP,
	PROC_MOUNT_UMNT,
	PROC_MOUNT_UMNTALL,
	PROC_MOUNT_EXPORT,
	PROC_ACL_FIRST,
	PROC_ACL_GETACL,
	PROC_ACL_SETACL,
	PROC_COUNT
};

enum stable_how { UNSTABLE = 0, DATA_SYNC = 1, FILE_SYNC = 2, STABLE_AS_ASKED = 3 };

enum rule_kind {
	RULE_DELAY,	  /* value: microseconds, variant: enum lane_mode */
	RULE_HOLD_BEFORE, /* executing */
	RULE_HOLD_AFTER,
	RULE_ERROR, /* value: NFS status */
	RULE_SHORT, /* value: bytes at most */
	RULE_CUT,   /* value: bytes of the reply record that still leave */
	RULE_DROP_BEFORE,
	RULE_DROP_AFTER,
	RULE_GARBAGE, /* variant: enum garbage */
};

enum lane_mode { LANE_PARALLEL, LANE_SERIAL, LANE_GROUP, LANE_DEFAULT };
enum garbage { GARBAGE_BODY, GARBAGE_RECORD, GARBAGE_MARK, GARBAGE_XID, GARBAGE_SHORT };

struct rule {
	enum rule_kind kind;
	uint32_t mask;	  /* of 1 << enum proc */
	bool forced_only; /* COMMIT and stable WRITE only */
	uint64_t value;
	int variant;
	int64_t count; /* times left; -1: for ever */
	uint64_t skip; /* matches to let pass first */
	/* Filters; 0 or -1: any. */
	uint64_t conn, node_id;
	int64_t uid;
	struct rule *next;
};

/* A reply record that waits (stalled, reordered, or held after execution). */
struct reply {
	struct reply *next;
	size_t len;
	uint8_t bytes[];
};

struct reply_list {
	struct reply *first, **tail;
	uint32_t n;
};

struct conn {
	struct faultd *f;
	uint64_t number; /* from 1, never used twice */
	int fd;
	uint16_t port; /* the peer's */
	char host[64];
	struct event *readable, *writable;
	uint32_t refs; /* the list while open, calls, and whoever works on it */
	bool closed;   /* fd is gone, replies are thrown away */
	bool stalled;  /* replies pile up in `waiting` */
	bool ends;     /* close when out is empty */
	uint8_t *in;   /* bytes not consumed yet */
	size_t in_len, in_cap;
	size_t in_want; /* bytes that complete the current record; 0: unknown */
	size_t joined;	/* bytes at the start of `in` joined from earlier fragments */
	uint8_t *out;	/* bytes the kernel did not take */
	size_t out_len, out_at, out_cap;
	struct reply_list waiting; /* stalled or to be reordered */
	uint64_t calls;
	struct conn *next;
};

struct call {
	struct conn *conn;
	const uint8_t *record;
	size_t record_len;
	bool kept; /* on the heap with its own record */
	uint32_t xid, program, version, number;
	enum proc proc;
	struct cred cred;
	struct xdr_in args;
	uint64_t arrival; /* counts calls; index into the ring */
	uint64_t node_id, offset;
	uint32_t count, stable;
	bool forced;
	uint32_t inject;      /* NFS status to fail with */
	uint32_t status;      /* of the reply */
	uint64_t short_bytes; /* transfer at most so much; UINT64_MAX: all */
	struct snapshot *snap;
	struct node *snap_node;
	struct event *timer;
	uint64_t delay_us;
	enum lane_mode lane_mode;
	struct reply *made; /* held after execution */
	struct call *next;
};

struct call_list {
	struct call *first, **tail;
	uint32_t n;
};

struct export
{
	char path[256];
	uint32_t fsid;
	uint64_t root_id;
};

enum { EXPORTS_MAX = 8, MOUNTS_MAX = 256 };

struct mount {
	char host[256], path[FS_PATH_MAX + 1];
};

struct options {
	const char *bind_address, *control_path;
	uint16_t port;
	uint32_t rtmax, wtmax, handle_size, ring_size;
	bool watch_stdin;
};

struct stats {
	uint64_t calls[PROC_COUNT];
	uint64_t writes[3], bytes_written, bytes_read, forced, empty_commits;
	uint64_t write_sizes[33]; /* by log2, rounded down */
	uint64_t accepted, reboots, rpc_errors, violations;
	char last_violation[128];
};

struct faultd {
	struct options options;
	struct event_base *base;
	struct event *listener, *stdin_watch;
	int listen_fd; /* -1 while refusing */
	uint16_t port;
	struct conn *conns;
	uint64_t next_conn;
	uint32_t n_conns;

	struct fs fs;
	struct export exports[EXPORTS_MAX];
	uint32_t n_exports;
	struct mount mounts[MOUNTS_MAX];
	uint32_t n_mounts;
	uint64_t verifier;

	/* script state */
	struct rule *rules;
	bool no_attrs, no_wcc, zero_verifier, mute, deaf;
	enum stable_how committed_as;
	enum lane_mode lane_default;
	uint32_t reorder;
	struct call_list held;	  /* by `hold`, in order of arrival */
	struct call_list delayed; /* parallel, each with its timer */
	struct call_list lane;	  /* serial or grouped, waiting for lane_now */
	struct call_list lane_now;
	struct event *lane_timer;

	struct stats stats;
	struct ring_call *ring;
	uint64_t arrivals;

	uint8_t *scratch; /* the reply being made */
	size_t scratch_cap;
	struct control *control;
};

/* faultd_conn.c */

/* Opens the listening socket on the known port (0: any); 0 or -errno. */
int conn_listen(struct faultd *f);
void conn_refuse(struct faultd *f);
/* Sends one reply record (mark included), or queues it by script. May close. */
void conn_reply(struct conn *c, const uint8_t *bytes, size_t len);
/* Sends bytes past all queues of the script, then closes once they left. */
void conn_reply_last(struct conn *c, const uint8_t *bytes, size_t len);
/* Sends what the script made wait, in order or reversed. */
void conn_flush_waiting(struct conn *c, bool reversed);
void conn_close(struct conn *c, bool reset);
void conn_close_all(struct faultd *f, bool flush);
struct conn *conn_find(struct faultd *f, uint64_t number);
/* Stops or resumes reading, by f->deaf. */
void conn_set_deaf(struct faultd *f);
struct conn *conn_ref(struct conn *c);
void conn_unref(struct conn *c);
/* For lists of replies. */
void reply_add(struct reply_list *l, const uint8_t *bytes, size_t len);
struct reply *reply_new(const uint8_t *bytes, size_t len);

/* faultd_rpc.c */

/* One whole record without its mark; bytes are the connection's. */
void rpc_receive(struct conn *c, const uint8_t *record, size_t len);
/* Sends a reply made earlier, or spoils it by the rules. */
void rpc_send_made(struct faultd *f, struct call *call, uint8_t *bytes, size_t len);
/* Executes a call and sends or spoils its reply, by the rules; frees a kept call. */
void rpc_execute(struct faultd *f, struct call *call);
void rpc_violation(struct faultd *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* faultd_queue.c: calls that wait */

void call_list_init(struct call_list *l);
/* Copies the call to the heap, with its record. */
struct call *call_keep(const struct call *call);
void call_free(struct faultd *f, struct call *call);
/* Puts the call where hold and delay rules want it; false: execute it now. */
bool queue_take(struct faultd *f, struct call *call);
/* Takes a call executed, whose reply is to be held. */
void queue_hold_reply(struct faultd *f, const struct call *call, const uint8_t *bytes,
		      size_t len);
/* Lets up to n held calls of the mask go on; returns how many. */
uint32_t queue_release(struct faultd *f, const struct rule *which, uint32_t n);
uint32_t queue_count(const struct faultd *f, const struct rule *which);
/* Forgets calls that wait; executed ones whose reply is held only if replies is set. */
void queue_drop(struct faultd *f, bool replies);

/* faultd_rules.c */

const char *proc_name(enum proc p);
/* Name to masks; accepts any, forced and a comma-separated list. -EINVAL. */
int rule_parse_procs(const char *name, struct rule *r);
int nfs_status_parse(const char *name, uint32_t *status);
void rule_add(struct faultd *f, const struct rule *r);
/* Finds a matching rule, uses it up by one, and copies it. */
bool rule_take(struct faultd *f, const struct call *call, enum rule_kind kind,
	       struct rule *out);
bool rule_matches(const struct rule *r, const struct call *call);
/* Removes rules of the kind (-1: all) that touch the mask. */
void rule_clear(struct faultd *f, int kind, uint32_t mask);

/* faultd_nfs.c, faultd_nfs_io.c, faultd_nfs_dir.c, faultd_nfs_make.c, faultd_acl.c,
 * faultd_mount.c: executors. False: the arguments are garbage, nothing of out counts. */

typedef bool proc_fn(struct faultd *f, struct call *call, struct xdr_out *out);

proc_fn nfs_getattr, nfs_setattr, nfs_lookup, nfs_access, nfs_readlink;
proc_fn nfs_read, nfs_write, nfs_commit;
proc_fn nfs_create, nfs_mkdir, nfs_symlink, nfs_mknod;
proc_fn nfs_remove, nfs_rmdir, nfs_rename, nfs_link, nfs_readdir, nfs_readdirplus;
proc_fn nfs_fsstat, nfs_fsinfo, nfs_pathconf;
proc_fn acl_getacl, acl_setacl;
proc_fn mount_mnt, mount_dump, mount_umnt, mount_umntall, mount_export;

/* Freezes what a COMMIT covers before it is made to wait. */
void nfs_commit_arrives(struct faultd *f, struct call *call);
/* An absolute path through the exports; NULL if there is none. */
struct node *fs_walk(struct faultd *f, const char *path, uint32_t *status);

/* faultd_stats.c */

/* The ring for options.ring_size calls; false: no memory. */
bool stats_init(struct faultd *f);
void stats_arrive(struct faultd *f, struct call *call);
void stats_answer(struct faultd *f, const struct call *call);
void stats_print(struct faultd *f, struct evbuffer *to);
void stats_print_calls(struct faultd *f, struct evbuffer *to, const struct rule *which,
		       uint64_t last);
void stats_print_conns(struct faultd *f, struct evbuffer *to);
void stats_clear_calls(struct faultd *f);

/* faultd_control.c */

/* 0 or -errno. */
int control_start(struct faultd *f);
void control_stop(struct faultd *f);
/* Something happened that a `wait` may be waiting for. */
void control_notify(struct faultd *f);

/* faultd_script.c, faultd_script_rules.c: one command, one answer line without its
 * newline. */

void script_run(struct faultd *f, char **words, int n, struct evbuffer *answer);
/* The rule commands: true if the verb was one of them. */
bool script_run_rule(struct faultd *f, char **words, int n, struct evbuffer *answer);
/* on and off; -EINVAL. */
int script_parse_switch(const char *word, bool *on);
/* All digits; -EINVAL. */
int script_parse_number(const char *word, uint64_t *v);
/* New write verifier, never an old one and never zero. */
void script_new_verifier(struct faultd *f);

#endif
