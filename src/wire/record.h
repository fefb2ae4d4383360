/*
 * RPC record marking (RFC 5531 s11), the receiving half, as a pure state machine: it is
 * told how many bytes arrived and says where the next ones belong. Fragments are joined
 * in one buffer; sending always makes one fragment (rpc_msg.h).
 *
 *   record_reader_want() --> where to receive, how much at most
 *   record_reader_take() <-- bytes that came by another way (a staging area)
 *   state RECORD_READY       a whole record is there: record_reader_steal() it
 *
 * Admission is the owner's: when a fragment header tells how long the record will be,
 * the reader stops in RECORD_NEEDS_ROOM until record_reader_give() hands it a buffer.
 * RECORD_BROKEN is for good: where the next record starts is not known any more.
 */
#ifndef WIRE_RECORD_H
#define WIRE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nfsgather/buf.h"
#include "nfsgather/invariant.h"

#define RECORD_STATE_TABLE(X)                                                          \
	X(RECORD_HEADER, "fragment header")                                            \
	X(RECORD_NEEDS_ROOM, "waiting for room")                                       \
	X(RECORD_BODY, "fragment body")                                                \
	X(RECORD_READY, "record complete")                                             \
	X(RECORD_BROKEN, "broken")

enum record_state {
#define X(name, text) name,
	RECORD_STATE_TABLE(X)
#undef X
};

/* Why a record is broken; one row gives enum and text for the log. */
#define RECORD_FAULT_TABLE(X)                                                          \
	X(RECORD_FAULT_NONE, "none")                                                   \
	X(RECORD_FAULT_TOO_LONG, "record longer than allowed")                         \
	X(RECORD_FAULT_TOO_SHORT, "record shorter than a call header")                 \
	X(RECORD_FAULT_EMPTY_FRAGMENTS, "too many empty fragments")

enum record_fault {
#define X(name, text) name,
	RECORD_FAULT_TABLE(X)
#undef X
};

/* Empty fragments in a row that a record may have; nobody sends even one on purpose. */
enum { RECORD_EMPTY_FRAGMENTS_MAX = 16 };

const char *record_fault_name(enum record_fault fault);

struct record_reader {
	enum record_state state;
	enum record_fault fault;
	uint32_t max_bytes; /* whole record, without the 4-byte headers */
	uint8_t header[4];
	unsigned int header_len;
	unsigned int empty_fragments; /* in a row, up to now */
	bool last_fragment;
	uint32_t fragment_left_bytes;
	size_t needed_bytes; /* in RECORD_NEEDS_ROOM: capacity the buffer must have */
	struct buf *record;  /* NULL until given; its len_bytes is what came so far */
};

/* `max_bytes` at least RPC_CALL_HEADER_MIN_BYTES, or every record is too long. */
void record_reader_init(struct record_reader *reader, uint32_t max_bytes);
/* Drops what was read so far; the fault stays readable. */
void record_reader_fini(struct record_reader *reader);

/*
 * Consumes bytes, at most up to the end of one record, to the point where room is
 * needed or to the fault that breaks the record; returns how many. The rest is offered
 * again later, after record_reader_give() or record_reader_steal().
 */
MUST_CHECK size_t record_reader_take(struct record_reader *reader, const uint8_t *bytes,
				     size_t len_bytes);
/*
 * In RECORD_BODY: where body bytes may be received directly, and how many belong there
 * (1 or more; the rest of this fragment). NULL and 0 in any other state.
 */
uint8_t *record_reader_want(struct record_reader *reader, size_t *len_bytes);
/* ... and that many came. */
void record_reader_received(struct record_reader *reader, size_t len_bytes);
/*
 * In RECORD_NEEDS_ROOM: takes over one reference to an empty buffer of at least
 * needed_bytes. needed_bytes is the record's length when its first fragment is its
 * last, else max_bytes (how long it gets is not known yet): it is asked once a record.
 */
void record_reader_give(struct record_reader *reader, struct buf *buf);
/* In RECORD_READY: the record, the caller's from now on; reading starts anew. */
struct buf *record_reader_steal(struct record_reader *reader);

#endif
