/*
 * nfs3: names of statuses and equality of handles.
 */
#include "nfsgather/nfs3.h"

#include <string.h>

#include "unit/unit.h"

START_TEST(statuses_have_the_names_of_the_rfc)
{
	ck_assert_str_eq(nfs3_status_name(0), "NFS3_OK");
	ck_assert_str_eq(nfs3_status_name(70), "NFS3ERR_STALE");
	ck_assert_str_eq(nfs3_status_name(10008), "NFS3ERR_JUKEBOX");
}
END_TEST

START_TEST(unknown_statuses_have_a_name_too)
{
	ck_assert_str_eq(nfs3_status_name(3), "NFS3ERR_?");
	ck_assert_str_eq(nfs3_status_name(10009), "NFS3ERR_?");
	ck_assert_str_eq(nfs3_status_name(UINT32_MAX), "NFS3ERR_?");
}
END_TEST

START_TEST(equal_handles_have_equal_length_and_bytes)
{
	struct nfs3_fh a = { .len = 4, .data = { 1, 2, 3, 4, 5 } };
	struct nfs3_fh b = { .len = 4, .data = { 1, 2, 3, 4, 6 } };

	/* What lies behind the length is no part of a handle. */
	ck_assert(nfs3_fh_equal(&a, &b));
	b.data[3] = 0;
	ck_assert(!nfs3_fh_equal(&a, &b));
	b.data[3] = 4;
	b.len = 3;
	ck_assert(!nfs3_fh_equal(&a, &b));
	ck_assert(!nfs3_fh_equal(&b, &a));
}
END_TEST

START_TEST(the_last_byte_of_the_longest_handle_counts)
{
	struct nfs3_fh a = { .len = NFS3_FHSIZE };
	struct nfs3_fh b = { .len = NFS3_FHSIZE };

	memset(a.data, 7, sizeof(a.data));
	memset(b.data, 7, sizeof(b.data));
	ck_assert(nfs3_fh_equal(&a, &b));
	b.data[NFS3_FHSIZE - 1] = 8;
	ck_assert(!nfs3_fh_equal(&a, &b));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("nfs3");
	TCase *tcase = unit_case(suite, "nfs3");

	tcase_add_test(tcase, statuses_have_the_names_of_the_rfc);
	tcase_add_test(tcase, unknown_statuses_have_a_name_too);
	tcase_add_test(tcase, equal_handles_have_equal_length_and_bytes);
	tcase_add_test(tcase, the_last_byte_of_the_longest_handle_counts);
	return unit_run(suite);
}
