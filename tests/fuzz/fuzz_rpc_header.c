/*
 * Call headers: a header that decodes ends inside the record, decodes the same without
 * what follows it, not at all without its last byte, and its credential is the same
 * after it was made anew from its fields.
 *
 * Input: a record.
 *
 * Not reached: replies; no input shapes them.
 */
#include <stdbool.h>
#include <string.h>

#include "fuzz.h"
#include "wire/rpc_msg.h"

static void check_cred(const struct rpc_cred *cred)
{
	struct rpc_cred encoded = *cred;
	struct rpc_cred again;

	FUZZ_ASSERT(cred->flavor == RPC_AUTH_NONE || cred->flavor == RPC_AUTH_SYS);
	FUZZ_ASSERT(cred->body_len <= RPC_AUTH_BODY_MAX_BYTES);
	FUZZ_ASSERT(cred->gid_count <= RPC_AUTH_SYS_GIDS_MAX);
	FUZZ_ASSERT(cred->machine_name_len <= RPC_MACHINE_NAME_MAX_BYTES);
	FUZZ_ASSERT(cred->machine_name[cred->machine_name_len] == '\0');
	rpc_cred_encode(&encoded);
	if (cred->flavor == RPC_AUTH_NONE) {
		FUZZ_ASSERT(encoded.body_len == 0);
		return;
	}
	FUZZ_ASSERT(encoded.body_len == cred->body_len);
	FUZZ_ASSERT(rpc_cred_decode_sys(&again, encoded.body, encoded.body_len) == 0);
	FUZZ_ASSERT(again.stamp == cred->stamp);
	FUZZ_ASSERT(again.uid == cred->uid && again.gid == cred->gid);
	FUZZ_ASSERT(again.gid_count == cred->gid_count);
	FUZZ_ASSERT(memcmp(again.gids, cred->gids, sizeof(again.gids)) == 0);
	FUZZ_ASSERT(again.machine_name_len == cred->machine_name_len);
	FUZZ_ASSERT(memcmp(again.machine_name, cred->machine_name,
			   sizeof(again.machine_name)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len_bytes)
{
	struct rpc_header header;
	struct rpc_header again;
	size_t args_off;
	size_t again_off;
	enum rpc_decode decode =
		rpc_header_decode(&header, bytes, len_bytes, &args_off);

	FUZZ_ASSERT((decode == RPC_DECODE_OK) == (args_off > 0));
	FUZZ_ASSERT((decode == RPC_DECODE_BAD_AUTH) ==
		    (header.auth_error != RPC_AUTH_OK));
	FUZZ_ASSERT(decode == RPC_DECODE_NOT_A_CALL || len_bytes >= 12);
	if (decode != RPC_DECODE_OK)
		return 0;
	FUZZ_ASSERT(args_off >= RPC_CALL_HEADER_MIN_BYTES && args_off <= len_bytes);
	FUZZ_ASSERT(args_off % 4 == 0);
	check_cred(&header.cred);
	FUZZ_ASSERT(rpc_header_decode(&again, bytes, args_off, &again_off) ==
		    RPC_DECODE_OK);
	FUZZ_ASSERT(again_off == args_off);
	FUZZ_ASSERT(again.xid == header.xid && again.program == header.program &&
		    again.version == header.version && again.proc == header.proc);
	FUZZ_ASSERT(rpc_header_decode(&again, bytes, args_off - 1, &again_off) ==
		    RPC_DECODE_NOT_A_CALL);
	return 0;
}
