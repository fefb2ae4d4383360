/*
 * Results from an upstream: WRITE and COMMIT that decode are written again as the same
 * bytes; a change touches what it is for and nothing else, and doing it twice is doing
 * it once.
 *
 * Input: which function (one byte), then results.
 */
#include <stdbool.h>
#include <string.h>

#include "fuzz.h"
#include "wire/nfs3_result.h"
#include "wire/rpc_msg.h"

enum {
	HEADROOM_BYTES = RPC_RECORD_MARK_BYTES + RPC_REPLY_HEADER_BYTES,
	READ_MAX_BYTES = 65536,
	ACCESS_MASK = 0x1c,
};

static struct buf *results_of(const uint8_t *bytes, size_t len_bytes)
{
	struct buf *results = buf_new(HEADROOM_BYTES + len_bytes);

	FUZZ_ASSERT(results != NULL);
	results->off_bytes = HEADROOM_BYTES;
	results->len_bytes = len_bytes;
	if (len_bytes > 0)
		memcpy(buf_start(results), bytes, len_bytes);
	return results;
}

static bool is_same(struct buf *a, struct buf *b)
{
	return a->len_bytes == b->len_bytes &&
	       memcmp(buf_start(a), buf_start(b), a->len_bytes) == 0;
}

/* With a header in front it must be a whole reply. */
static void finish(struct buf *results)
{
	size_t len_bytes = results->len_bytes;

	rpc_reply_prepend(results, 7);
	FUZZ_ASSERT(results->len_bytes == HEADROOM_BYTES + len_bytes);
	buf_unref(results);
}

static void try_write(struct buf *results)
{
	struct engine_write_result result;
	struct buf *again;

	if (nfs3_write_result_decode(&result, results) != 0)
		return;
	FUZZ_ASSERT(result.status == nfs3_result_status(results));
	again = nfs3_write_result_encode(&result);
	FUZZ_ASSERT(again != NULL && is_same(again, results));
	finish(again);
}

static void try_commit(struct buf *results)
{
	struct engine_commit_result result;
	struct buf *again;

	if (nfs3_commit_result_decode(&result, results) != 0)
		return;
	FUZZ_ASSERT(result.status == nfs3_result_status(results));
	again = nfs3_commit_result_encode(&result);
	FUZZ_ASSERT(again != NULL && is_same(again, results));
	finish(again);
}

/* How many bytes of two results of equal length differ. */
static size_t difference_bytes(struct buf *a, struct buf *b)
{
	size_t count = 0;

	FUZZ_ASSERT(a->len_bytes == b->len_bytes);
	for (size_t i = 0; i < a->len_bytes; i++)
		count += buf_start(a)[i] != buf_start(b)[i];
	return count;
}

static void try_fsinfo(struct buf *results)
{
	struct buf *changed = results_of(buf_start(results), results->len_bytes);
	struct buf *twice;

	nfs3_fsinfo_cap_sizes(changed, READ_MAX_BYTES, 2 * READ_MAX_BYTES);
	FUZZ_ASSERT(difference_bytes(results, changed) <= 16);
	FUZZ_ASSERT(nfs3_fsinfo_wtmax(changed) <= 2 * READ_MAX_BYTES);
	twice = results_of(buf_start(changed), changed->len_bytes);
	nfs3_fsinfo_cap_sizes(twice, READ_MAX_BYTES, 2 * READ_MAX_BYTES);
	FUZZ_ASSERT(is_same(twice, changed));
	finish(twice);
	finish(changed);
}

static void try_access(struct buf *results)
{
	struct buf *changed = results_of(buf_start(results), results->len_bytes);

	nfs3_access_clear(changed, ACCESS_MASK);
	FUZZ_ASSERT(difference_bytes(results, changed) <= 1);
	finish(changed);
}

static void try_mnt(struct buf *results)
{
	struct buf *changed = mount3_mnt_result_sys_only(results);
	struct buf *twice;

	FUZZ_ASSERT(changed != NULL && changed->len_bytes >= 4);
	if (nfs3_result_status(changed) == MNT3_OK) {
		const uint8_t *end = buf_start(changed) + changed->len_bytes;

		FUZZ_ASSERT(changed->len_bytes >= 4 + 4 + 4 + 8);
		FUZZ_ASSERT(memcmp(end - 8, "\0\0\0\1\0\0\0\1", 8) == 0);
	}
	twice = mount3_mnt_result_sys_only(changed);
	FUZZ_ASSERT(twice != NULL && is_same(twice, changed));
	finish(twice);
	finish(changed);
}

static bool keep_some(void *arg, const char *path)
{
	size_t *asked = arg;

	(*asked)++;
	FUZZ_ASSERT(strlen(path) <= MOUNT_PATH_MAX_BYTES);
	return path[0] == '/';
}

static void try_export(struct buf *results)
{
	size_t asked = 0;
	size_t asked_twice = 0;
	struct buf *changed = mount3_export_filter(results, keep_some, &asked);
	struct buf *twice;

	FUZZ_ASSERT(changed != NULL && changed->len_bytes >= 4);
	FUZZ_ASSERT(changed->len_bytes <= results->len_bytes ||
		    changed->len_bytes == 4);
	twice = mount3_export_filter(changed, keep_some, &asked_twice);
	FUZZ_ASSERT(twice != NULL && is_same(twice, changed));
	FUZZ_ASSERT(asked_twice <= asked);
	finish(twice);
	finish(changed);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len_bytes)
{
	static void (*const tries[])(struct buf * results) = {
		try_write, try_commit, try_fsinfo, try_access, try_mnt, try_export,
	};
	struct buf *results;

	if (len_bytes < 1)
		return 0;
	results = results_of(bytes + 1, len_bytes - 1);
	tries[bytes[0] % (sizeof(tries) / sizeof(tries[0]))](results);
	buf_unref(results);
	FUZZ_ASSERT(buf_total_bytes() == 0);
	return 0;
}
