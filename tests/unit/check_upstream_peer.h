/*
 * A scripted NFS server for tests, in the test's own event loop: it keeps every call it
 * receives, and sends the bytes that the test tells it to. And what all tests of the
 * upstream share: a bench with an upstream connected to such a peer.
 */
#ifndef UNIT_CHECK_UPSTREAM_PEER_H
#define UNIT_CHECK_UPSTREAM_PEER_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "nfsgather/call.h"
#include "nfsgather/clock.h"
#include "nfsgather/stats.h"
#include "nfsgather/upstream.h"
#include "upstream/upstream_libnfs.h"
#include "upstream/upstream_tuning.h"
#include "wire/xdr.h"

enum { PEER_CALLS_MAX = 1024, PEER_CONNS_MAX = 512 };

struct peer;

struct peer_conn {
	struct peer *peer;
	unsigned int number; /* in order of accepting, from 0 */
	int fd;		     /* -1: closed, by whichever side */
	bool was_reset;	     /* by the upstream */
	struct event *event;
	uint8_t *in;
	size_t in_len;
	size_t in_room;
};

/* A call as it came; args points into memory of the peer. */
struct peer_call {
	struct peer_conn *conn;
	uint32_t xid;
	uint32_t program;
	uint32_t version;
	uint32_t proc;
	uint32_t flavor;
	const uint8_t *cred;
	uint32_t cred_len;
	const uint8_t *args;
	size_t args_len;
	uint8_t *record;
};

struct peer {
	struct event_base *base;
	int family;
	uint16_t port;
	int listen_fd;
	struct event *listen_event;
	unsigned int conn_count;
	struct peer_conn conn[PEER_CONNS_MAX];
	unsigned int call_count;
	struct peer_call call[PEER_CALLS_MAX];
	/* Runs for each call when set; the call is also kept. */
	void (*on_call)(struct peer *peer, struct peer_call *call, void *arg);
	void *arg;
};

struct peer *peer_new(struct event_base *base, int family);
void peer_free(struct peer *peer);
void peer_stop_listening(struct peer *peer);
void peer_listen(struct peer *peer); /* on the port it had */
void peer_hang_up(struct peer_conn *conn);
void peer_send(struct peer_conn *conn, const void *bytes, size_t len_bytes);
/* Makes an accepted reply, record mark included; returns its length. */
size_t peer_make_reply(uint8_t *record, size_t room_bytes, uint32_t xid,
		       uint32_t accept, const void *results, size_t len_bytes);
void peer_reply(const struct peer_call *call, const void *results, size_t len_bytes);
void peer_refuse(const struct peer_call *call, uint32_t accept);
void peer_deny(const struct peer_call *call);
/* GETATTR results with file id 1; as on_call, the same for each call, NULL answered. */
void peer_answer_getattr(const struct peer_call *call);
void peer_answer(struct peer *peer, struct peer_call *call, void *arg);
/* As on_call: GETATTR results whose file id is the number of the handle asked for. */
void peer_answer_by_number(struct peer *peer, struct peer_call *call, void *arg);

/* --- the bench --- */

struct bench_clock {
	struct clock clock;
	mono_us now;
};

struct bench {
	struct event_base *base;
	struct peer *peer;
	struct upstream_tuning tuning;
	struct upstream_config config;
	struct stats stats;
	struct bench_clock clock;
	struct upstream *upstream;
	bool in_submit;
	unsigned int done_count;
	struct sent *last_done;
};

/* One call submitted, its memory included. */
struct sent {
	struct bench *bench;
	struct upstream_request request;
	struct nfs_call call;
	struct rpc_cred cred;
	uint8_t *bytes; /* what the call's views point at */
	unsigned int done_calls;
	unsigned int done_order;
};

/* A bench with a peer and short times, not connected yet; the test may change it. */
struct bench *bench_new(void);
void bench_start(struct bench *bench);
void bench_free(struct bench *bench);

/* A call from the bytes of its arguments, AUTH_SYS uid 1 gid 2; not submitted. */
struct sent *sent_new(struct bench *bench, uint32_t program, uint32_t version,
		      uint32_t proc, const void *args, size_t len_bytes);
void sent_free(struct sent *sent);
void sent_submit(struct sent *sent);
/* GETATTR of a handle made of `number` (below 256); submitted. */
struct sent *send_getattr(struct bench *bench, uint32_t number);
/* WRITE of `len` zero bytes; submitted. */
struct sent *send_write(struct bench *bench, uint32_t fh, uint64_t offset, size_t len,
			uint32_t stable);

/* Runs the loop until done() or the peer has that many; fails the test after 20 s. */
void bench_until_done(struct bench *bench, unsigned int done_count);
void bench_until_calls(struct bench *bench, unsigned int call_count);
void bench_until_conns(struct bench *bench, unsigned int conn_count);
void bench_until(struct bench *bench, bool (*holds)(struct bench *bench, void *arg),
		 void *arg);
/* Runs the loop until a timer a little slower than check_every_ms has fired 4 times. */
void bench_run_ticks(struct bench *bench);

/* --- pieces of XDR --- */

struct bytes {
	uint8_t data[8192];
	size_t len;
};

void put_u32(struct bytes *bytes, uint32_t value);
void put_u64(struct bytes *bytes, uint64_t value);
void put_fixed(struct bytes *bytes, const void *data, size_t len_bytes);
void put_opaque(struct bytes *bytes, const void *data, size_t len_bytes);
void put_text(struct bytes *bytes, const char *text);
void put_fh(struct bytes *bytes, uint32_t number, uint32_t len_bytes);
void put_attr(struct bytes *bytes, uint32_t type, uint64_t fileid, uint32_t ctime_s,
	      uint32_t ctime_ns);
/* post_op_attr with attributes; wcc_data with both; wcc_data with neither */
void put_post_attr(struct bytes *bytes, uint32_t type, uint64_t fileid,
		   uint32_t ctime_s);
void put_wcc(struct bytes *bytes, uint32_t ctime_s);
/* A WRITE of one byte, and its results: it sets the ctime, which tells the clock. */
void put_small_write(struct bytes *args);
void put_small_write_ok(struct bytes *results, uint32_t ctime_s);
void put_no_wcc(struct bytes *bytes);
/* An ACL as in NFSACL: a limit and that many entries. */
void put_aces(struct bytes *bytes, uint32_t limit, uint32_t count);
/* Whole results, in place of what was there. */
void put_getattr_ok(struct bytes *results, uint64_t fileid);
void put_write_ok(struct bytes *results);

#endif
