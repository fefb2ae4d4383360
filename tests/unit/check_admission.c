/*
 * Admission: what each share is promised, who waits, in which order they get in; and a
 * model test that nothing ever exceeds the cap and nobody is left waiting for memory
 * that is there.
 */
#include "unit/unit.h"

#include <string.h>

#include "frontend/admission.h"

enum {
	MIB = 1024 * 1024,
	SMALL = ADMISSION_SMALL_BYTES,
	WAITERS_MAX = 256,
};

/* One who asks. Grants are noted in order. */
struct asker {
	struct admission_waiter waiter;
	struct admission_share *share;
	size_t charge;
	bool holds;
};

static struct asker *granted[WAITERS_MAX];
static size_t granted_count;

static void on_granted(struct admission_waiter *waiter)
{
	struct asker *asker = (struct asker *)(void *)waiter;

	ck_assert(!waiter->waiting);
	asker->holds = true;
	ck_assert_uint_lt(granted_count, WAITERS_MAX);
	granted[granted_count++] = asker;
}

static bool ask(struct asker *asker, struct admission_share *share, size_t charge)
{
	memset(asker, 0, sizeof(*asker));
	asker->waiter.granted = on_granted;
	asker->share = share;
	asker->charge = charge;
	asker->holds = admission_reserve(share, charge, &asker->waiter);
	ck_assert(asker->holds != asker->waiter.waiting);
	return asker->holds;
}

static void give_back(struct asker *asker)
{
	ck_assert(asker->holds);
	asker->holds = false;
	admission_release(asker->share, asker->charge);
}

/* 64 MiB, one share: own 32, reserve 4, general 28, shared 32. */
struct one {
	struct admission_pool *pool;
	struct admission_share *share;
};

static struct one one_new(void)
{
	struct one one = { .pool = admission_pool_new(64 * MIB, 1) };

	one.share = admission_share_new(one.pool);
	granted_count = 0;
	return one;
}

static void one_free(struct one *one)
{
	admission_share_free(one->share);
	admission_pool_free(one->pool);
}

START_TEST(a_share_may_fill_its_own_and_the_shared_part)
{
	struct one one = one_new();
	struct asker asker[61];
	size_t i;

	ck_assert_uint_eq(admission_max_charge_bytes(one.share), 28 * MIB);
	for (i = 0; i < 60; i++)
		ck_assert(ask(&asker[i], one.share, MIB));
	ck_assert(!ask(&asker[60], one.share, MIB));
	ck_assert(admission_has_waiters(one.share));
	give_back(&asker[0]);
	ck_assert(asker[60].holds);
	ck_assert(!admission_has_waiters(one.share));
	for (i = 1; i < 61; i++)
		give_back(&asker[i]);
	one_free(&one);
}
END_TEST

START_TEST(small_ones_have_a_reserve_that_large_ones_never_get)
{
	struct one one = one_new();
	struct asker large[61];
	struct asker small[65];
	size_t i;

	for (i = 0; i < 60; i++)
		ck_assert(ask(&large[i], one.share, MIB));
	ck_assert(!ask(&large[60], one.share, MIB));
	/* 4 MiB in pieces of 64 KiB, past the large one that waits. */
	for (i = 0; i < 64; i++)
		ck_assert(ask(&small[i], one.share, SMALL));
	ck_assert(!ask(&small[64], one.share, SMALL));
	/* A small one that goes leaves its place to small ones only. */
	give_back(&small[0]);
	ck_assert(small[64].holds);
	ck_assert(!large[60].holds);
	admission_cancel(one.share, &large[60].waiter);
	for (i = 1; i < 65; i++)
		give_back(&small[i]);
	for (i = 0; i < 60; i++)
		give_back(&large[i]);
	one_free(&one);
}
END_TEST

START_TEST(waiting_is_first_in_first_out)
{
	struct one one = one_new();
	struct asker first;
	struct asker second;
	struct asker waiting[3];

	ck_assert(ask(&first, one.share, 28 * MIB));
	ck_assert(ask(&second, one.share, 28 * MIB));
	ck_assert(!ask(&waiting[0], one.share, 20 * MIB));
	/* Would fit (4 MiB are left), but others were here before. */
	ck_assert(!ask(&waiting[1], one.share, MIB));
	ck_assert(!ask(&waiting[2], one.share, 2 * MIB));
	give_back(&first);
	ck_assert_uint_eq(granted_count, 3);
	ck_assert_ptr_eq(granted[0], &waiting[0]);
	ck_assert_ptr_eq(granted[1], &waiting[1]);
	ck_assert_ptr_eq(granted[2], &waiting[2]);
	give_back(&second);
	give_back(&waiting[0]);
	give_back(&waiting[1]);
	give_back(&waiting[2]);
	one_free(&one);
}
END_TEST

START_TEST(who_leaves_the_line_lets_the_next_in)
{
	struct one one = one_new();
	struct asker holder[2];
	struct asker waiting[2];

	ck_assert(ask(&holder[0], one.share, 28 * MIB));
	ck_assert(ask(&holder[1], one.share, 28 * MIB));
	ck_assert(!ask(&waiting[0], one.share, 20 * MIB));
	ck_assert(!ask(&waiting[1], one.share, 4 * MIB));
	admission_cancel(one.share, &waiting[0].waiter);
	ck_assert(!waiting[0].waiter.waiting);
	ck_assert(waiting[1].holds);
	give_back(&waiting[1]);
	give_back(&holder[0]);
	give_back(&holder[1]);
	one_free(&one);
}
END_TEST

START_TEST(a_share_always_has_its_own_part)
{
	struct admission_pool *pool = admission_pool_new(64 * MIB, 2);
	struct admission_share *greedy = admission_share_new(pool);
	struct admission_share *modest = admission_share_new(pool);
	struct asker greedy_asker[47];
	struct asker modest_asker[15];
	size_t i;

	granted_count = 0;
	/* own 16, reserve 2, general 14; shared 32 */
	for (i = 0; i < 46; i++)
		ck_assert(ask(&greedy_asker[i], greedy, MIB));
	ck_assert(!ask(&greedy_asker[46], greedy, MIB));
	for (i = 0; i < 14; i++)
		ck_assert(ask(&modest_asker[i], modest, MIB));
	ck_assert(!ask(&modest_asker[14], modest, MIB));
	/* The greedy one's own line comes first, then the shared part is the other's. */
	give_back(&greedy_asker[0]);
	ck_assert(greedy_asker[46].holds);
	ck_assert(!modest_asker[14].holds);
	give_back(&greedy_asker[1]);
	ck_assert(modest_asker[14].holds);
	for (i = 2; i < 47; i++)
		give_back(&greedy_asker[i]);
	for (i = 0; i < 15; i++)
		give_back(&modest_asker[i]);
	admission_share_free(greedy);
	admission_share_free(modest);
	admission_pool_free(pool);
}
END_TEST

START_TEST(a_large_one_is_not_starved_by_small_ones)
{
	struct one one = one_new();
	struct asker large;
	struct asker big[2];
	struct asker small[66];
	size_t i;

	ck_assert(ask(&big[0], one.share, 28 * MIB));
	ck_assert(ask(&big[1], one.share, 28 * MIB));
	ck_assert(!ask(&large, one.share, 5 * MIB));
	/* Free: the reserve and 4 MiB the large one waits to complete. */
	for (i = 0; i < 64; i++)
		ck_assert(ask(&small[i], one.share, SMALL));
	ck_assert(!ask(&small[64], one.share, SMALL));
	ck_assert(!ask(&small[65], one.share, SMALL));
	give_back(&big[0]);
	ck_assert_ptr_eq(granted[0], &large);
	ck_assert(small[64].holds && small[65].holds);
	give_back(&big[1]);
	give_back(&large);
	for (i = 0; i < 66; i++)
		give_back(&small[i]);
	one_free(&one);
}
END_TEST

static void reserve_too_much(void)
{
	struct one one = one_new();
	struct asker asker;

	ask(&asker, one.share, 28 * MIB + 1);
}

START_TEST(a_charge_that_could_wait_for_ever_is_a_bug)
{
	ck_assert(unit_aborts(reserve_too_much));
}
END_TEST

/*
 * The model: three shares, random charges. After every step the sums hold, the one at the
 * head of each line really does not fit, and each line is granted in order of arrival.
 */
enum { MODEL_SHARES = 3, MODEL_STEPS = 20000 };

struct model {
	struct admission_pool *pool;
	struct admission_share *share[MODEL_SHARES];
	struct asker asker[WAITERS_MAX];
	uint64_t own;
	uint64_t reserve;
	uint64_t shared;
};

static bool is_small(const struct asker *asker)
{
	return asker->charge <= SMALL;
}

static uint64_t model_over(const struct model *model, int share, size_t small_more,
			   size_t large_more)
{
	uint64_t small = small_more;
	uint64_t large = large_more;
	uint64_t general = model->own - model->reserve;
	size_t i;

	for (i = 0; i < WAITERS_MAX; i++) {
		const struct asker *asker = &model->asker[i];

		if (!asker->holds || asker->share != model->share[share])
			continue;
		*(is_small(asker) ? &small : &large) += asker->charge;
	}
	large += small > model->reserve ? small - model->reserve : 0;
	return large > general ? large - general : 0;
}

static const struct asker *model_head(const struct model *model, int share, bool small)
{
	const struct asker *head = NULL;
	size_t i;

	for (i = 0; i < WAITERS_MAX; i++) {
		const struct asker *asker = &model->asker[i];

		if (asker->waiter.waiting && asker->share == model->share[share] &&
		    is_small(asker) == small &&
		    (!head || asker->waiter.order < head->waiter.order))
			head = asker;
	}
	return head;
}

static bool model_fits(const struct model *model, int share, const struct asker *asker)
{
	uint64_t over = 0;
	int i;

	for (i = 0; i < MODEL_SHARES; i++) {
		bool mine = i == share;

		over += model_over(model, i,
				   mine && is_small(asker) ? asker->charge : 0,
				   mine && !is_small(asker) ? asker->charge : 0);
	}
	return over <= model->shared;
}

static void model_check(const struct model *model)
{
	uint64_t over = 0;
	int i;

	for (i = 0; i < MODEL_SHARES; i++) {
		const struct asker *small = model_head(model, i, true);
		const struct asker *large = model_head(model, i, false);
		const struct asker *first = small;

		over += model_over(model, i, 0, 0);
		ck_assert_int_eq(small || large,
				 admission_has_waiters(model->share[i]));
		if (!small || (large && large->waiter.order < small->waiter.order))
			first = large;
		if (first)
			ck_assert(!model_fits(model, i, first));
	}
	ck_assert_uint_le(over, model->shared);
}

static void model_check_order(const struct model *model, size_t from)
{
	size_t i;
	size_t k;

	(void)model;
	for (i = from; i < granted_count; i++)
		for (k = i + 1; k < granted_count; k++)
			if (granted[i]->share == granted[k]->share &&
			    is_small(granted[i]) == is_small(granted[k]))
				ck_assert_uint_lt(granted[i]->waiter.order,
						  granted[k]->waiter.order);
}

static void model_step(struct model *model)
{
	struct asker *asker = &model->asker[random() % WAITERS_MAX];
	size_t max = admission_max_charge_bytes(model->share[0]);
	size_t charge;

	granted_count = 0;
	if (asker->holds) {
		give_back(asker);
	} else if (asker->waiter.waiting) {
		if (random() % 4 != 0)
			return;
		admission_cancel(asker->share, &asker->waiter);
	} else {
		charge = random() % 2 ? 1 + (size_t)random() % SMALL
				      : 1 + (size_t)random() % max;
		(void)ask(asker, model->share[random() % MODEL_SHARES], charge);
	}
	model_check_order(model, 0);
	model_check(model);
}

START_TEST(random_operations_keep_the_promises)
{
	struct model *model = calloc(1, sizeof(*model));
	const char *seed_text = getenv("CHECK_SEED");
	unsigned int seed = seed_text ? (unsigned int)strtoul(seed_text, NULL, 0)
				      : (unsigned int)(4711 + _i);
	size_t i;

	srandom(seed);
	model->own = 64 * MIB / (2 * MODEL_SHARES);
	model->reserve = model->own / 8;
	model->shared = 64 * MIB - MODEL_SHARES * model->own;
	model->pool = admission_pool_new(64 * MIB, MODEL_SHARES);
	for (i = 0; i < MODEL_SHARES; i++)
		model->share[i] = admission_share_new(model->pool);
	for (i = 0; i < MODEL_STEPS; i++)
		model_step(model);
	for (i = 0; i < WAITERS_MAX; i++)
		if (model->asker[i].waiter.waiting)
			admission_cancel(model->asker[i].share,
					 &model->asker[i].waiter);
	granted_count = 0;
	for (i = 0; i < WAITERS_MAX; i++)
		if (model->asker[i].holds)
			give_back(&model->asker[i]);
	for (i = 0; i < MODEL_SHARES; i++)
		admission_share_free(model->share[i]);
	admission_pool_free(model->pool);
	free(model);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("admission");
	TCase *tcase = unit_case(suite, "shares and lines");
	TCase *model = unit_case(suite, "model");

	tcase_add_test(tcase, a_share_may_fill_its_own_and_the_shared_part);
	tcase_add_test(tcase, small_ones_have_a_reserve_that_large_ones_never_get);
	tcase_add_test(tcase, waiting_is_first_in_first_out);
	tcase_add_test(tcase, who_leaves_the_line_lets_the_next_in);
	tcase_add_test(tcase, a_share_always_has_its_own_part);
	tcase_add_test(tcase, a_large_one_is_not_starved_by_small_ones);
	tcase_add_test(tcase, a_charge_that_could_wait_for_ever_is_a_bug);
	tcase_set_timeout(model, 60);
	tcase_add_loop_test(model, random_operations_keep_the_promises, 0, 4);
	return unit_run(suite);
}
