/*
 * The policy as tables: what it sees, what it decides.
 */
#include "coalesce/policy.h"
#include "unit/unit.h"

enum { MIB = 1 << 20 };

START_TEST(a_piece_ends_at_wtmax_or_a_page_before)
{
	static const struct {
		uint64_t start;
		uint32_t wtmax;
		uint64_t end;
	} row[] = {
		{ 0, MIB, MIB },
		{ 4096, MIB, MIB + 4096 },
		{ 1, MIB, MIB },    /* the next one begins on a page */
		{ 4095, MIB, MIB }, /* */
		{ 4097, MIB, MIB + 4096 },
		{ 0, 65000, 61440 }, /* an odd wtmax: the page before it */
		{ 0, 4095, 4095 },   /* smaller than a page: as it is */
		{ 100, 4096, 4096 },
		{ 4000, 512, 4096 }, /* a page ends inside */
		{ 5000, 512, 5512 }, /* none does */
		{ 0, 4096, 4096 },
	};

	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		uint64_t end = policy_piece_end(row[i].start, row[i].wtmax);

		ck_assert_msg(end == row[i].end, "row %u: %lu", i, (unsigned long)end);
		ck_assert(policy_is_full(row[i].start, end, row[i].wtmax));
		ck_assert(policy_is_full(row[i].start, end + 1, row[i].wtmax));
		ck_assert(!policy_is_full(row[i].start, end - 1, row[i].wtmax));
	}
}
END_TEST

START_TEST(a_piece_is_never_empty_nor_too_large)
{
	for (uint64_t start = 0; start < 10000; start += 7) {
		for (uint32_t wtmax = 1; wtmax < 20000; wtmax += 501) {
			uint64_t end = policy_piece_end(start, wtmax);

			ck_assert_uint_gt(end, start);
			ck_assert_uint_le(end - start, wtmax);
		}
	}
}
END_TEST

static const struct engine_config config = {
	.dirty_background_bytes = 1000,
	.plug_max_us = 20,
	.dirty_expire_us = 500,
};

START_TEST(when_to_write_and_why)
{
	static const struct {
		struct policy_dirty dirty;
		bool now;
		enum write_reason reason;
	} row[] = {
		{ { .now_us = 100, .dirty_since_us = 90, .added_us = 90 }, false, 0 },
		{ { .now_us = 100, .dirty_since_us = 90, .added_us = 81 }, false, 0 },
		{ { .now_us = 100, .dirty_since_us = 90, .added_us = 80 },
		  true,
		  WRITE_REASON_PLUG_EXPIRED },
		{ { .now_us = 599, .dirty_since_us = 100, .added_us = 599 }, false, 0 },
		{ { .now_us = 600, .dirty_since_us = 100, .added_us = 600 },
		  true,
		  WRITE_REASON_AGE },
		{ { .now_us = 600, .dirty_since_us = 100, .added_us = 100 },
		  true,
		  WRITE_REASON_AGE },
		{ { .now_us = 100,
		    .dirty_since_us = 90,
		    .added_us = 90,
		    .unsent_bytes = 1000 },
		  false,
		  0 },
		{ { .now_us = 100,
		    .dirty_since_us = 90,
		    .added_us = 90,
		    .unsent_bytes = 1001 },
		  true,
		  WRITE_REASON_DIRTY_BACKGROUND },
		{ { .now_us = 100,
		    .dirty_since_us = 90,
		    .added_us = 90,
		    .is_draining = true },
		  true,
		  WRITE_REASON_DRAIN },
	};

	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		enum write_reason reason = WRITE_REASON_COUNT;
		bool now = policy_should_write(&row[i].dirty, &config, &reason);

		ck_assert_msg(now == row[i].now, "row %u", i);
		if (now)
			ck_assert_msg(reason == row[i].reason, "row %u: %d", i, reason);
	}
}
END_TEST

/* The engine sleeps until then: it must have something to do, and not before. */
START_TEST(the_deadline_is_the_first_moment_to_write)
{
	for (uint64_t since = 0; since < 600; since += 10) {
		for (uint64_t added = since; added < 1200; added += 10) {
			struct policy_dirty dirty = { .dirty_since_us = since,
						      .added_us = added };
			uint64_t at = policy_write_deadline(&dirty, &config);
			enum write_reason reason;

			dirty.now_us = at > added ? at : added;
			ck_assert(policy_should_write(&dirty, &config, &reason));
			if (at <= added)
				continue;
			dirty.now_us = at - 1;
			ck_assert(!policy_should_write(&dirty, &config, &reason));
		}
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("policy");
	TCase *tcase = unit_case(suite, "write");

	tcase_add_test(tcase, a_piece_ends_at_wtmax_or_a_page_before);
	tcase_add_test(tcase, a_piece_is_never_empty_nor_too_large);
	tcase_add_test(tcase, when_to_write_and_why);
	tcase_add_test(tcase, the_deadline_is_the_first_moment_to_write);
	return unit_run(suite);
}
