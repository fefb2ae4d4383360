/*
 * RPC call and reply headers (RFC 5531 s9) and AUTH_SYS credentials (s8.2, appendix A).
 * Decoding never fails by closing: a well-formed record gets an RPC answer.
 */
#ifndef WIRE_RPC_MSG_H
#define WIRE_RPC_MSG_H

#include <stddef.h>
#include <stdint.h>

#include "nfsgather/buf.h"
#include "nfsgather/call.h"
#include "nfsgather/invariant.h"

/*
 * What a call header turned out to be. BAD_AUTH carries an enum rpc_auth_error. With
 * RPC_MISMATCH and BAD_AUTH the xid is set, so that the caller can be told.
 */
enum rpc_decode {
	RPC_DECODE_OK,
	RPC_DECODE_NOT_A_CALL,	 /* no xid, a reply, cut off: cannot be answered */
	RPC_DECODE_RPC_MISMATCH, /* RPC version is not 2 */
	RPC_DECODE_BAD_AUTH,
};

enum rpc_auth_error { /* auth_stat, RFC 5531 s9 */
		      RPC_AUTH_OK = 0,
		      RPC_AUTH_BADCRED = 1,
		      RPC_AUTH_REJECTEDCRED = 2,
		      RPC_AUTH_BADVERF = 3,
		      RPC_AUTH_REJECTEDVERF = 4,
		      RPC_AUTH_TOOWEAK = 5,
};

enum rpc_accept { /* accept_stat */
		  RPC_ACCEPT_SUCCESS = 0,
		  RPC_ACCEPT_PROG_UNAVAIL = 1,
		  RPC_ACCEPT_PROG_MISMATCH = 2,
		  RPC_ACCEPT_PROC_UNAVAIL = 3,
		  RPC_ACCEPT_GARBAGE_ARGS = 4,
		  RPC_ACCEPT_SYSTEM_ERR = 5,
};

enum {
	RPC_RECORD_MARK_BYTES = 4,
	RPC_REPLY_HEADER_BYTES = 24, /* accepted, with an empty verifier */
	RPC_CALL_HEADER_MIN_BYTES = 40,
};

struct rpc_header {
	uint32_t xid;
	uint32_t program;
	uint32_t version;
	uint32_t proc;
	struct rpc_cred cred;
	enum rpc_auth_error auth_error; /* with RPC_DECODE_BAD_AUTH */
};

/*
 * Reads the header of the record in `bytes`; on RPC_DECODE_OK *args_off is where the
 * arguments start (0 otherwise).
 *
 * Credentials: AUTH_NONE (a body is kept, though it should be empty) and AUTH_SYS are
 * taken; any other flavor is RPC_AUTH_REJECTEDCRED. RPCSEC_GSS too: TOOWEAK would ask
 * the caller for a stronger flavor, and there is none. A body over 400 bytes, or an
 * AUTH_SYS body that does not decode (17 groups, name over 255, trailing bytes), is
 * RPC_AUTH_BADCRED. Verifiers: any flavor and content; over 400 bytes is
 * RPC_AUTH_BADVERF.
 */
enum rpc_decode rpc_header_decode(struct rpc_header *header, const uint8_t *bytes,
				  size_t len_bytes, size_t *args_off);

/*
 * Decodes an AUTH_SYS body into the fields and keeps the bytes: 0, or -EBADMSG with no
 * field but the flavor set. `body` is not inside *cred.
 */
MUST_CHECK int rpc_cred_decode_sys(struct rpc_cred *cred, const uint8_t *body,
				   uint32_t len_bytes);
/* Makes body and body_len from the other fields (for AUTH_NONE an empty body). */
void rpc_cred_encode(struct rpc_cred *cred);

/*
 * Puts record mark and accepted header into the headroom before the results in `reply`
 * (RPC_RECORD_MARK_BYTES + RPC_REPLY_HEADER_BYTES must be free there).
 */
void rpc_reply_prepend(struct buf *reply, uint32_t xid);

/*
 * Whole replies, record mark included; NULL when memory is short. `accept` is neither
 * SUCCESS (rpc_reply_prepend) nor PROG_MISMATCH; `error` is not RPC_AUTH_OK.
 */
struct buf *rpc_reply_accept_error(uint32_t xid, enum rpc_accept accept);
struct buf *rpc_reply_prog_mismatch(uint32_t xid, uint32_t low, uint32_t high);
struct buf *rpc_reply_rpc_mismatch(uint32_t xid);
struct buf *rpc_reply_auth_error(uint32_t xid, enum rpc_auth_error error);

#endif
