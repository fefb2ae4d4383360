/*
 * buf: references, the process-wide total that admission relies on, and charges.
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

/* What on_free() saw. */
struct freed {
	unsigned int times;
	size_t charge_bytes;
	size_t total_bytes; /* of all buffers, at that moment */
	struct buf *taken;  /* a new buffer, if it was to take one */
	size_t take_bytes;
};

static void on_free(void *arg, size_t charge_bytes)
{
	struct freed *freed = arg;

	freed->times++;
	freed->charge_bytes = charge_bytes;
	freed->total_bytes = buf_total_bytes();
	if (freed->take_bytes > 0)
		freed->taken = buf_new(freed->take_bytes);
}

START_TEST(charge_comes_back_with_the_last_reference)
{
	size_t before = buf_total_bytes();
	struct freed freed = { 0 };
	struct buf *buf = buf_new(100);

	buf_ref(buf);
	buf_set_on_free(buf, on_free, &freed, 77);
	ck_assert_uint_eq(buf_total_bytes(), before + 100);
	buf_unref(buf);
	ck_assert_uint_eq(freed.times, 0);
	buf_unref(buf);
	ck_assert_uint_eq(freed.times, 1);
	ck_assert_uint_eq(freed.charge_bytes, 77);
	/* The memory was free by then. */
	ck_assert_uint_eq(freed.total_bytes, before);
}
END_TEST

START_TEST(on_free_may_take_buffers)
{
	size_t before = buf_total_bytes();
	struct freed freed = { .take_bytes = 50 };
	struct buf *buf = buf_new(100);

	buf_set_on_free(buf, on_free, &freed, 0);
	buf_unref(buf);
	ck_assert_ptr_nonnull(freed.taken);
	ck_assert_uint_eq(buf_total_bytes(), before + 50);
	/* The new one, though it may lie where the old one was, is charged to nobody. */
	buf_unref(freed.taken);
	ck_assert_uint_eq(freed.times, 1);
	ck_assert_uint_eq(buf_total_bytes(), before);
}
END_TEST

static void set_on_free_twice(void)
{
	struct freed freed = { 0 };
	struct buf *buf = buf_new(1);

	buf_set_on_free(buf, on_free, &freed, 1);
	buf_set_on_free(buf, on_free, &freed, 1);
}

static void set_no_on_free(void)
{
	buf_set_on_free(buf_new(1), NULL, NULL, 1);
}

static void set_on_free_of_dead(void)
{
	static struct buf dead;
	struct freed freed = { 0 };

	buf_set_on_free(&dead, on_free, &freed, 1);
}

START_TEST(a_buffer_is_charged_once)
{
	ck_assert(unit_aborts(set_on_free_twice));
	ck_assert(unit_aborts(set_no_on_free));
	ck_assert(unit_aborts(set_on_free_of_dead));
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
	tcase_add_test(tcase, charge_comes_back_with_the_last_reference);
	tcase_add_test(tcase, on_free_may_take_buffers);
	tcase_add_test(tcase, a_buffer_is_charged_once);
	tcase_add_test(tcase, use_after_the_last_reference_is_a_bug);
	return unit_run(suite);
}
