/*
 * RPC record marking, receiving half.
 *
 * The hard case is a peer that chooses its fragments to hurt: lengths that would wrap a
 * sum, thousands of tiny fragments, empty ones without end. A length is compared with
 * what the record may still take before it is used; a record of any number of fragments
 * is one buffer, asked for once, at the first fragment that has bytes.
 *
 *   HEADER --(first bytes of a record announced)--> NEEDS_ROOM --give()--> BODY
 *   HEADER --(further fragment)-------------------> BODY
 *   BODY   --(fragment full)--> HEADER, or READY when it was the last
 *   READY  --steal()--> HEADER
 *   HEADER --(fault)--> BROKEN, for good
 *
 * Not promised: that a record which was begun ever ends; the owner has a timer for
 * that.
 */
#include "wire/record.h"

#include <string.h>

#include "wire/rpc_msg.h"

enum { RECORD_MARK_LAST = 0x80 }; /* in the first byte of a fragment header */

const char *record_fault_name(enum record_fault fault)
{
	switch (fault) {
#define X(name, text)                                                                  \
	case name:                                                                     \
		return text;
		RECORD_FAULT_TABLE(X)
#undef X
	}
	UNREACHABLE();
}

static void record_reader_restart(struct record_reader *reader)
{
	reader->state = RECORD_HEADER;
	reader->header_len = 0;
	reader->empty_fragments = 0;
	reader->last_fragment = false;
	reader->fragment_left_bytes = 0;
	reader->needed_bytes = 0;
	reader->record = NULL;
}

void record_reader_init(struct record_reader *reader, uint32_t max_bytes)
{
	*reader = (struct record_reader){
		.fault = RECORD_FAULT_NONE,
		.max_bytes = max_bytes,
	};
	record_reader_restart(reader);
}

void record_reader_fini(struct record_reader *reader)
{
	buf_unref(reader->record);
	record_reader_restart(reader);
}

static void record_reader_break(struct record_reader *reader, enum record_fault fault)
{
	buf_unref(reader->record);
	record_reader_restart(reader);
	reader->state = RECORD_BROKEN;
	reader->fault = fault;
}

/* All bytes that the fragment header announced are there. */
static void record_reader_end_fragment(struct record_reader *reader)
{
	reader->state = reader->last_fragment ? RECORD_READY : RECORD_HEADER;
	reader->header_len = 0;
}

/* The four bytes of a fragment header are there. */
static void record_reader_begin_fragment(struct record_reader *reader)
{
	const uint8_t *mark = reader->header;
	size_t have_bytes = reader->record == NULL ? 0 : reader->record->len_bytes;
	uint32_t len_bytes = (uint32_t)(mark[0] & ~RECORD_MARK_LAST) << 24 |
			     (uint32_t)mark[1] << 16 | (uint32_t)mark[2] << 8 | mark[3];

	reader->last_fragment = (mark[0] & RECORD_MARK_LAST) != 0;
	reader->fragment_left_bytes = len_bytes;
	reader->empty_fragments = len_bytes == 0 ? reader->empty_fragments + 1 : 0;

	if (len_bytes > reader->max_bytes - have_bytes) {
		record_reader_break(reader, RECORD_FAULT_TOO_LONG);
	} else if (reader->last_fragment &&
		   have_bytes + len_bytes < RPC_CALL_HEADER_MIN_BYTES) {
		record_reader_break(reader, RECORD_FAULT_TOO_SHORT);
	} else if (reader->empty_fragments > RECORD_EMPTY_FRAGMENTS_MAX) {
		record_reader_break(reader, RECORD_FAULT_EMPTY_FRAGMENTS);
	} else if (len_bytes == 0) {
		record_reader_end_fragment(reader);
	} else if (reader->record == NULL) {
		reader->needed_bytes = reader->last_fragment ? len_bytes
							     : reader->max_bytes;
		reader->state = RECORD_NEEDS_ROOM;
	} else {
		reader->state = RECORD_BODY;
	}
}

static size_t record_reader_take_header(struct record_reader *reader,
					const uint8_t *bytes, size_t len_bytes)
{
	size_t take_bytes = sizeof(reader->header) - reader->header_len;

	if (take_bytes > len_bytes)
		take_bytes = len_bytes;
	memcpy(reader->header + reader->header_len, bytes, take_bytes);
	reader->header_len += (unsigned int)take_bytes;
	if (reader->header_len == sizeof(reader->header))
		record_reader_begin_fragment(reader);
	return take_bytes;
}

static size_t record_reader_take_body(struct record_reader *reader,
				      const uint8_t *bytes, size_t len_bytes)
{
	size_t take_bytes;
	uint8_t *room = record_reader_want(reader, &take_bytes);

	if (take_bytes > len_bytes)
		take_bytes = len_bytes;
	memcpy(room, bytes, take_bytes);
	record_reader_received(reader, take_bytes);
	return take_bytes;
}

size_t record_reader_take(struct record_reader *reader, const uint8_t *bytes,
			  size_t len_bytes)
{
	size_t taken_bytes = 0;

	while (taken_bytes < len_bytes) {
		const uint8_t *next = bytes + taken_bytes;
		size_t left_bytes = len_bytes - taken_bytes;

		if (reader->state == RECORD_HEADER)
			taken_bytes +=
				record_reader_take_header(reader, next, left_bytes);
		else if (reader->state == RECORD_BODY)
			taken_bytes +=
				record_reader_take_body(reader, next, left_bytes);
		else
			break;
	}
	return taken_bytes;
}

uint8_t *record_reader_want(struct record_reader *reader, size_t *len_bytes)
{
	if (reader->state != RECORD_BODY) {
		*len_bytes = 0;
		return NULL;
	}
	*len_bytes = reader->fragment_left_bytes;
	return buf_start(reader->record) + reader->record->len_bytes;
}

void record_reader_received(struct record_reader *reader, size_t len_bytes)
{
	INVARIANT(reader->state == RECORD_BODY);
	INVARIANT(len_bytes <= reader->fragment_left_bytes);
	reader->record->len_bytes += len_bytes;
	reader->fragment_left_bytes -= (uint32_t)len_bytes;
	if (reader->fragment_left_bytes == 0)
		record_reader_end_fragment(reader);
}

void record_reader_give(struct record_reader *reader, struct buf *buf)
{
	INVARIANT(reader->state == RECORD_NEEDS_ROOM);
	INVARIANT(buf->len_bytes == 0);
	INVARIANT(buf->capacity_bytes - buf->off_bytes >= reader->needed_bytes);
	reader->record = buf;
	reader->state = RECORD_BODY;
}

struct buf *record_reader_steal(struct record_reader *reader)
{
	struct buf *record = reader->record;

	INVARIANT(reader->state == RECORD_READY);
	record_reader_restart(reader);
	return record;
}
