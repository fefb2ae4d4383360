/*
 * Load for an NFS server or what stands before it, and how it is measured.
 *
 * A phase is a number of operations for every client; an operation is a row of calls, one
 * after the other, each on the client's own connection; `depth` operations of a client are
 * under way at once.
 *
 *   nfsload.c         options, the phases of a run, what is printed
 *   nfsload_phase.c   connections, polling, operations under way, times
 *   nfsload_call.c    the calls: arguments out, results looked at
 *   nfsload_watch.c   what another process used meanwhile
 */
#ifndef NFSLOAD_H
#define NFSLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <nfsc/libnfs.h> /* first: the others need its rpc_cb */

#include <nfsc/libnfs-raw.h>

enum {
	LOAD_CLIENTS_MAX = 64,
	LOAD_DEPTH_MAX = 64,
	LOAD_CALLS_MAX = 3, /* in one operation */
	LOAD_SIZE_MAX = 1024 * 1024,
	LOAD_HANDLE_MAX = 64,
};

enum load_kind {
	LOAD_END, /* of an operation */
	LOAD_MOUNT,
	LOAD_MAKE_FILE, /* the client's own file, or the one that all share */
	LOAD_NULL,
	LOAD_GETATTR,
	LOAD_READ,
	LOAD_WRITE,
	LOAD_WRITE_SYNC,
	LOAD_COMMIT,
	LOAD_CREATE, /* a small file; the calls after it are about that file */
	LOAD_REMOVE,
};

struct load_handle {
	unsigned int len;
	char data[LOAD_HANDLE_MAX];
};

struct load_client;

/* One operation under way. */
struct load_op {
	struct load_client *client;
	uint64_t number; /* of the client's operations of this phase, from 0 */
	unsigned int at; /* which of the phase's calls */
	uint64_t started_ns;
	bool is_replied;  /* set in the library's callback, acted upon after it */
	bool is_own_file; /* `file` is set by LOAD_CREATE, else the client's counts */
	struct load_handle file;
};

struct load_client {
	struct load *load;
	unsigned int index;
	struct rpc_context *rpc;
	bool is_connected;
	struct load_handle root;
	struct load_handle file;
	char verifier[8]; /* of the last WRITE */
	bool has_verifier;
	uint64_t next_op;
	unsigned int under_way;
	struct load_op op[LOAD_DEPTH_MAX];
	struct load_op *idle[LOAD_DEPTH_MAX]; /* the depth - under_way first */
};

struct load {
	const char *address;
	int port;
	const char *export_path;
	const char *prefix; /* of file names */
	unsigned int client_count;
	unsigned int depth;
	uint32_t size_bytes; /* of a READ or WRITE */
	bool is_shared;	     /* one file for all clients */

	/* the phase that runs */
	const enum load_kind *calls; /* of an operation, up to LOAD_END */
	uint64_t ops;		     /* of each client */
	uint64_t *latency_ns; /* one for each operation of all clients; or NULL */
	uint64_t latency_count;

	char failure[256]; /* the first one; empty: none */
	struct load_client client[LOAD_CLIENTS_MAX];
	char payload[LOAD_SIZE_MAX];
};

/* Notes the first failure, printf-like. */
void load_fail(struct load *load, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

uint64_t load_now_ns(void);

/* nfsload_phase.c: false when it failed. */
bool load_connect(struct load *load);
bool load_run_phase(struct load *load, const enum load_kind *calls, uint64_t ops);
void load_disconnect(struct load *load);

/* nfsload_call.c */
/* Hands the op's call to the library; its reply sets op->is_replied. */
void load_call_send(struct load_op *op);

/* nfsload_watch.c */
struct watch {
	double cpu_s;
	uint64_t faults;
	uint64_t resident_bytes;
	uint64_t peak_bytes; /* resident, in the process' life */
};

/* What the process has used up to now; false: there is no such process. */
bool watch_read(int pid, struct watch *watch);

#endif
