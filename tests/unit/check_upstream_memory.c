/*
 * Out of memory: calls wait for it, none is lost, none is answered twice.
 *
 * The bench itself and libevent allocate as ever; what fails is calloc() and buf_new()
 * as the library's code calls them (the linker wraps them), and the calls of libnfs
 * that allocate (this program's symbols stand before libnfs').
 */
#include <dlfcn.h>
#include <string.h>

#include "nfsgather/buf.h"
#include "nfsgather/hash.h"
#include "unit/check_upstream_peer.h"
#include "unit/unit.h"
#include "upstream/libnfs_raw.h"

/* Which allocations fail: those numbered from..to, counted from 1 while armed. */
static struct {
	bool armed;
	unsigned int count;
	unsigned int from;
	unsigned int to;
	unsigned int failed;
} memory;

static bool memory_fails(void)
{
	if (!memory.armed)
		return false;
	memory.count++;
	if (memory.count < memory.from || memory.count > memory.to)
		return false;
	memory.failed++;
	return true;
}

/* Not armed yet: the bench allocates by the same ways. */
static void memory_fail(unsigned int from, unsigned int to)
{
	memset(&memory, 0, sizeof(memory));
	memory.from = from;
	memory.to = to;
}

void *__real_calloc(size_t count, size_t size_bytes);
void *__wrap_calloc(size_t count, size_t size_bytes);
struct buf *__real_buf_new(size_t capacity_bytes);
struct buf *__wrap_buf_new(size_t capacity_bytes);
struct rpc_pdu *rpc_allocate_pdu2(struct rpc_context *rpc, int program, int version,
				  int procedure, rpc_cb cb, void *arg,
				  zdrproc_t zdr_decode_fn, int zdr_decode_bufsize,
				  size_t alloc_hint);

void *__wrap_calloc(size_t count, size_t size_bytes)
{
	return memory_fails() ? NULL : __real_calloc(count, size_bytes);
}

struct buf *__wrap_buf_new(size_t capacity_bytes)
{
	return memory_fails() ? NULL : __real_buf_new(capacity_bytes);
}

struct rpc_context *rpc_init_context(void)
{
	static struct rpc_context *(*real)(void);

	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "rpc_init_context");
	return memory_fails() ? NULL : real();
}

struct rpc_pdu *rpc_allocate_pdu2(struct rpc_context *rpc, int program, int version,
				  int procedure, rpc_cb cb, void *arg,
				  zdrproc_t zdr_decode_fn, int zdr_decode_bufsize,
				  size_t alloc_hint)
{
	static struct rpc_pdu *(*real)(struct rpc_context *, int, int, int, rpc_cb,
				       void *, zdrproc_t, int, size_t);

	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "rpc_allocate_pdu2");
	return memory_fails() ? NULL
			      : real(rpc, program, version, procedure, cb, arg,
				     zdr_decode_fn, zdr_decode_bufsize, alloc_hint);
}

/* Plays a server that renamed at the first sending, of which nobody heard. */
static void play_rename(struct peer *peer, struct peer_call *call, void *arg)
{
	unsigned int *sendings = arg;
	struct bytes results = { .len = 0 };

	if (call->proc == NFS3_PROC_RENAME) {
		if (++*sendings == 1) {
			peer_hang_up(call->conn);
			return;
		}
		put_u32(&results, NFS3ERR_NOENT);
		put_no_wcc(&results);
		put_no_wcc(&results);
	} else if (call->proc == NFS3_PROC_LOOKUP) {
		put_u32(&results, NFS3_OK);
		put_fh(&results, 1, 32);
		put_u32(&results, 0);
		put_u32(&results, 0);
	} else {
		peer_answer_by_number(peer, call, NULL);
		return;
	}
	peer_reply(call, results.data, results.len);
}

/* A whole life with a GETATTR and a twice-sent RENAME in it. */
static bool run_life(void)
{
	struct bench *bench = bench_new();
	struct bytes args = { .len = 0 };
	unsigned int sendings = 0;
	struct sent *sent[2];
	bool started;

	bench->peer->on_call = play_rename;
	bench->peer->arg = &sendings;
	put_fh(&args, 8, 32);
	put_text(&args, "from");
	put_fh(&args, 9, 32);
	put_text(&args, "to");
	sent[1] =
		sent_new(bench, PROGRAM_NFS, 3, NFS3_PROC_RENAME, args.data, args.len);
	memory.armed = true;
	bench->upstream = upstream_libnfs_new_tuned(&bench->config, &bench->tuning);
	started = bench->upstream != NULL;
	if (started) {
		memory.armed = false;
		sent[0] = send_getattr(bench, 5);
		memory.armed = true;
		sent_submit(sent[1]);
		bench_until_done(bench, 2);
		ck_assert_int_eq(sent[0]->request.outcome, UPSTREAM_ANSWERED);
		ck_assert_uint_eq(buf_start(sent[0]->request.results)[63], 5);
		ck_assert_int_eq(sent[1]->request.outcome, UPSTREAM_ANSWERED);
		ck_assert_uint_eq(buf_start(sent[1]->request.results)[3], NFS3_OK);
		sent_free(sent[0]);
	}
	memory.armed = false;
	sent_free(sent[1]);
	bench_free(bench);
	return started;
}

START_TEST(every_allocation_may_fail_once)
{
	unsigned int lives_started = 0;
	unsigned int nth;

	for (nth = 1; nth < 500; nth++) {
		memory_fail(nth, nth);
		lives_started += run_life();
		if (memory.failed == 0)
			break;
	}
	ck_assert_uint_lt(nth, 500); /* the last life had all it asked for */
	ck_assert_uint_ge(lives_started, 8);
}
END_TEST

START_TEST(every_allocation_may_fail_for_a_while)
{
	unsigned int nth;

	for (nth = 1; nth < 500; nth++) {
		memory_fail(nth, nth + 5);
		run_life();
		if (memory.failed == 0)
			break;
	}
	ck_assert_uint_lt(nth, 500);
}
END_TEST

/* A call that found no memory has not been sent, and is not counted as sent. */
START_TEST(waiting_for_memory_is_not_sending)
{
	struct bench *bench = bench_new();
	struct bytes args = { .len = 0 };
	struct sent *sent[2];

	bench->peer->on_call = peer_answer_by_number;
	bench_start(bench);
	sent[0] = send_getattr(bench, 1);
	bench_until_done(bench, 1);
	put_fh(&args, 1, 32);
	sent[1] =
		sent_new(bench, PROGRAM_NFS, 3, NFS3_PROC_GETATTR, args.data, args.len);
	memory_fail(1, 3);
	memory.armed = true;
	sent_submit(sent[1]);
	bench_until_done(bench, 2);
	ck_assert_uint_eq(memory.failed, 3);
	memory.armed = false;
	ck_assert_uint_eq(sent[1]->request.sent_count, 1);
	ck_assert_uint_eq(bench->peer->call_count, 2);
	ck_assert_uint_eq(bench->peer->conn_count, 1);
	sent_free(sent[0]);
	sent_free(sent[1]);
	bench_free(bench);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("upstream_memory");
	TCase *tcase = unit_case(suite, "memory");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, every_allocation_may_fail_once);
	tcase_add_test(tcase, every_allocation_may_fail_for_a_while);
	tcase_add_test(tcase, waiting_for_memory_is_not_sending);
	return unit_run(suite);
}
