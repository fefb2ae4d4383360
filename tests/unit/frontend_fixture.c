/*
 * A frontend between scripted clients and a fake upstream, for the check_frontend programs.
 *
 * The hard case is waiting without luck: client and frontend share one thread, so every
 * wait runs the loop, until what was waited for is there or the bound is up.
 *
 * Does not stand in for timing of any kind.
 */
#include "unit/frontend_fixture.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nfsgather/call.h"
#include "wire/rpc_msg.h"

#define WAIT_MAX_US ((mono_us)10 * 1000 * 1000)

struct fixture fixture;
struct engine_config fixture_engine_config;

__attribute__((constructor)) static void fixture_configure_engine(void)
{
	fixture_engine_config = engine_config_default;
	fixture_engine_config.plug_max_us = (uint64_t)3600 * 1000 * 1000;
	fixture_engine_config.dirty_expire_us = fixture_engine_config.plug_max_us;
	fixture_engine_config.retained_expire_us = fixture_engine_config.plug_max_us;
}

static mono_us fixture_now(const struct clock *clock)
{
	(void)clock;
	return clock_now(clock_system()) + fixture.clock_ahead_us;
}

static void fake_submit(struct upstream *upstream, struct upstream_request *request)
{
	ck_assert_uint_lt(upstream->count, FIXTURE_REQUESTS_MAX);
	upstream->request[upstream->count++] = request;
}

static uint32_t fake_wtmax_bytes(const struct upstream *upstream)
{
	return upstream->wtmax_bytes;
}

static uint64_t fake_maxfilesize_bytes(const struct upstream *upstream)
{
	return upstream->maxfilesize_bytes;
}

static void fake_set_on_disconnect(struct upstream *upstream, void (*fn)(void *arg),
				   void *arg)
{
	upstream->on_disconnect = fn;
	upstream->on_disconnect_arg = arg;
}

static const char *fake_name(const struct upstream *upstream)
{
	(void)upstream;
	return "fake";
}

static const struct upstream_ops fake_ops = {
	.submit = fake_submit,
	.wtmax_bytes = fake_wtmax_bytes,
	.maxfilesize_bytes = fake_maxfilesize_bytes,
	.name = fake_name,
	.set_on_disconnect = fake_set_on_disconnect,
};

static void on_beat(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

static int fixture_bind(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	addr.sin_addr.s_addr = htonl(INADDR_ANY);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(bind(fd, (void *)&addr, sizeof(addr)), 0);
	ck_assert_int_eq(listen(fd, 64), 0);
	ck_assert_int_eq(getsockname(fd, (void *)&addr, &len), 0);
	fixture.port = ntohs(addr.sin_port);
	return fd;
}

void fixture_start(const char *clients, const char *const *exports, size_t export_count,
		   uint64_t memory_bytes)
{
	static const struct timeval beat = { .tv_usec = 2000 };
	struct access_rules rules;
	char error[256];
	struct frontend_config config = {
		.clock = &fixture.clock,
		.upstream_ops = &fake_ops,
		.upstream = &fixture.upstream,
		.stats = &fixture.stats,
		.clients = &rules,
		.exports = exports,
		.export_count = export_count,
		.first_verifier = { "\1\2\3\4\5\6\7\x8" },
		.engine = fixture_engine_config,
	};

	memset(&fixture, 0, sizeof(fixture));
	fixture.upstream.wtmax_bytes = FIXTURE_WTMAX_BYTES;
	fixture.upstream.maxfilesize_bytes = (uint64_t)1 << 40;
	fixture.clock.now = fixture_now;
	ck_assert_int_eq(access_rules_parse(clients, &rules, error, sizeof(error)), 0);
	fixture.base = event_base_new();
	fixture.beat = event_new(fixture.base, -1, EV_PERSIST, on_beat, NULL);
	event_add(fixture.beat, &beat);
	fixture.pool = admission_pool_new(memory_bytes, 1);
	config.base = fixture.base;
	config.admission = fixture.pool;
	fixture.frontend = frontend_new(&config);
	ck_assert_ptr_nonnull(fixture.frontend);
	access_rules_fini(&rules);
	ck_assert_int_eq(frontend_listen(fixture.frontend, fixture_bind()), 0);
}

void fixture_stop(void)
{
	size_t i;

	for (i = 0; i < fixture.upstream.count; i++)
		if (fixture.upstream.request[i])
			upstream_refuse(i, UPSTREAM_CANCELLED);
	frontend_free(fixture.frontend);
	admission_pool_free(fixture.pool);
	event_free(fixture.beat);
	event_base_free(fixture.base);
	ck_assert_uint_eq(buf_total_bytes(), 0);
}

void fixture_run_until(bool (*condition)(const void *arg), const void *arg)
{
	mono_us end = clock_now(clock_system()) + WAIT_MAX_US;

	while (!condition(arg)) {
		ck_assert_msg(clock_now(clock_system()) < end, "waited too long");
		event_base_loop(fixture.base, EVLOOP_ONCE);
	}
}

/*
 * Loopback delivers within the send call, so what is to happen happens in the next turns
 * of the loop; an edge, a deferred read and a flush take one each.
 */
void fixture_settle(void)
{
	int turns;

	for (turns = 0; turns < 16; turns++)
		event_base_loop(fixture.base, EVLOOP_NONBLOCK);
}

static bool fixture_has_submitted(const void *arg)
{
	return fixture.upstream.count >= *(const size_t *)arg;
}

void fixture_run_until_submitted(size_t count)
{
	fixture_run_until(fixture_has_submitted, &count);
	fixture_settle();
	ck_assert_uint_eq(fixture.upstream.count, count);
}

uint64_t fixture_stat(enum stats_counter counter)
{
	return fixture.stats.value[counter];
}

static bool fixture_stat_reached(const void *arg)
{
	const uint64_t *wanted = arg;

	return fixture_stat((enum stats_counter)wanted[0]) >= wanted[1];
}

void fixture_run_until_stat(enum stats_counter counter, uint64_t value)
{
	const uint64_t wanted[2] = { (uint64_t)counter, value };

	fixture_run_until(fixture_stat_reached, wanted);
}

void client_open(struct test_client *client)
{
	client_open_from(client, "127.0.0.1", false);
}

static void client_bind(int fd, const char *address, bool privileged)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	uint16_t port = privileged ? 1023 : 0;

	ck_assert_int_eq(inet_pton(AF_INET, address, &addr.sin_addr), 1);
	for (;;) {
		addr.sin_port = htons(port);
		if (bind(fd, (void *)&addr, sizeof(addr)) == 0)
			return;
		ck_assert_msg(errno == EADDRINUSE && --port > 512, "bind: %s",
			      strerror(errno));
	}
}

void client_open_from(struct test_client *client, const char *address, bool privileged)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = htons(fixture.port) };

	memset(client, 0, sizeof(*client));
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	client_bind(client->fd, address, privileged);
	ck_assert_int_eq(connect(client->fd, (void *)&addr, sizeof(addr)), 0);
	ck_assert_int_eq(fcntl(client->fd, F_SETFL, O_NONBLOCK), 0);
	fixture_settle();
}

void client_shut(struct test_client *client)
{
	close(client->fd);
	free(client->in);
	memset(client, 0, sizeof(*client));
	client->fd = -1;
}

static void client_read(struct test_client *client)
{
	for (;;) {
		ssize_t got;

		if (client->in_capacity - client->in_bytes < 65536) {
			client->in_capacity += 1024 * 1024;
			client->in = realloc(client->in, client->in_capacity);
			ck_assert_ptr_nonnull(client->in);
		}
		got = recv(client->fd, client->in + client->in_bytes, 65536, 0);
		if (got > 0) {
			client->in_bytes += (size_t)got;
			continue;
		}
		if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK))
			client->closed = true;
		return;
	}
}

void client_send(struct test_client *client, const void *bytes, size_t len_bytes)
{
	mono_us end = clock_now(clock_system()) + WAIT_MAX_US;
	const uint8_t *at = bytes;

	while (len_bytes > 0) {
		ssize_t sent = send(client->fd, at, len_bytes, MSG_NOSIGNAL);

		if (sent > 0) {
			at += sent;
			len_bytes -= (size_t)sent;
			continue;
		}
		ck_assert_msg(errno == EAGAIN && clock_now(clock_system()) < end,
			      "send: %s", strerror(errno));
		event_base_loop(fixture.base, EVLOOP_ONCE);
	}
}

static uint32_t get_u32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 |
	       at[3];
}

bool client_has_reply(const void *arg)
{
	struct test_client *client = (struct test_client *)(uintptr_t)arg;

	client_read(client);
	ck_assert_msg(!client->closed || client->in_bytes >= 4,
		      "connection was closed");
	return client->in_bytes >= 4 &&
	       client->in_bytes - 4 >= (get_u32(client->in) & 0x7fffffff);
}

size_t client_receive(struct test_client *client, uint8_t *bytes, size_t room_bytes)
{
	size_t len;

	fixture_run_until(client_has_reply, client);
	ck_assert_uint_ne(get_u32(client->in) & 0x80000000, 0);
	len = get_u32(client->in) & 0x7fffffff;
	ck_assert_uint_le(len, room_bytes);
	memcpy(bytes, client->in + 4, len);
	client->in_bytes -= 4 + len;
	memmove(client->in, client->in + 4 + len, client->in_bytes);
	return len;
}

void client_expect(struct test_client *client, const void *bytes, size_t len_bytes)
{
	uint8_t got[4096];

	ck_assert_uint_eq(client_receive(client, got, sizeof(got)), len_bytes);
	ck_assert_mem_eq(got, bytes, len_bytes);
}

void client_expect_words(struct test_client *client, const uint32_t *words,
			 size_t count)
{
	uint8_t bytes[1024];
	struct xdr_out out;
	size_t i;

	xdr_out_init(&out, bytes, sizeof(bytes));
	for (i = 0; i < count; i++)
		xdr_out_u32(&out, words[i]);
	client_expect(client, bytes, xdr_out_len_bytes(&out));
}

void client_expect_nothing(struct test_client *client)
{
	fixture_settle();
	client_read(client);
	ck_assert_uint_eq(client->in_bytes, 0);
	ck_assert(!client->closed);
}

static bool client_is_closed(const void *arg)
{
	struct test_client *client = (struct test_client *)(uintptr_t)arg;

	client_read(client);
	return client->closed;
}

void client_expect_closed(struct test_client *client)
{
	fixture_run_until(client_is_closed, client);
}

void call_begin_raw(struct test_call *call, uint32_t xid, uint32_t rpc_version,
		    uint32_t program, uint32_t version, uint32_t proc, uint32_t flavor,
		    const void *cred, uint32_t cred_bytes)
{
	xdr_out_init(&call->out, call->bytes, sizeof(call->bytes));
	xdr_out_u32(&call->out, 0); /* record mark, see call_end() */
	xdr_out_u32(&call->out, xid);
	xdr_out_u32(&call->out, 0);
	xdr_out_u32(&call->out, rpc_version);
	xdr_out_u32(&call->out, program);
	xdr_out_u32(&call->out, version);
	xdr_out_u32(&call->out, proc);
	xdr_out_u32(&call->out, flavor);
	xdr_out_bytes(&call->out, cred, cred_bytes);
	xdr_out_u32(&call->out, 0);
	xdr_out_u32(&call->out, 0);
}

void call_begin(struct test_call *call, uint32_t xid, uint32_t program,
		uint32_t version, uint32_t proc, const char *machine)
{
	struct rpc_cred cred = { .flavor = RPC_AUTH_NONE };

	if (machine) {
		cred.flavor = RPC_AUTH_SYS;
		cred.machine_name_len = (uint32_t)strlen(machine);
		strcpy(cred.machine_name, machine);
		rpc_cred_encode(&cred);
	}
	call_begin_raw(call, xid, 2, program, version, proc, cred.flavor, cred.body,
		       cred.body_len);
}

size_t call_end(struct test_call *call)
{
	size_t len = xdr_out_len_bytes(&call->out);
	struct xdr_out mark;

	ck_assert(xdr_out_ok(&call->out));
	xdr_out_init(&mark, call->bytes, 4);
	xdr_out_u32(&mark, 0x80000000U | (uint32_t)(len - 4));
	return len;
}

size_t call_make_fh(struct test_call *call, uint32_t xid, uint32_t proc,
		    const char *machine)
{
	call_begin(call, xid, PROGRAM_NFS, 3, proc, machine);
	xdr_out_bytes(&call->out, "handle-1", 8);
	return call_end(call);
}

size_t call_make_remove(struct test_call *call, uint32_t xid, const char *machine,
			const char *name)
{
	call_begin(call, xid, PROGRAM_NFS, 3, NFS3_PROC_REMOVE, machine);
	xdr_out_bytes(&call->out, "handle-1", 8);
	xdr_out_bytes(&call->out, name, (uint32_t)strlen(name));
	return call_end(call);
}

size_t call_make_read(struct test_call *call, uint32_t xid, uint32_t count)
{
	call_begin(call, xid, PROGRAM_NFS, 3, NFS3_PROC_READ, "host");
	xdr_out_bytes(&call->out, "handle-1", 8);
	xdr_out_u64(&call->out, 0);
	xdr_out_u32(&call->out, count);
	return call_end(call);
}

size_t call_make_write(struct test_call *call, uint32_t xid, uint64_t offset,
		       uint32_t count, uint8_t fill)
{
	uint8_t *payload = malloc(count ? count : 1);

	memset(payload, fill, count);
	call_begin(call, xid, PROGRAM_NFS, 3, NFS3_PROC_WRITE, "host");
	xdr_out_bytes(&call->out, "handle-1", 8);
	xdr_out_u64(&call->out, offset);
	xdr_out_u32(&call->out, count);
	xdr_out_u32(&call->out, NFS3_UNSTABLE);
	xdr_out_bytes(&call->out, payload, count);
	free(payload);
	return call_end(call);
}

size_t call_make_commit(struct test_call *call, uint32_t xid)
{
	return call_make_commit_of(call, xid, "handle-1");
}

size_t call_make_commit_of(struct test_call *call, uint32_t xid, const char *handle)
{
	call_begin(call, xid, PROGRAM_NFS, 3, NFS3_PROC_COMMIT, "host");
	xdr_out_bytes(&call->out, handle, 8);
	xdr_out_u64(&call->out, 4096);
	xdr_out_u32(&call->out, 8192);
	return call_end(call);
}

static struct upstream_request *upstream_take(size_t i, enum upstream_outcome outcome)
{
	struct upstream_request *request;

	ck_assert_uint_lt(i, fixture.upstream.count);
	request = fixture.upstream.request[i];
	ck_assert_ptr_nonnull(request);
	fixture.upstream.request[i] = NULL;
	request->outcome = outcome;
	request->sent_count = 1;
	return request;
}

void upstream_answer_bytes(size_t i, const void *bytes, size_t len_bytes)
{
	struct upstream_request *request = upstream_take(i, UPSTREAM_ANSWERED);
	struct buf *buf = buf_new(UPSTREAM_REPLY_HEADROOM_BYTES + len_bytes);

	buf->off_bytes = UPSTREAM_REPLY_HEADROOM_BYTES;
	buf->len_bytes = len_bytes;
	memcpy(buf_start(buf), bytes, len_bytes);
	request->results = buf;
	request->done(request);
}

void upstream_answer(size_t i, const uint32_t *words, size_t count)
{
	uint8_t bytes[1024];
	struct xdr_out out;
	size_t k;

	xdr_out_init(&out, bytes, sizeof(bytes));
	for (k = 0; k < count; k++)
		xdr_out_u32(&out, words[k]);
	ck_assert(xdr_out_ok(&out));
	upstream_answer_bytes(i, bytes, xdr_out_len_bytes(&out));
}

void upstream_refuse(size_t i, enum upstream_outcome outcome)
{
	struct upstream_request *request = upstream_take(i, outcome);

	request->done(request);
}

void upstream_expect_proc(size_t i, uint32_t proc)
{
	ck_assert_uint_lt(i, fixture.upstream.count);
	ck_assert_ptr_nonnull(fixture.upstream.request[i]);
	ck_assert_uint_eq(fixture.upstream.request[i]->call->program, PROGRAM_NFS);
	ck_assert_uint_eq(fixture.upstream.request[i]->call->proc, proc);
}

void client_expect_alive(struct test_client *client)
{
	static struct test_call call;

	call_begin(&call, 0xa11fe, PROGRAM_NFS, 3, NFS3_PROC_NULL, NULL);
	client_send(client, call.bytes, call_end(&call));
	CLIENT_EXPECT(client, ACCEPTED(0xa11fe));
	client_expect_nothing(client);
}

void upstream_expect_payload(size_t i, uint32_t count, uint8_t fill)
{
	const struct nfs3_write_args *args =
		&fixture.upstream.request[i]->call->args.write;
	uint32_t k;

	ck_assert_uint_eq(args->payload.len, count);
	for (k = 0; k < count && args->payload.data[k] == fill; k++)
		;
	ck_assert_uint_eq(k, count);
}
