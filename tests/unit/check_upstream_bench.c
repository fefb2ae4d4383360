/*
 * The bench of the upstream's tests: an upstream connected to a scripted server, a
 * clock that the test turns, and pieces of XDR.
 *
 * Each function that runs the loop does so until something has happened, and fails the
 * test when it has not after 20 seconds.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "nfsgather/hash.h"
#include "nfsgather/log.h"
#include "unit/check_upstream_peer.h"
#include "unit/unit.h"
#include "wire/nfs_proc.h"
#include "wire/rpc_msg.h"

static mono_us bench_now(const struct clock *clock)
{
	return ((const struct bench_clock *)(const void *)clock)->now;
}

struct bench *bench_new(void)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	log_set_level(LOG_LEVEL_ERROR);
	bench->base = event_base_new();
	bench->peer = peer_new(bench->base, AF_INET);
	bench->clock.clock.now = bench_now;
	bench->clock.now = 1000000;
	bench->tuning = upstream_tuning_default;
	bench->tuning.connect_timeout_ms = 5000;
	bench->tuning.backoff_first_ms = 4;
	bench->tuning.backoff_max_ms = 16;
	bench->tuning.memory_retry_ms = 2;
	bench->tuning.check_every_ms = 2;
	/* Longer than any test here; those about it set their own. */
	bench->tuning.overdue_us = (mono_us)3600 * 1000 * 1000;
	bench->config = (struct upstream_config){ .base = bench->base,
						  .clock = &bench->clock.clock,
						  .name = "bench",
						  .server = "127.0.0.1",
						  .port = bench->peer->port,
						  .mount_port = bench->peer->port,
						  .connections = 1,
						  .stats = &bench->stats };
	return bench;
}

void bench_start(struct bench *bench)
{
	bench->upstream = upstream_libnfs_new_tuned(&bench->config, &bench->tuning);
	ck_assert_ptr_nonnull(bench->upstream);
}

void bench_free(struct bench *bench)
{
	upstream_libnfs_free(bench->upstream);
	peer_free(bench->peer);
	event_base_free(bench->base);
	free(bench);
}

static void sent_on_done(struct upstream_request *request)
{
	struct sent *sent = container_of(request, struct sent, request);
	struct bench *bench = sent->bench;

	ck_assert(!bench->in_submit);
	sent->done_calls++;
	ck_assert_uint_eq(sent->done_calls, 1);
	sent->done_order = ++bench->done_count;
	bench->last_done = sent;
	ck_assert((request->outcome == UPSTREAM_ANSWERED) ==
		  (request->results != NULL));
	if (request->results != NULL)
		ck_assert_uint_eq(request->results->off_bytes,
				  UPSTREAM_REPLY_HEADROOM_BYTES);
}

struct sent *sent_new(struct bench *bench, uint32_t program, uint32_t version,
		      uint32_t proc, const void *args, size_t len_bytes)
{
	struct sent *sent = calloc(1, sizeof(*sent));

	sent->bench = bench;
	sent->bytes = malloc(len_bytes + 1);
	memcpy(sent->bytes, args, len_bytes);
	ck_assert_int_eq(nfs_call_decode(&sent->call, program, version, proc,
					 sent->bytes, len_bytes),
			 0);
	sent->cred.flavor = RPC_AUTH_SYS;
	sent->cred.uid = 1;
	sent->cred.gid = 2;
	rpc_cred_encode(&sent->cred);
	sent->request.call = &sent->call;
	sent->request.cred = &sent->cred;
	sent->request.done = sent_on_done;
	return sent;
}

void sent_free(struct sent *sent)
{
	buf_unref(sent->request.results);
	free(sent->bytes);
	free(sent);
}

void sent_submit(struct sent *sent)
{
	sent->bench->in_submit = true;
	upstream_libnfs_ops.submit(sent->bench->upstream, &sent->request);
	sent->bench->in_submit = false;
}

struct sent *send_getattr(struct bench *bench, uint32_t number)
{
	struct bytes args = { .len = 0 };
	struct sent *sent;

	put_fh(&args, number, 32);
	sent = sent_new(bench, PROGRAM_NFS, 3, NFS3_PROC_GETATTR, args.data, args.len);
	sent_submit(sent);
	return sent;
}

static void bench_on_deadline(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	*(bool *)arg = true;
}

void bench_until(struct bench *bench, bool (*holds)(struct bench *bench, void *arg),
		 void *arg)
{
	const struct timeval limit = { .tv_sec = 20 };
	bool late = false;
	struct event *deadline = evtimer_new(bench->base, bench_on_deadline, &late);

	event_add(deadline, &limit);
	while (!holds(bench, arg) && !late)
		event_base_loop(bench->base, EVLOOP_ONCE);
	event_free(deadline);
	ck_assert_msg(!late, "nothing happened for 20 seconds");
}

static bool has_done(struct bench *bench, void *arg)
{
	return bench->done_count >= *(unsigned int *)arg;
}

static bool has_calls(struct bench *bench, void *arg)
{
	return bench->peer->call_count >= *(unsigned int *)arg;
}

static bool has_conns(struct bench *bench, void *arg)
{
	return bench->peer->conn_count >= *(unsigned int *)arg;
}

void bench_until_done(struct bench *bench, unsigned int done_count)
{
	bench_until(bench, has_done, &done_count);
}

void bench_until_calls(struct bench *bench, unsigned int call_count)
{
	bench_until(bench, has_calls, &call_count);
}

void bench_until_conns(struct bench *bench, unsigned int conn_count)
{
	bench_until(bench, has_conns, &conn_count);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	++*(unsigned int *)arg;
}

static bool has_ticks(struct bench *bench, void *arg)
{
	(void)bench;
	return *(unsigned int *)arg >= 4;
}

void bench_run_ticks(struct bench *bench)
{
	const struct timeval every = { .tv_usec = 3000 };
	unsigned int ticks = 0;
	struct event *event = event_new(bench->base, -1, EV_PERSIST, on_tick, &ticks);

	event_add(event, &every);
	bench_until(bench, has_ticks, &ticks);
	event_free(event);
}

struct sent *send_write(struct bench *bench, uint32_t fh, uint64_t offset, size_t len,
			uint32_t stable)
{
	struct bytes head = { .len = 0 };
	size_t padded_len = (len + 3) / 4 * 4;
	uint8_t *args = calloc(1, sizeof(head.data) + padded_len);
	struct sent *sent;

	put_fh(&head, fh, 32);
	put_u64(&head, offset);
	put_u32(&head, (uint32_t)len);
	put_u32(&head, stable);
	put_u32(&head, (uint32_t)len);
	memcpy(args, head.data, head.len);
	sent = sent_new(bench, PROGRAM_NFS, 3, NFS3_PROC_WRITE, args,
			head.len + padded_len);
	free(args);
	sent_submit(sent);
	return sent;
}

/* --- pieces of XDR --- */

void put_fixed(struct bytes *bytes, const void *data, size_t len_bytes)
{
	static const uint8_t zeros[4];
	size_t pad = (4 - len_bytes % 4) % 4;

	ck_assert_uint_le(bytes->len + len_bytes + pad, sizeof(bytes->data));
	if (len_bytes > 0)
		memcpy(bytes->data + bytes->len, data, len_bytes);
	memcpy(bytes->data + bytes->len + len_bytes, zeros, pad);
	bytes->len += len_bytes + pad;
}

void put_u32(struct bytes *bytes, uint32_t value)
{
	uint32_t word = htonl(value);

	put_fixed(bytes, &word, sizeof(word));
}

void put_u64(struct bytes *bytes, uint64_t value)
{
	put_u32(bytes, (uint32_t)(value >> 32));
	put_u32(bytes, (uint32_t)value);
}

void put_opaque(struct bytes *bytes, const void *data, size_t len_bytes)
{
	put_u32(bytes, (uint32_t)len_bytes);
	put_fixed(bytes, data, len_bytes);
}

void put_text(struct bytes *bytes, const char *text)
{
	put_opaque(bytes, text, strlen(text));
}

void put_fh(struct bytes *bytes, uint32_t number, uint32_t len_bytes)
{
	uint8_t fh[NFS3_FHSIZE];
	unsigned int i;

	for (i = 0; i < len_bytes; i++)
		fh[i] = (uint8_t)(number >> (i % 4 * 8)) ^ (uint8_t)(i * 37);
	put_opaque(bytes, fh, len_bytes);
}

void put_attr(struct bytes *bytes, uint32_t type, uint64_t fileid, uint32_t ctime_s,
	      uint32_t ctime_ns)
{
	put_u32(bytes, type);
	put_u32(bytes, 0644);
	put_u32(bytes, 3);
	put_u32(bytes, 1001);
	put_u32(bytes, 1002);
	put_u64(bytes, 0x0102030405060708u);
	put_u64(bytes, 0x1112131415161718u);
	put_u32(bytes, 8);
	put_u32(bytes, 9);
	put_u64(bytes, 0xf1f2f3f4f5f6f7f8u);
	put_u64(bytes, fileid);
	put_u32(bytes, 11);
	put_u32(bytes, 12);
	put_u32(bytes, 13);
	put_u32(bytes, 14);
	put_u32(bytes, ctime_s);
	put_u32(bytes, ctime_ns);
}

void put_post_attr(struct bytes *bytes, uint32_t type, uint64_t fileid,
		   uint32_t ctime_s)
{
	put_u32(bytes, 1);
	put_attr(bytes, type, fileid, ctime_s, 5);
}

void put_wcc(struct bytes *bytes, uint32_t ctime_s)
{
	put_u32(bytes, 1);
	put_u64(bytes, 77);
	put_u32(bytes, 21);
	put_u32(bytes, 22);
	put_u32(bytes, 23);
	put_u32(bytes, 24);
	put_post_attr(bytes, NFS3_DIR, 500, ctime_s);
}

void put_small_write(struct bytes *args)
{
	put_fh(args, 1, 32);
	put_u64(args, 0);
	put_u32(args, 1);
	put_u32(args, NFS3_FILE_SYNC);
	put_opaque(args, "x", 1);
}

void put_small_write_ok(struct bytes *results, uint32_t ctime_s)
{
	put_u32(results, NFS3_OK);
	put_wcc(results, ctime_s);
	put_u32(results, 1);
	put_u32(results, NFS3_FILE_SYNC);
	put_u64(results, 7);
}

void put_no_wcc(struct bytes *bytes)
{
	put_u32(bytes, 0);
	put_u32(bytes, 0);
}

void put_getattr_ok(struct bytes *results, uint64_t fileid)
{
	results->len = 0;
	put_u32(results, NFS3_OK);
	put_attr(results, NFS3_REG, fileid, 100, 0);
}

void put_write_ok(struct bytes *results)
{
	results->len = 0;
	put_u32(results, NFS3_OK);
	put_wcc(results, 100);
	put_u32(results, 1);
	put_u32(results, NFS3_UNSTABLE);
	put_fixed(results, "\x81\x72\x63\x54\x45\x36\x27\x18", 8);
}

void put_aces(struct bytes *bytes, uint32_t limit, uint32_t count)
{
	uint32_t i;

	put_u32(bytes, limit);
	put_u32(bytes, count);
	for (i = 0; i < count; i++) {
		put_u32(bytes, i % 2 == 0 ? 0x1 : 0x1002);
		put_u32(bytes, 1000 + i);
		put_u32(bytes, i % 8);
	}
}
