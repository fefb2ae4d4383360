/*
 * buf: references and the process-wide total that admission relies on.
 */
#include "nfsgather/buf.h"

#include <string.h>

#include "unit/unit.h"

START_TEST(new_buffer_is_empty_with_one_reference)
{
	struct buf *buf = buf_new(100);

	ck_assert_ptr_nonnull(buf);
	ck_assert_uint_eq(buf->refs, 1);
	ck_assert_uint_eq(buf->capacity_bytes, 100);
	ck_assert_uint_eq(buf->off_bytes, 0);
	ck_assert_uint_eq(buf->len_bytes, 0);
	ck_assert_ptr_eq(buf_start(buf), buf->data);
	memset(buf->data, 0xa5, 100); /* all of it is there, or a sanitizer speaks up */
	buf_unref(buf);
}
END_TEST

START_TEST(start_follows_headroom)
{
	struct buf *buf = buf_new(100);

	buf->off_bytes = 28;
	ck_assert_ptr_eq(buf_start(buf), buf->data + 28);
	buf_unref(buf);
}
END_TEST

START_TEST(total_is_capacity_until_the_last_unref)
{
	size_t before = buf_total_bytes();
	struct buf *first = buf_new(1000);
	struct buf *second = buf_new(24);

	ck_assert_uint_eq(buf_total_bytes(), before + 1024);
	ck_assert_ptr_eq(buf_ref(first), first);
	ck_assert_uint_eq(buf_total_bytes(), before + 1024);
	buf_unref(first);
	ck_assert_uint_eq(first->refs, 1);
	ck_assert_uint_eq(buf_total_bytes(), before + 1024);
	buf_unref(first);
	ck_assert_uint_eq(buf_total_bytes(), before + 24);
	buf_unref(second);
	ck_assert_uint_eq(buf_total_bytes(), before);
}
END_TEST

START_TEST(fill_does_not_change_the_total)
{
	size_t before = buf_total_bytes();
	struct buf *buf = buf_new(64);

	buf->off_bytes = 8;
	buf->len_bytes = 16;
	ck_assert_uint_eq(buf_total_bytes(), before + 64);
	buf_unref(buf);
	ck_assert_uint_eq(buf_total_bytes(), before);
}
END_TEST

START_TEST(empty_capacity_is_a_buffer)
{
	struct buf *buf = buf_new(0);

	ck_assert_ptr_nonnull(buf);
	ck_assert_uint_eq(buf->capacity_bytes, 0);
	buf_unref(buf);
}
END_TEST

START_TEST(impossible_capacity_is_null_and_counts_nothing)
{
	size_t before = buf_total_bytes();
	/* One wraps around with the header added, the other no machine has. */
	volatile size_t wraps = SIZE_MAX;
	volatile size_t too_much = SIZE_MAX / 2 - sizeof(struct buf);

	ck_assert_ptr_null(buf_new(wraps));
	ck_assert_ptr_null(buf_new(too_much));
	ck_assert_uint_eq(buf_total_bytes(), before);
}
END_TEST

START_TEST(unref_of_null_does_nothing)
{
	size_t before = buf_total_bytes();

	buf_unref(NULL);
	ck_assert_uint_eq(buf_total_bytes(), before);
}
END_TEST

static void ref_without_references(void)
{
	static struct buf dead;

	buf_ref(&dead);
}

static void unref_without_references(void)
{
	static struct buf dead;

	buf_unref(&dead);
}

START_TEST(use_after_the_last_reference_is_a_bug)
{
	ck_assert(unit_aborts(ref_without_references));
	ck_assert(unit_aborts(unref_without_references));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("buf");
	TCase *tcase = unit_case(suite, "buf");

	tcase_add_test(tcase, new_buffer_is_empty_with_one_reference);
	tcase_add_test(tcase, start_follows_headroom);
	tcase_add_test(tcase, total_is_capacity_until_the_last_unref);
	tcase_add_test(tcase, fill_does_not_change_the_total);
	tcase_add_test(tcase, empty_capacity_is_a_buffer);
	tcase_add_test(tcase, impossible_capacity_is_null_and_counts_nothing);
	tcase_add_test(tcase, unref_of_null_does_nothing);
	tcase_add_test(tcase, use_after_the_last_reference_is_a_bug);
	return unit_run(suite);
}
