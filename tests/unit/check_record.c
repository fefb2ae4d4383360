/*
 * The record reader: whatever way the bytes arrive, the records that were put into the
 * stream come out, or the same fault does.
 *
 * Not reached: fragments over 16 KiB that are not refused (the lengths of refused ones
 * go to the limit of 31 bits).
 */
#include "unit.h"
#include "wire/record.h"
#include "wire/rpc_msg.h"
#include "wire_bytes.h"

enum { MAX_BYTES = 16 * 1024, RECORDS_MAX = 64 };

static struct wire_bytes stream;
static struct wire_bytes expected; /* all records one after the other */
static size_t expected_len[RECORDS_MAX];
static size_t expected_count;
static uint8_t next_fill;

static void stream_reset(void)
{
	stream.len = 0;
	expected.len = 0;
	expected_count = 0;
	expected_len[0] = 0;
}

static void put_fragment_header(uint32_t len, bool last)
{
	wire_put_u32(&stream, len | (last ? 0x80000000 : 0));
}

/* A fragment whose bytes are told apart from its neighbours'. */
static void put_fragment(uint32_t len, bool last)
{
	put_fragment_header(len, last);
	for (uint32_t i = 0; i < len; i++) {
		uint8_t byte = next_fill++;

		wire_put_raw(&stream, &byte, 1);
		wire_put_raw(&expected, &byte, 1);
	}
	expected_len[expected_count] += len;
	if (last)
		expected_len[++expected_count] = 0;
}

/* What came out of a reader. */
struct outcome {
	size_t count;
	size_t taken;
	size_t seen; /* bytes compared with expected.data */
	enum record_fault fault;
};

static void give_exactly(struct record_reader *reader)
{
	struct buf *buf = buf_new(reader->needed_bytes);

	ck_assert_ptr_nonnull(buf);
	record_reader_give(reader, buf);
}

static void collect(struct record_reader *reader, struct outcome *outcome)
{
	struct buf *record = record_reader_steal(reader);

	wire_assert(outcome->count < expected_count);
	wire_assert(record->len_bytes == expected_len[outcome->count]);
	wire_assert(memcmp(buf_start(record), expected.data + outcome->seen,
			   record->len_bytes) == 0);
	outcome->seen += record->len_bytes;
	outcome->count++;
	buf_unref(record);
	wire_assert(reader->state == RECORD_HEADER);
}

/* Offers bytes [from, to) as long as the reader makes progress. */
static void offer(struct record_reader *reader, size_t from, size_t to, bool direct,
		  struct outcome *outcome)
{
	while (reader->state != RECORD_BROKEN) {
		size_t len;
		uint8_t *room = record_reader_want(reader, &len);

		wire_assert((room != NULL) == (reader->state == RECORD_BODY));
		wire_assert((len > 0) == (reader->state == RECORD_BODY));
		if (reader->state == RECORD_NEEDS_ROOM) {
			give_exactly(reader);
		} else if (reader->state == RECORD_READY) {
			collect(reader, outcome);
		} else if (from == to) {
			return;
		} else if (direct && room != NULL) {
			len = len < to - from ? len : to - from;
			memcpy(room, stream.data + from, len);
			record_reader_received(reader, len);
			from += len;
			outcome->taken += len;
		} else {
			len = record_reader_take(reader, stream.data + from, to - from);
			wire_assert(len > 0);
			wire_assert(len <= to - from);
			from += len;
			outcome->taken += len;
		}
	}
	outcome->fault = reader->fault;
}

/* Feeds the stream in pieces of `step` after a first piece of `first`. */
static struct outcome feed(size_t first, size_t step, bool direct)
{
	struct outcome outcome = { 0 };
	struct record_reader reader;
	size_t from = 0;
	size_t to = first;

	record_reader_init(&reader, MAX_BYTES);
	while (from < stream.len) {
		to = to < stream.len ? to : stream.len;
		offer(&reader, from, to, direct, &outcome);
		from = to;
		to += step;
	}
	record_reader_fini(&reader);
	ck_assert_uint_eq(buf_total_bytes(), 0);
	return outcome;
}

static void expect_all(struct outcome outcome)
{
	ck_assert_uint_eq(outcome.fault, RECORD_FAULT_NONE);
	ck_assert_uint_eq(outcome.count, expected_count);
	ck_assert_uint_eq(outcome.taken, stream.len);
}

static void make_mixed_stream(void)
{
	stream_reset();
	put_fragment(40, true); /* the shortest record */
	put_fragment(3, false);
	put_fragment(0, false);
	put_fragment(17, false);
	put_fragment(30, true);
	put_fragment(0, false);
	put_fragment(41, true);
	put_fragment(43, false);
	put_fragment(0, true);
	put_fragment(42, true);
}

START_TEST(every_split_gives_the_same_records)
{
	make_mixed_stream();
	for (size_t first = 0; first <= stream.len; first++)
		expect_all(feed(first, stream.len, _i));
}
END_TEST

START_TEST(every_step_gives_the_same_records)
{
	make_mixed_stream();
	for (size_t step = 1; step <= stream.len; step++)
		expect_all(feed(step, step, _i));
}
END_TEST

START_TEST(record_of_2000_fragments)
{
	static const size_t steps[] = { 1, 2, 3, 4, 5, 7, 1000, SIZE_MAX / 2 };

	stream_reset();
	for (int i = 1; i <= 2000; i++)
		put_fragment(i % 5 == 0 ? 30 : 1, i == 2000);
	put_fragment(40, true);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		expect_all(feed(steps[i], steps[i], _i));
}
END_TEST

START_TEST(room_is_exact_for_one_fragment)
{
	struct record_reader reader;

	stream_reset();
	put_fragment(1000, true);
	record_reader_init(&reader, MAX_BYTES);
	ck_assert_uint_eq(record_reader_take(&reader, stream.data, stream.len), 4);
	ck_assert_uint_eq(reader.state, RECORD_NEEDS_ROOM);
	ck_assert_uint_eq(reader.needed_bytes, 1000);
	/* Without room nothing more is taken. */
	ck_assert_uint_eq(record_reader_take(&reader, stream.data, stream.len), 0);
	record_reader_fini(&reader);
}
END_TEST

START_TEST(room_is_the_maximum_for_several)
{
	struct record_reader reader;

	stream_reset();
	put_fragment(0, false);
	put_fragment(8, false);
	record_reader_init(&reader, MAX_BYTES);
	ck_assert_uint_eq(record_reader_take(&reader, stream.data, stream.len), 8);
	ck_assert_uint_eq(reader.state, RECORD_NEEDS_ROOM);
	ck_assert_uint_eq(reader.needed_bytes, MAX_BYTES);
	give_exactly(&reader);
	ck_assert_uint_eq(record_reader_take(&reader, stream.data + 8, 8), 8);
	ck_assert_uint_eq(reader.state, RECORD_HEADER);
	record_reader_fini(&reader);
	ck_assert_uint_eq(buf_total_bytes(), 0);
}
END_TEST

/* The buffer's free space counts, not its capacity. */
START_TEST(room_may_have_headroom)
{
	struct record_reader reader;
	struct buf *buf = buf_new(100 + 40);

	stream_reset();
	put_fragment(40, true);
	buf->off_bytes = 100;
	record_reader_init(&reader, MAX_BYTES);
	ck_assert_uint_eq(record_reader_take(&reader, stream.data, stream.len), 4);
	record_reader_give(&reader, buf);
	ck_assert_uint_eq(record_reader_take(&reader, stream.data + 4, 40), 40);
	buf = record_reader_steal(&reader);
	ck_assert_mem_eq(buf->data + 100, expected.data, 40);
	buf_unref(buf);
}
END_TEST

START_TEST(ready_record_stops_the_reader)
{
	struct outcome outcome = { 0 };
	struct record_reader reader;

	stream_reset();
	put_fragment(40, true);
	put_fragment(44, true);
	record_reader_init(&reader, MAX_BYTES);
	ck_assert_uint_eq(record_reader_take(&reader, stream.data, stream.len), 4);
	give_exactly(&reader);
	ck_assert_uint_eq(record_reader_take(&reader, stream.data + 4, 88), 40);
	ck_assert_uint_eq(reader.state, RECORD_READY);
	ck_assert_uint_eq(record_reader_take(&reader, stream.data + 44, 48), 0);
	collect(&reader, &outcome);
	offer(&reader, 44, stream.len, false, &outcome);
	ck_assert_uint_eq(outcome.count, 2);
}
END_TEST

START_TEST(longest_record_passes)
{
	stream_reset();
	if (_i == 0) {
		put_fragment(MAX_BYTES, true);
	} else {
		put_fragment(MAX_BYTES - 1, false);
		put_fragment(1, true);
	}
	expect_all(feed(SIZE_MAX / 2, 1, false));
}
END_TEST

static void expect_fault(enum record_fault fault)
{
	static const size_t steps[] = { 1, 3, 4, 1000, SIZE_MAX / 2 };

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct outcome outcome = feed(steps[i], steps[i], i % 2 == 0);

		ck_assert_uint_eq(outcome.fault, fault);
		ck_assert_uint_eq(outcome.count, expected_count);
	}
}

START_TEST(too_long_is_refused)
{
	static const uint32_t lengths[] = { MAX_BYTES + 1, 0x00ffffff, 0x7ffffffe,
					    0x7fffffff };

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		stream_reset();
		put_fragment(40, true);
		put_fragment_header(lengths[i], _i);
		expect_fault(RECORD_FAULT_TOO_LONG);
	}
}
END_TEST

/* Sums that pass the limit, and ones that would wrap 31 or 32 bits. */
START_TEST(sums_do_not_wrap)
{
	static const uint32_t second[] = { MAX_BYTES - 49, 0x7fffffff - 49,
					   0x7fffffff };

	for (size_t i = 0; i < sizeof(second) / sizeof(second[0]); i++) {
		stream_reset();
		put_fragment(50, false);
		put_fragment_header(second[i], _i);
		expect_fault(RECORD_FAULT_TOO_LONG);
	}
	stream_reset();
	put_fragment(MAX_BYTES, false);
	put_fragment_header(1, true);
	expect_fault(RECORD_FAULT_TOO_LONG);
}
END_TEST

START_TEST(wrapping_maximum_is_no_limit_lost)
{
	struct record_reader reader;

	stream_reset();
	put_fragment_header(0x7fffffff, true);
	record_reader_init(&reader, UINT32_MAX);
	ck_assert_uint_eq(record_reader_take(&reader, stream.data, 4), 4);
	ck_assert_uint_eq(reader.state, RECORD_NEEDS_ROOM);
	ck_assert_uint_eq(reader.needed_bytes, 0x7fffffff);
	record_reader_fini(&reader);
}
END_TEST

START_TEST(too_short_is_refused)
{
	stream_reset();
	put_fragment_header((uint32_t)_i, true);
	expect_fault(RECORD_FAULT_TOO_SHORT);

	stream_reset();
	if (_i > 0) {
		put_fragment(1, false);
		put_fragment_header((uint32_t)_i - 1, true);
		expect_fault(RECORD_FAULT_TOO_SHORT);
	}
}
END_TEST

START_TEST(empty_fragments_are_bounded)
{
	stream_reset();
	for (int record = 0; record < 2; record++) {
		put_fragment(40, false);
		for (int i = 0; i < RECORD_EMPTY_FRAGMENTS_MAX; i++)
			put_fragment(0, false);
		put_fragment(1, false);
		for (int i = 0; i < RECORD_EMPTY_FRAGMENTS_MAX; i++)
			put_fragment(0, false);
		put_fragment(1, true);
	}
	expect_all(feed(1, 1, false));
	for (int i = 0; i <= RECORD_EMPTY_FRAGMENTS_MAX; i++)
		put_fragment_header(0, false);
	expect_fault(RECORD_FAULT_EMPTY_FRAGMENTS);
}
END_TEST

START_TEST(broken_stays_broken)
{
	struct record_reader reader;
	size_t len;

	stream_reset();
	put_fragment_header(0, true);
	put_fragment(40, true);
	record_reader_init(&reader, MAX_BYTES);
	ck_assert_uint_eq(record_reader_take(&reader, stream.data, stream.len), 4);
	ck_assert_uint_eq(reader.state, RECORD_BROKEN);
	ck_assert_uint_eq(record_reader_take(&reader, stream.data + 4, 44), 0);
	ck_assert_ptr_null(record_reader_want(&reader, &len));
	ck_assert_uint_eq(len, 0);
	record_reader_fini(&reader);
	ck_assert_uint_eq(reader.fault, RECORD_FAULT_TOO_SHORT);
}
END_TEST

START_TEST(faults_have_texts)
{
	ck_assert_str_eq(record_fault_name(RECORD_FAULT_NONE), "none");
	ck_assert_str_eq(record_fault_name(RECORD_FAULT_TOO_LONG),
			 "record longer than allowed");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("record");
	TCase *joining = unit_case(suite, "joining");
	TCase *room = unit_case(suite, "room");
	TCase *faults = unit_case(suite, "faults");

	tcase_add_loop_test(joining, every_split_gives_the_same_records, 0, 2);
	tcase_add_loop_test(joining, every_step_gives_the_same_records, 0, 2);
	tcase_add_loop_test(joining, record_of_2000_fragments, 0, 2);
	tcase_add_test(joining, ready_record_stops_the_reader);
	tcase_add_loop_test(joining, longest_record_passes, 0, 2);
	tcase_add_test(room, room_is_exact_for_one_fragment);
	tcase_add_test(room, room_is_the_maximum_for_several);
	tcase_add_test(room, room_may_have_headroom);
	tcase_add_loop_test(faults, too_long_is_refused, 0, 2);
	tcase_add_loop_test(faults, sums_do_not_wrap, 0, 2);
	tcase_add_test(faults, wrapping_maximum_is_no_limit_lost);
	tcase_add_loop_test(faults, too_short_is_refused, 0, RPC_CALL_HEADER_MIN_BYTES);
	tcase_add_test(faults, empty_fragments_are_bounded);
	tcase_add_test(faults, broken_stays_broken);
	tcase_add_test(faults, faults_have_texts);
	return unit_run(suite);
}
