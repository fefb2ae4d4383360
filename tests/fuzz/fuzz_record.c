/*
 * The record reader: however a stream is cut, the records are those that a reader finds
 * which sees all of it at once, and so is the fault that ends it.
 *
 * Input: how the stream is cut (8 bytes: sizes of the pieces, used in turn; an odd one
 * means that bodies are received directly), then the stream.
 *
 * Not reached: records over MAX_BYTES that pass.
 */
#include <stdbool.h>
#include <string.h>

#include "fuzz.h"
#include "wire/record.h"
#include "wire/rpc_msg.h"

enum { MAX_BYTES = 4096, PIECES = 8 };

struct seen {
	size_t record_count;
	size_t len_bytes;
	uint8_t *data; /* all records, one after the other */
	enum record_fault fault;
};

static void seen_add(struct seen *seen, const uint8_t *bytes, size_t len_bytes)
{
	memcpy(seen->data + seen->len_bytes, bytes, len_bytes);
	seen->len_bytes += len_bytes;
}

/* The reference. Bytes of a record that does not end are not seen. */
static void read_at_once(struct seen *seen, const uint8_t *at, size_t left)
{
	size_t record_bytes = 0;
	unsigned int empty = 0;

	while (left >= 4) {
		uint64_t len = (uint64_t)(at[0] & 0x7f) << 24 | (uint64_t)at[1] << 16 |
			       (uint64_t)at[2] << 8 | at[3];
		bool last = (at[0] & 0x80) != 0;

		at += 4;
		left -= 4;
		empty = len == 0 ? empty + 1 : 0;
		if (record_bytes + len > MAX_BYTES)
			seen->fault = RECORD_FAULT_TOO_LONG;
		else if (last && record_bytes + len < RPC_CALL_HEADER_MIN_BYTES)
			seen->fault = RECORD_FAULT_TOO_SHORT;
		else if (empty > RECORD_EMPTY_FRAGMENTS_MAX)
			seen->fault = RECORD_FAULT_EMPTY_FRAGMENTS;
		if (seen->fault != RECORD_FAULT_NONE || len > left)
			break;
		seen_add(seen, at, len);
		at += len;
		left -= len;
		record_bytes += len;
		if (last) {
			seen->record_count++;
			record_bytes = 0;
			empty = 0;
		}
	}
	seen->len_bytes -= record_bytes;
}

/* One move of the reader; how many of the bytes it used up. */
static size_t step(struct record_reader *reader, const uint8_t *bytes, size_t len_bytes,
		   bool direct, struct seen *seen)
{
	size_t room_bytes;
	uint8_t *room = record_reader_want(reader, &room_bytes);
	struct buf *buf;

	FUZZ_ASSERT((room != NULL) == (reader->state == RECORD_BODY));
	switch (reader->state) {
	case RECORD_NEEDS_ROOM:
		FUZZ_ASSERT(reader->needed_bytes > 0 &&
			    reader->needed_bytes <= MAX_BYTES);
		buf = buf_new(reader->needed_bytes);
		FUZZ_ASSERT(buf != NULL);
		record_reader_give(reader, buf);
		return 0;
	case RECORD_READY:
		buf = record_reader_steal(reader);
		FUZZ_ASSERT(buf->len_bytes >= RPC_CALL_HEADER_MIN_BYTES);
		FUZZ_ASSERT(buf->len_bytes <= buf->capacity_bytes);
		seen_add(seen, buf_start(buf), buf->len_bytes);
		seen->record_count++;
		buf_unref(buf);
		return 0;
	case RECORD_BODY:
		if (!direct)
			break;
		FUZZ_ASSERT(room_bytes > 0);
		if (room_bytes > len_bytes)
			room_bytes = len_bytes;
		memcpy(room, bytes, room_bytes);
		record_reader_received(reader, room_bytes);
		return room_bytes;
	case RECORD_HEADER:
	case RECORD_BROKEN:
		break;
	}
	return record_reader_take(reader, bytes, len_bytes);
}

static void read_in_pieces(struct seen *seen, const uint8_t *pieces, const uint8_t *at,
			   size_t left)
{
	struct record_reader reader;

	record_reader_init(&reader, MAX_BYTES);
	for (size_t i = 0; left > 0 && reader.state != RECORD_BROKEN; i++) {
		uint8_t piece = pieces[i % PIECES];
		size_t offered = (size_t)piece / 2 + 1;

		if (offered > left)
			offered = left;
		while (reader.state != RECORD_BROKEN &&
		       (offered > 0 || reader.state == RECORD_READY)) {
			size_t used = step(&reader, at, offered, piece % 2 == 1, seen);

			FUZZ_ASSERT(used <= offered);
			at += used;
			offered -= used;
			left -= used;
		}
	}
	FUZZ_ASSERT((reader.state == RECORD_BROKEN) ==
		    (reader.fault != RECORD_FAULT_NONE));
	seen->fault = reader.fault;
	record_reader_fini(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len_bytes)
{
	struct seen once = { 0 };
	struct seen cut = { 0 };

	if (len_bytes < PIECES)
		return 0;
	once.data = malloc(len_bytes);
	cut.data = malloc(len_bytes);
	FUZZ_ASSERT(once.data != NULL && cut.data != NULL);
	read_at_once(&once, bytes + PIECES, len_bytes - PIECES);
	read_in_pieces(&cut, bytes, bytes + PIECES, len_bytes - PIECES);
	FUZZ_ASSERT(cut.fault == once.fault);
	FUZZ_ASSERT(cut.record_count == once.record_count);
	FUZZ_ASSERT(cut.len_bytes == once.len_bytes);
	FUZZ_ASSERT(memcmp(cut.data, once.data, once.len_bytes) == 0);
	FUZZ_ASSERT(buf_total_bytes() == 0);
	free(once.data);
	free(cut.data);
	return 0;
}
