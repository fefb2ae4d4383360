/*
 * The line of a file: entries that enter, go out, come back and leave, against the
 * plain rule: two that overlap are never out together, and the older goes first.
 */
#include <stdlib.h>

#include "coalesce/engine_private.h"
#include "unit/engine_fixture.h"

enum { ENTRIES = 40, STEPS = 3000, SPACE = 100 };

/* barriers only, so that the entries belong to nothing but the test */
static struct line_entry entry[ENTRIES];
static bool is_in[ENTRIES];
static struct engine_file *file;
static uint32_t seed;

static uint32_t draw(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

static void setup(void)
{
	engine_setup();
	file = file_get(engine, &file_a);
	ck_assert_ptr_nonnull(file);
	memset(entry, 0, sizeof(entry));
	memset(is_in, 0, sizeof(is_in));
}

static void teardown(void)
{
	unsigned int i;

	for (i = 0; i < ENTRIES; i++)
		if (is_in[i])
			line_leave(file, &entry[i]);
	ck_assert(TAILQ_EMPTY(&file->ready));
	file_mark_work(file);
	tick_after(0);
	engine_teardown();
}

static void enter(unsigned int i, uint64_t start, uint64_t end, uint64_t sequence)
{
	entry[i] = (struct line_entry){ .range = { .start = start, .end = end },
					.sequence = sequence,
					.is_barrier = true };
	is_in[i] = true;
	line_enter(file, &entry[i]);
}

static void leave(unsigned int i)
{
	line_leave(file, &entry[i]);
	is_in[i] = false;
}

/* The names of those that may go now, as they go. */
static const char *go(void)
{
	static char text[ENTRIES + 1];
	struct line_entry *next;
	unsigned int count = 0;

	while ((next = line_next_ready(file)) != NULL) {
		ck_assert(next->is_out);
		text[count++] = (char)('a' + (next - entry));
	}
	text[count] = '\0';
	return text;
}

START_TEST(p4_the_older_goes_first)
{
	enter(0, 0, 10, 1);
	enter(1, 5, 15, 2);
	enter(2, 10, 20, 3);
	enter(3, 30, 40, 4);
	ck_assert_str_eq(go(), "ad");
	leave(0);
	ck_assert_str_eq(go(), "b");
	ck_assert_str_eq(go(), "");
	leave(1);
	ck_assert_str_eq(go(), "c");
}
END_TEST

START_TEST(p4_rewrite_waits_for_newer_ones_that_are_out)
{
	enter(0, 0, 10, 5);
	ck_assert_str_eq(go(), "a");
	enter(1, 0, 20, 2); /* older */
	enter(2, 15, 30, 6);
	ck_assert_str_eq(go(), "");
	leave(0);
	ck_assert_str_eq(go(), "b");
	leave(1);
	ck_assert_str_eq(go(), "c");
}
END_TEST

START_TEST(p4_rewrite_goes_before_newer_ones_that_were_ready)
{
	enter(0, 0, 10, 5); /* ready, but not taken yet */
	enter(1, 5, 10, 2);
	ck_assert_str_eq(go(), "b");
	leave(1);
	ck_assert_str_eq(go(), "a");
}
END_TEST

START_TEST(p4_what_comes_back_takes_its_old_place)
{
	enter(0, 0, 10, 1);
	enter(1, 0, 10, 2);
	ck_assert_str_eq(go(), "a");
	line_back(file, &entry[0]);
	ck_assert_str_eq(go(), "a");
	line_back(file, &entry[0]);
	leave(0);
	ck_assert_str_eq(go(), "b");
}
END_TEST

START_TEST(shared_ones_go_together)
{
	unsigned int i;

	enter(0, 0, UINT64_MAX, 1);
	entry[0].is_shared = true;
	for (i = 1; i < 4; i++) {
		enter(i, 0, UINT64_MAX, 1 + i);
		entry[i].is_shared = i != 2;
	}
	/* b shares with a; c is alone; d shares, but c is before it */
	line_back(file, &entry[1]);
	ck_assert_str_eq(go(), "ab");
	leave(0);
	leave(1);
	ck_assert_str_eq(go(), "c");
	leave(2);
	ck_assert_str_eq(go(), "d");
}
END_TEST

START_TEST(empty_ones_stand_in_nobodys_way)
{
	enter(0, 0, 10, 1);
	enter(1, 5, 5, 2);
	enter(2, 5, 6, 3);
	ck_assert_str_eq(go(), "ab");
	line_back(file, &entry[1]);
	ck_assert_str_eq(go(), "b");
}
END_TEST

static bool stands_before(unsigned int other, unsigned int i)
{
	return other != i && is_in[other] &&
	       range_overlaps(&entry[other].range, entry[i].range.start,
			      entry[i].range.end) &&
	       !(entry[other].is_shared && entry[i].is_shared) &&
	       (entry[other].is_out || entry[other].sequence < entry[i].sequence);
}

/* Everything that may go has gone, and nothing else. */
static void check_rule(void)
{
	unsigned int i;
	unsigned int other;

	(void)go();
	for (i = 0; i < ENTRIES; i++) {
		bool blocked = false;

		if (!is_in[i])
			continue;
		for (other = 0; other < ENTRIES; other++) {
			if (!stands_before(other, i))
				continue;
			blocked = true;
			ck_assert(!(entry[i].is_out && entry[other].is_out));
		}
		ck_assert(entry[i].is_out || blocked);
	}
}

START_TEST(p4_rule_holds_in_any_order)
{
	/* A step looks at all entries; valgrind makes that 30 times as long. */
	unsigned int steps = getenv("UNDER_VALGRIND") != NULL ? STEPS / 30 : STEPS;
	uint64_t sequence = 100;
	unsigned int step;

	seed = 17u + (uint32_t)_i;
	for (step = 0; step < steps; step++) {
		unsigned int i = draw(ENTRIES);
		uint64_t start = draw(SPACE);

		if (!is_in[i]) {
			bool old = draw(4) == 0; /* a rewrite */

			memset(&entry[i], 0, sizeof(entry[i]));
			entry[i].range.start = start;
			entry[i].range.end = start + draw(30);
			entry[i].is_barrier = true;
			entry[i].is_shared = draw(3) == 0;
			entry[i].sequence = old ? sequence - draw(90) : ++sequence;
			is_in[i] = true;
			line_enter(file, &entry[i]);
		} else if (entry[i].is_out && draw(3) == 0) {
			line_back(file, &entry[i]);
		} else if (entry[i].is_out || draw(4) == 0) {
			leave(i);
		}
		if (draw(3) == 0)
			check_rule();
	}
	check_rule();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("engine_line");
	TCase *tcase = unit_case(suite, "line");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, p4_the_older_goes_first);
	tcase_add_test(tcase, p4_rewrite_waits_for_newer_ones_that_are_out);
	tcase_add_test(tcase, p4_rewrite_goes_before_newer_ones_that_were_ready);
	tcase_add_test(tcase, p4_what_comes_back_takes_its_old_place);
	tcase_add_test(tcase, shared_ones_go_together);
	tcase_add_test(tcase, empty_ones_stand_in_nobodys_way);
	tcase_add_loop_test(tcase, p4_rule_holds_in_any_order, 0, 10);
	return unit_run(suite);
}
