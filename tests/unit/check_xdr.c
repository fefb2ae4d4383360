/*
 * XDR cursors against libtirpc's xdrmem, an implementation that shares nothing with
 * ours, and against bytes that end or lie.
 *
 * Not reached: lengths over 4 GiB, which no cursor here is ever given.
 */
#include <rpc/rpc.h>

#include "unit.h"
#include "wire/xdr.h"
#include "wire_bytes.h"

static struct wire_bytes bytes;

START_TEST(reads_big_endian_words)
{
	struct xdr_in in;

	bytes.len = 0;
	wire_put_u32(&bytes, 0x01020304);
	wire_put_u64(&bytes, 0x8090a0b0c0d0e0f1);
	wire_put_u32(&bytes, 1);
	wire_put_u32(&bytes, 0);
	xdr_in_init(&in, bytes.data, bytes.len);
	ck_assert_uint_eq(xdr_in_u32(&in), 0x01020304);
	ck_assert_uint_eq(xdr_in_u64(&in), 0x8090a0b0c0d0e0f1);
	ck_assert(xdr_in_bool(&in));
	ck_assert(xdr_in_ok(&in));
	ck_assert_uint_eq(xdr_in_left_bytes(&in), 4);
	ck_assert(!xdr_in_bool(&in));
	ck_assert(xdr_in_ok(&in));
	ck_assert_uint_eq(xdr_in_left_bytes(&in), 0);
}
END_TEST

START_TEST(reads_from_any_alignment)
{
	static uint8_t room[32];
	struct xdr_in in;

	bytes.len = 0;
	wire_put_u64(&bytes, 0x1122334455667788);
	wire_put_text(&bytes, "ab");
	memcpy(room + _i, bytes.data, bytes.len);
	xdr_in_init(&in, room + _i, bytes.len);
	ck_assert_uint_eq(xdr_in_u64(&in), 0x1122334455667788);
	struct nfs3_bytes view = xdr_in_bytes(&in, 2);
	ck_assert_uint_eq(view.len, 2);
	ck_assert_mem_eq(view.data, "ab", 2);
	ck_assert_ptr_eq(view.data, room + _i + 12);
	ck_assert(xdr_in_ok(&in));
}
END_TEST

START_TEST(fails_on_every_short_word)
{
	memset(bytes.data, 0xff, 8);
	for (size_t len = 0; len < 8; len++) {
		uint8_t *exact = wire_exact(&bytes, len);
		struct xdr_in in;

		xdr_in_init(&in, exact, len);
		ck_assert_uint_eq(xdr_in_u64(&in), 0);
		ck_assert(!xdr_in_ok(&in));
		ck_assert_uint_eq(xdr_in_left_bytes(&in), 0);
		if (len < 4) {
			xdr_in_init(&in, exact, len);
			ck_assert_uint_eq(xdr_in_u32(&in), 0);
			ck_assert(!xdr_in_ok(&in));
		}
		free(exact);
	}
}
END_TEST

START_TEST(bool_is_0_or_1)
{
	struct xdr_in in;

	bytes.len = 0;
	wire_put_u32(&bytes, _i == 0 ? 2 : UINT32_MAX);
	wire_put_u32(&bytes, 7);
	xdr_in_init(&in, bytes.data, bytes.len);
	ck_assert(!xdr_in_bool(&in));
	ck_assert(!xdr_in_ok(&in));
	ck_assert_uint_eq(xdr_in_u32(&in), 0);
}
END_TEST

START_TEST(word_has_a_maximum)
{
	struct xdr_in in;

	bytes.len = 0;
	wire_put_u32(&bytes, 7);
	xdr_in_init(&in, bytes.data, bytes.len);
	ck_assert_uint_eq(xdr_in_u32_max(&in, 7), 7);
	ck_assert(xdr_in_ok(&in));
	xdr_in_init(&in, bytes.data, bytes.len);
	ck_assert_uint_eq(xdr_in_u32_max(&in, 6), 0);
	ck_assert(!xdr_in_ok(&in));
}
END_TEST

/* Length _i, so all of mod 4; padding is not zero and does not matter. */
START_TEST(bytes_take_their_padding)
{
	uint32_t len = (uint32_t)_i;
	struct xdr_in in;
	struct nfs3_bytes view;

	bytes.len = 0;
	wire_put_u32(&bytes, len);
	wire_put_fill(&bytes, 'x', len, 0xff);
	size_t end = bytes.len;
	wire_put_u32(&bytes, 42);
	xdr_in_init(&in, bytes.data, bytes.len);
	view = xdr_in_bytes(&in, len);
	ck_assert_uint_eq(view.len, len);
	ck_assert_ptr_eq(view.data, bytes.data + 4);
	ck_assert_uint_eq(xdr_in_u32(&in), 42);
	ck_assert(xdr_in_ok(&in));

	for (size_t cut = 0; cut < end; cut++) {
		uint8_t *exact = wire_exact(&bytes, cut);

		xdr_in_init(&in, exact, cut);
		view = xdr_in_bytes(&in, len);
		ck_assert(!xdr_in_ok(&in));
		ck_assert_ptr_null(view.data);
		ck_assert_uint_eq(view.len, 0);
		free(exact);
	}
	if (len > 0) {
		xdr_in_init(&in, bytes.data, bytes.len);
		(void)xdr_in_bytes(&in, len - 1);
		ck_assert(!xdr_in_ok(&in));
	}
}
END_TEST

START_TEST(lying_lengths_do_not_wrap)
{
	static const uint32_t lengths[] = { 5,		8,	    0x7fffffff,
					    0x80000000, 0xfffffffc, 0xfffffffd,
					    0xfffffffe, 0xffffffff };
	struct xdr_in in;

	bytes.len = 0;
	wire_put_u32(&bytes, lengths[_i]);
	wire_put_u32(&bytes, 0);
	uint8_t *exact = wire_exact(&bytes, bytes.len);
	xdr_in_init(&in, exact, bytes.len);
	ck_assert_ptr_null(xdr_in_bytes(&in, UINT32_MAX).data);
	ck_assert(!xdr_in_ok(&in));
	xdr_in_init(&in, exact, bytes.len);
	ck_assert_ptr_null(xdr_in_fixed(&in, lengths[_i] < 9 ? 9 : lengths[_i]));
	ck_assert(!xdr_in_ok(&in));
	free(exact);
}
END_TEST

START_TEST(bad_stays_bad)
{
	struct xdr_in in;

	bytes.len = 0;
	wire_put_u64(&bytes, UINT64_MAX);
	xdr_in_init(&in, bytes.data, bytes.len);
	xdr_in_reject(&in);
	ck_assert_uint_eq(xdr_in_u32(&in), 0);
	ck_assert_uint_eq(xdr_in_u64(&in), 0);
	ck_assert(!xdr_in_bool(&in));
	ck_assert_ptr_null(xdr_in_fixed(&in, 0));
	ck_assert_ptr_null(xdr_in_bytes(&in, 0).data);
	ck_assert_uint_eq(xdr_in_left_bytes(&in), 0);
	ck_assert(!xdr_in_ok(&in));
}
END_TEST

START_TEST(nothing_at_all_can_be_read)
{
	struct xdr_in in;

	xdr_in_init(&in, NULL, 0);
	ck_assert_uint_eq(xdr_in_left_bytes(&in), 0);
	ck_assert_ptr_nonnull(xdr_in_fixed(&in, 0));
	ck_assert(xdr_in_ok(&in));
	(void)xdr_in_u32(&in);
	ck_assert(!xdr_in_ok(&in));
}
END_TEST

/* libtirpc writes the same bytes, for every length mod 4, and reads back ours. */
START_TEST(writes_what_libtirpc_writes)
{
	uint8_t ours[128];
	char theirs[128];
	char payload[] = "abcdefghijklmnop";
	uint32_t len = (uint32_t)_i;
	u_int their_len = len;
	char *their_payload = payload;
	uint32_t word = 0x89abcdef;
	uint64_t wide = 0x0123456789abcdef;
	bool_t yes = TRUE;
	struct xdr_out out;
	XDR xdrs;

	memset(ours, 0x55, sizeof(ours));
	xdr_out_init(&out, ours, sizeof(ours));
	xdr_out_u32(&out, word);
	xdr_out_u64(&out, wide);
	xdr_out_bool(&out, true);
	xdr_out_bytes(&out, payload, len);
	xdr_out_fixed(&out, payload, len);
	ck_assert(xdr_out_ok(&out));

	xdrmem_create(&xdrs, theirs, sizeof(theirs), XDR_ENCODE);
	ck_assert(xdr_uint32_t(&xdrs, &word) && xdr_uint64_t(&xdrs, &wide) &&
		  xdr_bool(&xdrs, &yes) &&
		  xdr_bytes(&xdrs, &their_payload, &their_len, sizeof(payload)) &&
		  xdr_opaque(&xdrs, payload, their_len));
	ck_assert_uint_eq(xdr_out_len_bytes(&out), xdr_getpos(&xdrs));
	ck_assert_mem_eq(ours, theirs, xdr_getpos(&xdrs));
}
END_TEST

START_TEST(reads_what_libtirpc_writes)
{
	char theirs[64];
	char payload[] = "abcdefgh";
	char *their_payload = payload;
	u_int their_len = (u_int)_i;
	uint64_t wide = 0xfedcba9876543210;
	bool_t yes = TRUE;
	struct xdr_in in;
	XDR xdrs;

	xdrmem_create(&xdrs, theirs, sizeof(theirs), XDR_ENCODE);
	ck_assert(xdr_bytes(&xdrs, &their_payload, &their_len, sizeof(payload)) &&
		  xdr_uint64_t(&xdrs, &wide) && xdr_bool(&xdrs, &yes));
	xdr_in_init(&in, theirs, xdr_getpos(&xdrs));
	struct nfs3_bytes view = xdr_in_bytes(&in, sizeof(payload));
	ck_assert_uint_eq(view.len, their_len);
	ck_assert_mem_eq(view.data, payload, their_len);
	ck_assert_uint_eq(xdr_in_u64(&in), wide);
	ck_assert(xdr_in_bool(&in));
	ck_assert(xdr_in_ok(&in));
	ck_assert_uint_eq(xdr_in_left_bytes(&in), 0);
}
END_TEST

START_TEST(writing_stops_at_the_end)
{
	uint8_t *room = malloc((size_t)_i + 1);
	struct xdr_out out;

	xdr_out_init(&out, room, (size_t)_i);
	xdr_out_u64(&out, 1);
	xdr_out_bytes(&out, "abcde", 5);
	ck_assert(!xdr_out_ok(&out));
	size_t stopped_at = xdr_out_len_bytes(&out);
	ck_assert_uint_le(stopped_at, (size_t)_i);
	xdr_out_u32(&out, 2);
	ck_assert_uint_eq(xdr_out_len_bytes(&out), stopped_at);
	free(room);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("xdr");
	TCase *reading = unit_case(suite, "reading");
	TCase *writing = unit_case(suite, "writing");

	tcase_add_test(reading, reads_big_endian_words);
	tcase_add_loop_test(reading, reads_from_any_alignment, 0, 8);
	tcase_add_test(reading, fails_on_every_short_word);
	tcase_add_loop_test(reading, bool_is_0_or_1, 0, 2);
	tcase_add_test(reading, word_has_a_maximum);
	tcase_add_loop_test(reading, bytes_take_their_padding, 0, 9);
	tcase_add_loop_test(reading, lying_lengths_do_not_wrap, 0, 8);
	tcase_add_test(reading, bad_stays_bad);
	tcase_add_test(reading, nothing_at_all_can_be_read);
	tcase_add_loop_test(writing, writes_what_libtirpc_writes, 0, 9);
	tcase_add_loop_test(writing, reads_what_libtirpc_writes, 0, 9);
	tcase_add_loop_test(writing, writing_stops_at_the_end, 0, 20);
	return unit_run(suite);
}
