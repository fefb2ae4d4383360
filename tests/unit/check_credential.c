/*
 * credential: one object for equal credentials, whatever their stamps, and another for
 * what differs in anything else.
 */
#include "nfsgather/credential.h"

#include <string.h>

#include "unit/unit.h"

static struct credential_table table;

static void table_init(void)
{
	credential_table_init(&table);
}

static void table_fini(void)
{
	credential_table_fini(&table);
}

/* uid 1000 of "host" with groups 10 and 20; `stamp` also marks its body. */
static struct rpc_cred cred(uint32_t stamp)
{
	struct rpc_cred rpc = {
		.flavor = RPC_AUTH_SYS,
		.body_len = 4,
		.stamp = stamp,
		.machine_name_len = 4,
		.machine_name = "host",
		.uid = 1000,
		.gid = 100,
		.gid_count = 2,
		.gids = { 10, 20 },
	};

	memcpy(rpc.body, &stamp, sizeof(stamp));
	return rpc;
}

static struct credential *get(const struct rpc_cred *rpc)
{
	struct credential *credential = credential_get(&table, rpc);

	ck_assert_ptr_nonnull(credential);
	return credential;
}

START_TEST(equal_ones_are_one_whatever_the_stamp)
{
	struct rpc_cred first_rpc = cred(1);
	struct rpc_cred second_rpc = cred(2);
	struct credential *first = get(&first_rpc);
	struct credential *second = get(&second_rpc);

	ck_assert_ptr_eq(first, second);
	ck_assert_uint_eq(first->refs, 2);
	ck_assert_uint_eq(table.by_value.node_count, 1);
	credential_unref(second);
	credential_unref(first);
}
END_TEST

START_TEST(the_body_first_seen_is_kept)
{
	struct rpc_cred first_rpc = cred(1);
	struct rpc_cred second_rpc = cred(2);
	struct credential *first = get(&first_rpc);
	struct credential *second;

	/* A copy: the call it came with may be gone. */
	memset(first_rpc.body, 0xff, sizeof(first_rpc.body));
	second = get(&second_rpc);
	first_rpc = cred(1);
	ck_assert_uint_eq(second->rpc.body_len, 4);
	ck_assert_mem_eq(second->rpc.body, first_rpc.body, 4);
	ck_assert_uint_eq(second->rpc.stamp, 1);
	ck_assert_uint_eq(second->rpc.uid, 1000);
	credential_unref(first);
	credential_unref(second);

	/* Once nobody holds it any more, the next one is the first again. */
	second = get(&second_rpc);
	ck_assert_mem_eq(second->rpc.body, second_rpc.body, 4);
	credential_unref(second);
}
END_TEST

START_TEST(unused_places_do_not_count)
{
	struct rpc_cred first_rpc = cred(1);
	struct rpc_cred second_rpc = cred(1);
	struct credential *first = get(&first_rpc);
	struct credential *second;

	second_rpc.gids[2] = 30;
	second_rpc.machine_name[5] = 'x';
	second = get(&second_rpc);
	ck_assert_ptr_eq(first, second);
	credential_unref(first);
	credential_unref(second);
}
END_TEST

static void other_flavor(struct rpc_cred *rpc)
{
	rpc->flavor = RPC_AUTH_NONE;
}

static void other_uid(struct rpc_cred *rpc)
{
	rpc->uid = 0;
}

static void other_gid(struct rpc_cred *rpc)
{
	rpc->gid = 0;
}

static void one_group_less(struct rpc_cred *rpc)
{
	rpc->gid_count = 1;
}

static void one_group_more(struct rpc_cred *rpc)
{
	rpc->gids[rpc->gid_count++] = 0;
}

static void other_group(struct rpc_cred *rpc)
{
	rpc->gids[1] = 21;
}

static void other_order_of_groups(struct rpc_cred *rpc)
{
	rpc->gids[0] = 20;
	rpc->gids[1] = 10;
}

static void longer_name(struct rpc_cred *rpc)
{
	memcpy(rpc->machine_name, "host1", 5);
	rpc->machine_name_len = 5;
}

static void other_name(struct rpc_cred *rpc)
{
	rpc->machine_name[3] = 'x';
}

/* Two names that C would call equal. */
static void name_with_zero_byte(struct rpc_cred *rpc)
{
	memcpy(rpc->machine_name, "host\0x", 6);
	rpc->machine_name_len = 6;
}

static void (*const differences[])(struct rpc_cred *rpc) = {
	other_flavor,	       other_uid,      other_gid,
	one_group_less,	       one_group_more, other_group,
	other_order_of_groups, longer_name,    other_name,
	name_with_zero_byte,
};

START_TEST(different_ones_are_two)
{
	struct rpc_cred first_rpc = cred(1);
	struct rpc_cred second_rpc = cred(1);
	struct credential *first = get(&first_rpc);
	struct credential *second;

	differences[_i](&second_rpc);
	second = get(&second_rpc);
	ck_assert_ptr_ne(first, second);
	ck_assert_uint_eq(table.by_value.node_count, 2);
	ck_assert_uint_eq(first->refs, 1);
	ck_assert_uint_eq(second->refs, 1);
	credential_unref(first);
	/* The other one is still found. */
	ck_assert_ptr_eq(get(&second_rpc), second);
	credential_unref(second);
	credential_unref(second);
}
END_TEST

/* What an attacker would need, or very bad luck. */
START_TEST(different_ones_of_one_hash_are_two)
{
	struct rpc_cred first_rpc = cred(1);
	struct rpc_cred second_rpc = cred(1);
	struct credential *first = get(&first_rpc);
	struct credential *second;
	uint64_t hash;

	differences[_i](&second_rpc);
	second = get(&second_rpc);
	hash = second->node.hash;
	credential_unref(second);
	hash_remove(&table.by_value, &first->node);
	ck_assert_int_eq(hash_insert(&table.by_value, hash, &first->node), 0);
	second = get(&second_rpc);
	ck_assert_ptr_ne(first, second);
	ck_assert_uint_eq(first->refs, 1);
	credential_unref(first);
	credential_unref(second);
}
END_TEST

START_TEST(longest_ones_fit)
{
	struct rpc_cred rpc = cred(1);
	struct credential *first;

	rpc.gid_count = RPC_AUTH_SYS_GIDS_MAX;
	for (uint32_t i = 0; i < RPC_AUTH_SYS_GIDS_MAX; i++)
		rpc.gids[i] = i;
	rpc.machine_name_len = RPC_MACHINE_NAME_MAX_BYTES;
	memset(rpc.machine_name, 'h', RPC_MACHINE_NAME_MAX_BYTES);
	first = get(&rpc);
	rpc.machine_name[RPC_MACHINE_NAME_MAX_BYTES - 1] = 'x';
	ck_assert_ptr_ne(get(&rpc), first);
	credential_unref(get(&rpc));
	credential_unref(first);
	first = credential_get(&table, &rpc);
	ck_assert_uint_eq(first->refs, 2);
	credential_unref(first);
	credential_unref(first);
}
END_TEST

START_TEST(the_last_reference_empties_the_table)
{
	enum { USERS = 100 };
	struct credential *held[USERS];

	for (uint32_t i = 0; i < USERS; i++) {
		struct rpc_cred rpc = cred(1);

		rpc.uid = i;
		held[i] = get(&rpc);
	}
	ck_assert_uint_eq(table.by_value.node_count, USERS);
	for (uint32_t i = 0; i < USERS; i++) {
		ck_assert_ptr_eq(credential_ref(held[i]), held[i]);
		credential_unref(held[i]);
		ck_assert_uint_eq(table.by_value.node_count, USERS - i);
		credential_unref(held[i]);
		ck_assert_uint_eq(table.by_value.node_count, USERS - i - 1);
	}
	credential_unref(NULL);
}
END_TEST

static void fini_with_references(void)
{
	struct rpc_cred rpc = cred(1);

	credential_get(&table, &rpc);
	credential_table_fini(&table);
}

static void ref_without_references(void)
{
	static struct credential dead;

	credential_ref(&dead);
}

static void unref_without_references(void)
{
	static struct credential dead;

	credential_unref(&dead);
}

static void too_many_groups(void)
{
	struct rpc_cred rpc = cred(1);

	rpc.gid_count = RPC_AUTH_SYS_GIDS_MAX + 1;
	credential_get(&table, &rpc);
}

START_TEST(misuse_is_a_bug)
{
	ck_assert(unit_aborts(fini_with_references));
	ck_assert(unit_aborts(ref_without_references));
	ck_assert(unit_aborts(unref_without_references));
	ck_assert(unit_aborts(too_many_groups));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("credential");
	TCase *tcase = unit_case(suite, "credential");

	tcase_add_checked_fixture(tcase, table_init, table_fini);
	tcase_add_test(tcase, equal_ones_are_one_whatever_the_stamp);
	tcase_add_test(tcase, the_body_first_seen_is_kept);
	tcase_add_test(tcase, unused_places_do_not_count);
	tcase_add_loop_test(tcase, different_ones_are_two, 0,
			    (int)(sizeof(differences) / sizeof(differences[0])));
	tcase_add_loop_test(tcase, different_ones_of_one_hash_are_two, 0,
			    (int)(sizeof(differences) / sizeof(differences[0])));
	tcase_add_test(tcase, longest_ones_fit);
	tcase_add_test(tcase, the_last_reference_empties_the_table);
	tcase_add_test(tcase, misuse_is_a_bug);
	return unit_run(suite);
}
