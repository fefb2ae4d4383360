/*
 * For check_frontend programs about acked bytes: a client and a file it may write, WRITEs that
 * are acked before the fake upstream has them, and results with attributes.
 */
#ifndef UNIT_FRONTEND_BUFFER_H
#define UNIT_FRONTEND_BUFFER_H

#include <string.h>

#include "unit/frontend_fixture.h"
#include "unit/unit.h"

#define MEMORY_BYTES ((uint64_t)64 << 20)
enum { MIB = 1024 * 1024 };

/* fattr3: a regular file of this size, with id 2 in file system 1 */
#define FATTR(size)                                                                    \
	1, 0644, 1, 0, 0, 0, (size), 0, 4096, 0, 0, 0, 1, 0, 2, 1, 0, 1, 0, 1, 0
#define FATTR_DIR 2, 0755, 2, 0, 0, 0, 4096, 0, 4096, 0, 0, 0, 1, 0, 1, 1, 0, 1, 0, 1, 0
#define WRITE_RESULTS(count, size) 0, 0, 1, FATTR(size), (count), 0, THEIR_VERIFIER
#define HANDLE_1 8, 0x68616e64, 0x6c652d31 /* "handle-1" */
#define HANDLE_2 8, 0x68616e64, 0x6c652d32
#define LOOKUP_RESULTS(handle, size) 0, handle, 1, FATTR(size), 1, FATTR_DIR

static struct test_call call;
static struct test_client client;
/* So many requests of the upstream were answered, the first ones. */
static size_t answered;

static inline void buffer_setup(void)
{
	fixture_engine_config.dirty_bytes = UINT64_MAX;
	fixture_start("0.0.0.0/0(insecure)", NULL, 0, MEMORY_BYTES);
	client_open(&client);
	answered = 0;
}

static inline void buffer_teardown(void)
{
	client_shut(&client);
	fixture_stop();
}

static inline void send_call(size_t len)
{
	client_send(&client, call.bytes, len);
}

/* The next request comes and is of this procedure. */
static inline size_t next_request(uint32_t proc)
{
	fixture_run_until_submitted(answered + 1);
	upstream_expect_proc(answered, proc);
	return answered++;
}

/* The first WRITE proves that the credential may write: from now on they are acked. */
static inline void open_file(void)
{
	send_call(call_make_write(&call, 1, 0, 100, 'a'));
	UPSTREAM_ANSWER(next_request(NFS3_PROC_WRITE), WRITE_RESULTS(100, 100));
	CLIENT_EXPECT(&client, ACCEPTED(1), 0, 0, 1, FATTR(100), 100, 0, OUR_VERIFIER);
}

static inline void write_acked(uint32_t xid, uint64_t offset, uint32_t count,
			       uint8_t fill)
{
	send_call(call_make_write(&call, xid, offset, count, fill));
	CLIENT_EXPECT(&client, ACCEPTED(xid), 0, 0, 0, count, 0, OUR_VERIFIER);
}

/* The acked bytes come, after a time or because somebody waits for them. */
static inline void flush(uint32_t count, uint32_t size)
{
	UPSTREAM_ANSWER(next_request(NFS3_PROC_WRITE), WRITE_RESULTS(count, size));
}

static inline size_t make_named(uint32_t xid, uint32_t proc, const char *name)
{
	call_begin(&call, xid, PROGRAM_NFS, 3, proc, "host");
	xdr_out_bytes(&call.out, "handle-d", 8);
	xdr_out_bytes(&call.out, name, (uint32_t)strlen(name));
	return call_end(&call);
}

static inline size_t make_setattr(uint32_t xid, bool sets_size)
{
	call_begin(&call, xid, PROGRAM_NFS, 3, NFS3_PROC_SETATTR, "host");
	xdr_out_bytes(&call.out, "handle-1", 8);
	xdr_out_u32(&call.out, !sets_size);
	if (!sets_size)
		xdr_out_u32(&call.out, 0600);
	xdr_out_u32(&call.out, 0);
	xdr_out_u32(&call.out, 0);
	xdr_out_u32(&call.out, sets_size);
	if (sets_size)
		xdr_out_u64(&call.out, 10);
	xdr_out_u32(&call.out, 0);
	xdr_out_u32(&call.out, 0);
	xdr_out_u32(&call.out, 0);
	return call_end(&call);
}

#endif
