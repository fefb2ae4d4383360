/*
 * A whole frontend on a loopback port, with a fake upstream behind it and scripted clients
 * before it, all in one event loop: nothing waits on time, every wait is bounded.
 */
#ifndef UNIT_FRONTEND_FIXTURE_H
#define UNIT_FRONTEND_FIXTURE_H

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frontend/admission.h"
#include "frontend/frontend.h"
#include "nfsgather/engine.h"
#include "nfsgather/nfs3.h"
#include "wire/xdr.h"

enum {
	FIXTURE_REQUESTS_MAX = 8192,
	FIXTURE_CALL_BYTES = 2 * 1024 * 1024,
	FIXTURE_WTMAX_BYTES = 4 * 1024 * 1024,
};

/* The fake upstream: keeps what is submitted until the test answers it. */
struct upstream {
	struct upstream_request *request[FIXTURE_REQUESTS_MAX]; /* NULL once answered */
	size_t count;						/* ever submitted */
	uint32_t wtmax_bytes;
	uint64_t maxfilesize_bytes;
	void (*on_disconnect)(void *arg);
	void *on_disconnect_arg;
};

struct fixture {
	struct event_base *base;
	struct event *beat; /* so that no wait for an event is for ever */
	struct clock clock; /* the system's, moved by clock_ahead_us */
	mono_us clock_ahead_us;
	struct upstream upstream;
	struct stats stats;
	struct admission_pool *pool;
	struct frontend *frontend;
	uint16_t port;
};

/*
 * For fixture_start(). Acked bytes stay where they are until something wants them, since
 * the fixture's clock does not move timers.
 */
extern struct engine_config fixture_engine_config;
/* The one fixture; clients rules and exports as in a configuration file. */
extern struct fixture fixture;
void fixture_start(const char *clients, const char *const *exports, size_t export_count,
		   uint64_t memory_bytes);
/* Stops the upstream (what it holds is cancelled), then the frontend. */
void fixture_stop(void);
/* Runs the loop until condition() says so; fails the test after some seconds. */
void fixture_run_until(bool (*condition)(const void *arg), const void *arg);
/* Runs the loop for as long as it has something to do right now. */
void fixture_settle(void);
void fixture_run_until_submitted(size_t count);
void fixture_run_until_stat(enum stats_counter counter, uint64_t value);
uint64_t fixture_stat(enum stats_counter counter);

/* One scripted client connection. */
struct test_client {
	int fd;
	uint8_t *in; /* received, not yet taken */
	size_t in_bytes;
	size_t in_capacity;
	bool closed;
};

void client_open(struct test_client *client);
/* From that local address, and a port below 1024 when asked for. */
void client_open_from(struct test_client *client, const char *address, bool privileged);
void client_shut(struct test_client *client);
void client_send(struct test_client *client, const void *bytes, size_t len_bytes);
/* Has a whole reply come? A condition for fixture_run_until(). */
bool client_has_reply(const void *client);
/* The next whole reply without its record mark; it must come. */
size_t client_receive(struct test_client *client, uint8_t *bytes, size_t room_bytes);
void client_expect(struct test_client *client, const void *bytes, size_t len_bytes);
/* Nothing is there, even when the loop has run dry. */
void client_expect_nothing(struct test_client *client);
void client_expect_closed(struct test_client *client);
/* A NULL is answered on it, and nothing else is. */
void client_expect_alive(struct test_client *client);

/* Calls, as whole records in one fragment. */
struct test_call {
	struct xdr_out out;
	uint8_t bytes[FIXTURE_CALL_BYTES];
};

/* Header with an AUTH_SYS credential of uid 0 and this machine name (NULL: AUTH_NONE). */
void call_begin(struct test_call *call, uint32_t xid, uint32_t program,
		uint32_t version, uint32_t proc, const char *machine);
/* The same with every field free. */
void call_begin_raw(struct test_call *call, uint32_t xid, uint32_t rpc_version,
		    uint32_t program, uint32_t version, uint32_t proc, uint32_t flavor,
		    const void *cred, uint32_t cred_bytes);
/* Writes the record mark; the record is bytes[0..len). */
size_t call_end(struct test_call *call);
size_t call_make_fh(struct test_call *call, uint32_t xid, uint32_t proc,
		    const char *machine);
size_t call_make_remove(struct test_call *call, uint32_t xid, const char *machine,
			const char *name);
size_t call_make_read(struct test_call *call, uint32_t xid, uint32_t count);
size_t call_make_write(struct test_call *call, uint32_t xid, uint64_t offset,
		       uint32_t count, uint8_t fill);
size_t call_make_commit(struct test_call *call, uint32_t xid);
/* The calls above are about "handle-1", this one about that handle (8 bytes). */
size_t call_make_commit_of(struct test_call *call, uint32_t xid, const char *handle);

/* Answers request `i` with these words as results; with raw bytes; with an outcome. */
void upstream_answer(size_t i, const uint32_t *words, size_t count);
void upstream_answer_bytes(size_t i, const void *bytes, size_t len_bytes);
/* Request `i` is a WRITE of so many bytes, all the same. */
void upstream_expect_payload(size_t i, uint32_t count, uint8_t fill);
void upstream_refuse(size_t i, enum upstream_outcome outcome);
/* Request `i` is of this procedure of NFS. */
void upstream_expect_proc(size_t i, uint32_t proc);
#define UPSTREAM_ANSWER(i, ...)                                                        \
	upstream_answer((i), (const uint32_t[]){ __VA_ARGS__ },                        \
			sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))

/* Expects exactly these words as the next reply. */
void client_expect_words(struct test_client *client, const uint32_t *words,
			 size_t count);
#define CLIENT_EXPECT(client, ...)                                                     \
	client_expect_words((client), (const uint32_t[]){ __VA_ARGS__ },               \
			    sizeof((const uint32_t[]){ __VA_ARGS__ }) /                \
				    sizeof(uint32_t))
#define REMOVE_OK 0, 0, 0
#define WRITE_OK(count) 0, 0, 0, (count), 0, THEIR_VERIFIER
#define COMMIT_OK 0, 0, 0, THEIR_VERIFIER
#define THEIR_VERIFIER 0x5e44e4, 0x5e44e5
/* fixture_start() says so */
#define OUR_VERIFIER 0x01020304, 0x05060708
/* An accepted reply's header: REPLY, MSG_ACCEPTED, empty verifier, SUCCESS. */
#define ACCEPTED(xid) (xid), 1, 0, 0, 0, 0

#endif
