/*
 * Attributes in results from an upstream: keeping all changes nothing; taking some out
 * leaves results that decode, in which exactly the others are found again; results that do
 * not decode are not touched.
 *
 * Input: program and procedure (one byte), which to keep (one byte), then results.
 */
#include <stdbool.h>
#include <string.h>

#include "fuzz.h"
#include "wire/nfs3_attrs.h"
#include "wire/nfs3_result.h"
#include "wire/rpc_msg.h"

enum {
	HEADROOM_BYTES = RPC_RECORD_MARK_BYTES + RPC_REPLY_HEADER_BYTES,
	NFS3_PROCS = 22,
};

struct choice {
	uint32_t mask;
	size_t asked;
	size_t kept;
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

/* Chooses by content, so that the second walk gets the answers of the first. */
static bool keep_some(void *arg, const struct nfs3_attrs *attrs)
{
	struct choice *choice = arg;
	bool stays = ((attrs->wcc.after.mode ^ attrs->wcc.before.mtime.seconds) &
		      choice->mask) == 0;

	FUZZ_ASSERT(attrs->wcc.has_before || attrs->wcc.has_after);
	if (attrs->fh &&
	    (attrs->role == NFS3_ATTRS_OF_FOUND || attrs->role == NFS3_ATTRS_OF_ENTRY))
		FUZZ_ASSERT(attrs->fh->len > 0 && attrs->fh->len <= NFS3_FHSIZE);
	choice->asked++;
	choice->kept += stays;
	return stays;
}

static void try_filter(const struct nfs_call *call, uint32_t mask, const uint8_t *bytes,
		       size_t len_bytes)
{
	struct choice first = { .mask = mask };
	struct choice again = { .mask = mask };
	struct buf *results = results_of(bytes, len_bytes);

	if (nfs3_attrs_filter(call, results, keep_some, &first) != 0) {
		FUZZ_ASSERT(results->len_bytes == len_bytes);
		FUZZ_ASSERT(len_bytes == 0 ||
			    memcmp(buf_start(results), bytes, len_bytes) == 0);
		buf_unref(results);
		return;
	}
	FUZZ_ASSERT(results->off_bytes == HEADROOM_BYTES);
	if (first.kept == first.asked)
		FUZZ_ASSERT(results->len_bytes == len_bytes);
	else
		FUZZ_ASSERT(results->len_bytes < len_bytes);
	FUZZ_ASSERT(nfs3_attrs_filter(call, results, keep_some, &again) == 0);
	FUZZ_ASSERT(again.kept == again.asked);
	/* Asked twice when there was something to take out. */
	FUZZ_ASSERT(again.kept ==
		    (first.kept == first.asked ? first.kept : first.kept / 2));
	buf_unref(results);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len_bytes)
{
	struct nfs_call call = { .program = PROGRAM_NFS, .version = 3 };

	if (len_bytes < 2)
		return 0;
	call.proc = bytes[0];
	if (call.proc >= NFS3_PROCS) {
		call.program = PROGRAM_NFSACL;
		call.proc = (call.proc - NFS3_PROCS) % 3;
	}
	try_filter(&call, 0, bytes + 2, len_bytes - 2);
	try_filter(&call, bytes[1], bytes + 2, len_bytes - 2);
	FUZZ_ASSERT(buf_total_bytes() == 0);
	return 0;
}
