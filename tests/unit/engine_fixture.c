/*
 * The clients and the upstream of the engine's unit tests.
 *
 * The hard case is what no single test would look for, so it is looked at in all of
 * them: WRITEs that overlap are never out together, payload does not change while it
 * is out, nothing is answered twice, and nothing is left of payload and credentials at
 * the end.
 */
#include "unit/engine_fixture.h"

#include <stdarg.h>

struct seen seen;
struct stats stats;
struct engine *engine;
struct engine_op op[OPS_MAX];
struct out out[OUT_MAX];
unsigned int out_count;
uint64_t now_us;
struct credential *alice;
struct credential *bob;
struct nfs3_fh file_a = { .len = 1, .data = "a" };
struct nfs3_fh file_b = { .len = 64, .data = "b" };
struct nfs3_verifier upstream_verifier;
struct nfs3_attr attr;
void (*on_answer)(struct engine_op *op);
bool no_memory;

const struct nfs3_verifier first_v = { "\1\2\3\4\5\6\7\10" };
const struct nfs3_verifier u1 = { "upstrea1" };
const struct nfs3_verifier u2 = { "upstrea2" };

static struct credential_table credentials;
static bool is_answering;
static char disk[DISK_FILES][DISK_BYTES];

/* Writes down; `which`: "W", "w" .. */
PRINTF_LIKE(1, 2) static void note(const char *format, ...)
{
	size_t used = strlen(seen.log);
	va_list args;

	va_start(args, format);
	vsnprintf(seen.log + used, sizeof(seen.log) - used, format, args);
	va_end(args);
}

const char *take_log(void)
{
	static char taken[sizeof(seen.log)];

	memcpy(taken, seen.log, sizeof(taken));
	seen.log[0] = '\0';
	return taken;
}

static char letter(long i)
{
	return (char)(i < 26 ? 'A' + i : 'a' + i - 26);
}

static const char *file_prefix(const struct nfs3_fh *fh)
{
	static char prefix[3];

	snprintf(prefix, sizeof(prefix), "%c:", fh->data[0]);
	return fh->data[0] == 'a' ? "" : prefix;
}

static void take_out(struct engine_io *io, bool is_commit)
{
	struct out *place = &out[out_count];

	ck_assert_uint_lt(out_count, OUT_MAX);
	*place = (struct out){ .io = io, .is_commit = is_commit };
	if (io->count > 0) {
		place->copy = malloc(io->count);
		ck_assert_ptr_nonnull(place->copy);
		memcpy(place->copy, io->data, io->count);
	}
	out_count++;
}

static void send_write(void *owner, struct engine_io *io)
{
	unsigned int i;

	ck_assert_ptr_eq(owner, &seen);
	ck_assert_ptr_nonnull(io->credential);
	for (i = 0; i < out_count; i++) {
		const struct engine_io *other = out[i].io;

		if (out[i].is_commit || !nfs3_fh_equal(other->fh, io->fh))
			continue;
		ck_assert_msg(other->offset + other->count <= io->offset ||
				      io->offset + io->count <= other->offset ||
				      io->count == 0 || other->count == 0,
			      "overlapping WRITEs are out together");
	}
	note("%sW%lu+%u%s ", file_prefix(io->fh), (unsigned long)io->offset, io->count,
	     io->stable == NFS3_FILE_SYNC   ? "f"
	     : io->stable == NFS3_DATA_SYNC ? "d"
					    : "");
	take_out(io, false);
}

static void send_commit(void *owner, struct engine_io *io)
{
	unsigned int i;

	ck_assert_ptr_eq(owner, &seen);
	ck_assert_ptr_nonnull(io->credential);
	for (i = 0; i < out_count; i++)
		ck_assert_msg(!out[i].is_commit ||
				      !nfs3_fh_equal(out[i].io->fh, io->fh),
			      "two COMMITs of a file are out together");
	note("%sC ", file_prefix(io->fh));
	take_out(io, true);
}

static void note_answer(char what, struct engine_op *which, int refusal,
			uint32_t status)
{
	note("%c%ld", what, (long)(which - op));
	if (refusal != 0)
		note("?%d", refusal);
	else if (status != NFS3_OK)
		note("!%u", status);
	note(" ");
	/* Entered again from an answer, the engine only adds to what is to be answered. */
	ck_assert_msg(!is_answering, "answered from inside an answer");
	is_answering = true;
	if (on_answer != NULL)
		on_answer(which);
	is_answering = false;
}

static void answer_write(void *owner, struct engine_op *which,
			 const struct engine_write_result *result)
{
	ck_assert_ptr_eq(owner, &seen);
	ck_assert_int_eq(which->state, ENGINE_OP_ANSWERED);
	seen.write = *result;
	/* The engine has its own references: nothing of the call is needed any more. */
	buf_unref(which->payload);
	which->payload = NULL;
	note_answer('w', which, result->refusal, result->status);
}

static void answer_commit(void *owner, struct engine_op *which,
			  const struct engine_commit_result *result)
{
	ck_assert_ptr_eq(owner, &seen);
	ck_assert_int_eq(which->state, ENGINE_OP_ANSWERED);
	seen.commit = *result;
	note_answer('c', which, result->refusal, result->status);
}

static void pass(void *owner, struct engine_op *which)
{
	ck_assert_ptr_eq(owner, &seen);
	ck_assert_int_eq(which->kind, ENGINE_OP_BARRIER);
	note_answer('p', which, 0, NFS3_OK);
}

static struct buf *payload_new(void *owner, size_t bytes)
{
	ck_assert_ptr_eq(owner, &seen);
	return no_memory ? NULL : buf_new(bytes);
}

static void on_rotation(void *owner, const char *reason)
{
	ck_assert_ptr_eq(owner, &seen);
	ck_assert_uint_gt(strlen(reason), 0);
	seen.rotations++;
}

static void on_loss(void *owner, const struct nfs3_fh *fh, uint64_t offset,
		    uint64_t bytes, uint32_t status)
{
	ck_assert_ptr_eq(owner, &seen);
	ck_assert_uint_gt(fh->len, 0);
	ck_assert_uint_gt(offset + bytes, 0);
	seen.losses++;
	seen.lost_bytes += bytes;
	seen.lost_status = status;
}

static const struct engine_ops ops = {
	.send_write = send_write,
	.send_commit = send_commit,
	.answer_write = answer_write,
	.answer_commit = answer_commit,
	.pass = pass,
	.payload_new = payload_new,
	.on_rotation = on_rotation,
	.on_loss = on_loss,
};

struct credential *credential_of(uint32_t uid)
{
	struct rpc_cred rpc = { .flavor = RPC_AUTH_SYS, .uid = uid, .gid = uid };
	struct credential *credential = credential_get(&credentials, &rpc);

	ck_assert_ptr_nonnull(credential);
	return credential;
}

static void engine_make(const struct engine_config *config)
{
	engine = engine_new(&ops, &seen, config, first_v, &stats);
	ck_assert_ptr_nonnull(engine);
	engine_set_now(engine, now_us);
	engine_set_limits(engine, WTMAX_BYTES, 1ull << 40);
}

void use_config(const struct engine_config *config)
{
	ck_assert_uint_eq(engine_file_count(engine), 0);
	engine_free(engine);
	engine_make(config);
}

void engine_setup(void)
{
	memset(&seen, 0, sizeof(seen));
	memset(&stats, 0, sizeof(stats));
	memset(op, 0, sizeof(op));
	memset(disk, '.', sizeof(disk));
	out_count = 0;
	now_us = 1000;
	on_answer = NULL;
	no_memory = false;
	is_answering = false;
	upstream_verifier = u1;
	attr = (struct nfs3_attr){
		.type = NFS3_REG, .mode = 0644, .fsid = 7, .fileid = 'a', .uid = 1000
	};
	credential_table_init(&credentials);
	alice = credential_of(1000);
	bob = credential_of(1001);
	engine_make(&engine_config_default);
}

void engine_teardown(void)
{
	unsigned int i;

	books_check();
	while (out_count > 0)
		free(out[--out_count].copy);
	engine_free(engine);
	for (i = 0; i < OPS_MAX; i++)
		buf_unref(op[i].payload);
	credential_unref(alice);
	credential_unref(bob);
	ck_assert_uint_eq(credentials.by_value.node_count, 0);
	credential_table_fini(&credentials);
	ck_assert_uint_eq(buf_total_bytes(), 0);
	for (i = 0; i < GAUGE_COUNT; i++)
		if (i != GAUGE_WRITES_OUT && i != GAUGE_COMMITS_OUT)
			ck_assert_uint_eq(stats.gauge[i], 0);
}

static void fill_op(unsigned int i, const struct engine_op *given)
{
	ck_assert_uint_lt(i, OPS_MAX);
	ck_assert_msg(op[i].state != ENGINE_OP_WAITING &&
			      op[i].state != ENGINE_OP_PASSED,
		      "op %u is still in use", i);
	op[i] = *given;
	if (op[i].fh == NULL)
		op[i].fh = &file_a;
	if (op[i].client_id == 0)
		op[i].client_id = 1;
	if (op[i].credential == NULL)
		op[i].credential = alice;
}

void write_in_as(unsigned int i, const struct engine_op *given)
{
	fill_op(i, given);
	op[i].payload = buf_new(op[i].count);
	ck_assert_ptr_nonnull(op[i].payload);
	op[i].payload->len_bytes = op[i].count;
	memset(buf_start(op[i].payload), letter(i), op[i].count);
	op[i].data = buf_start(op[i].payload);
	ck_assert_int_eq(engine_write(engine, &op[i]), 0);
	books_check();
}

void commit_in_as(unsigned int i, const struct engine_op *given)
{
	fill_op(i, given);
	ck_assert_int_eq(engine_commit(engine, &op[i]), 0);
	books_check();
}

void barrier_in_as(unsigned int i, const struct engine_op *given)
{
	fill_op(i, given);
	ck_assert_int_eq(engine_barrier(engine, &op[i]), 0);
	books_check();
}

void write_in(unsigned int i, uint64_t offset, uint32_t count)
{
	write_with(i, .offset = offset, .count = count);
}

void commit_in(unsigned int i)
{
	commit_with(i, .client_id = 1);
}

void barrier_in(unsigned int i, enum engine_barrier barrier)
{
	barrier_with(i, .barrier = barrier);
}

void barrier_done(unsigned int i, bool ok)
{
	engine_barrier_done(engine, &op[i], ok);
	books_check();
}

void grant_to(struct credential *credential)
{
	char kept[sizeof(seen.log)];

	memcpy(kept, seen.log, sizeof(kept));
	write_with(OPS_MAX - 1, .credential = credential, .offset = PROBE_OFFSET,
		   .count = 1, .stable = NFS3_FILE_SYNC);
	written(PROBE_OFFSET);
	ck_assert_int_eq(op[OPS_MAX - 1].state, ENGINE_OP_ANSWERED);
	memcpy(seen.log, kept, sizeof(kept));
}

void retain(unsigned int i, uint64_t offset, uint32_t count)
{
	write_in(i, offset, count);
	tick_after(engine_config_default.plug_max_us);
	written(offset);
	(void)take_log();
}

static struct out *find_write(uint64_t offset)
{
	unsigned int i;

	for (i = 0; i < out_count; i++)
		if (!out[i].is_commit && out[i].io->offset == offset)
			return &out[i];
	ck_abort_msg("no WRITE at %lu is out", (unsigned long)offset);
	return NULL;
}

/* Takes it off the list; its payload must be what it was. */
static struct engine_io *end_out(struct out *ended)
{
	struct engine_io *io = ended->io;

	if (io->count > 0)
		ck_assert_mem_eq(io->data, ended->copy, io->count);
	free(ended->copy);
	memmove(ended, ended + 1,
		(size_t)(&out[out_count] - (ended + 1)) * sizeof(*ended));
	out_count--;
	return io;
}

static char *disk_of(const struct nfs3_fh *fh)
{
	return disk[(unsigned int)(fh->data[0] - 'a') % DISK_FILES];
}

static struct nfs3_wcc wcc_of(const struct nfs3_fh *fh)
{
	struct nfs3_wcc wcc = { .has_after = true, .after = attr };

	if (fh->data[0] != 'a')
		wcc.after.fileid = hash_bytes(fh->data, fh->len);
	return wcc;
}

static void write_back(struct out *ended, struct engine_write_result result)
{
	struct engine_io *io = end_out(ended);

	result.verifier = upstream_verifier;
	if (result.refusal == 0)
		result.wcc = wcc_of(io->fh);
	if (result.refusal == 0 && result.status == NFS3_OK &&
	    io->offset + io->count <= DISK_BYTES && result.count > 0)
		memcpy(disk_of(io->fh) + io->offset, io->data, result.count);
	engine_on_write_result(engine, io, &result, false);
	books_check();
}

void written_short(uint64_t offset, uint32_t count, enum nfs3_stable how)
{
	write_back(find_write(offset),
		   (struct engine_write_result){ .count = count, .committed = how });
}

void written_as(uint64_t offset, enum nfs3_stable how)
{
	written_short(offset, find_write(offset)->io->count, how);
}

void written(uint64_t offset)
{
	written_as(offset, find_write(offset)->io->stable);
}

void write_failed(uint64_t offset, uint32_t status)
{
	write_back(find_write(offset),
		   (struct engine_write_result){ .status = status });
}

void write_refused(uint64_t offset, int refusal)
{
	write_back(find_write(offset),
		   (struct engine_write_result){ .refusal = refusal });
}

static struct out *find_commit(void)
{
	unsigned int i;

	for (i = 0; i < out_count; i++)
		if (out[i].is_commit)
			return &out[i];
	ck_abort_msg("no COMMIT is out");
	return NULL;
}

static void commit_back(struct engine_commit_result result, bool resent)
{
	struct engine_io *io = end_out(find_commit());

	result.verifier = upstream_verifier;
	if (result.refusal == 0)
		result.wcc = wcc_of(io->fh);
	engine_on_commit_result(engine, io, &result, resent);
	books_check();
}

void committed(void)
{
	commit_back((struct engine_commit_result){ .status = NFS3_OK }, false);
}

void committed_resent(void)
{
	commit_back((struct engine_commit_result){ .status = NFS3_OK }, true);
}

void commit_failed(uint32_t status)
{
	commit_back((struct engine_commit_result){ .status = status }, false);
}

void commit_refused(int refusal, bool resent)
{
	commit_back((struct engine_commit_result){ .refusal = refusal }, resent);
}

void all_written(void)
{
	unsigned int i = 0;

	while (i < out_count) {
		if (out[i].is_commit)
			i++;
		else
			write_back(&out[i], (struct engine_write_result){
						    .count = out[i].io->count,
						    .committed = out[i].io->stable });
	}
}

void all_answered(void)
{
	unsigned int i;

	while (out_count > 0) {
		all_written();
		for (i = 0; i < out_count && !out[i].is_commit; i++)
			;
		if (i < out_count)
			committed();
	}
}

void disconnect(void)
{
	engine_on_disconnect(engine);
	books_check();
}

void tick_at(uint64_t us)
{
	now_us = us;
	engine_set_now(engine, now_us);
	engine_tick(engine);
	books_check();
	/* What is due was done, or the loop would spin. */
	ck_assert_uint_gt(engine_next_deadline_us(engine), now_us);
}

void tick_after(uint64_t us)
{
	tick_at(now_us + us);
}

const char *disk_text(uint64_t offset, uint32_t count)
{
	static char text[DISK_BYTES + 1];

	ck_assert_uint_le(offset + count, DISK_BYTES);
	memcpy(text, disk_of(&file_a) + offset, count);
	text[count] = '\0';
	return text;
}

const char *letters(unsigned int i, unsigned int count)
{
	static char text[256];

	ck_assert_uint_lt(count, sizeof(text));
	memset(text, letter(i), count);
	text[count] = '\0';
	return text;
}

bool same(struct nfs3_verifier a, struct nfs3_verifier b)
{
	return memcmp(a.data, b.data, sizeof(a.data)) == 0;
}
