/*
 * Access rules: what is read from a text, what is refused and with which words, who a
 * rule holds for, and what it does to a credential.
 */
#include "unit/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "nfsgather/access.h"
#include "wire/rpc_msg.h"

struct address {
	struct sockaddr_storage storage;
};

static const struct sockaddr *address(struct address *address, const char *text,
				      uint16_t port)
{
	struct sockaddr_in *in = (void *)&address->storage;
	struct sockaddr_in6 *in6 = (void *)&address->storage;

	memset(address, 0, sizeof(*address));
	if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
	} else {
		ck_assert_int_eq(inet_pton(AF_INET6, text, &in6->sin6_addr), 1);
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
	}
	return (const void *)&address->storage;
}

static struct access_rules parse(const char *text)
{
	struct access_rules rules;
	char error[256] = "";

	ck_assert_msg(access_rules_parse(text, &rules, error, sizeof(error)) == 0,
		      "\"%s\" was refused: %s", text, error);
	return rules;
}

/* The number of the rule that holds for `who`, from 1; 0 for none. */
static size_t rule_for(const struct access_rules *rules, const char *who)
{
	struct address at;
	const struct access_rule *rule =
		access_rules_find(rules, address(&at, who, 700));

	return rule ? (size_t)(rule - rules->rule) + 1 : 0;
}

static size_t holds(const char *text, const char *who)
{
	struct access_rules rules = parse(text);
	size_t rule = rule_for(&rules, who);

	access_rules_fini(&rules);
	return rule;
}

START_TEST(options_default_to_rw_secure_no_root_squash)
{
	struct access_rules rules = parse(" 10.1.2.3\t");

	ck_assert_uint_eq(rules.count, 1);
	ck_assert_int_eq(rules.rule[0].family, AF_INET);
	ck_assert_uint_eq(rules.rule[0].prefix_bits, 32);
	ck_assert(rules.rule[0].read_write);
	ck_assert(rules.rule[0].secure);
	ck_assert_int_eq(rules.rule[0].squash, ACCESS_NO_ROOT_SQUASH);
	access_rules_fini(&rules);
}
END_TEST

START_TEST(each_option_does_what_it_says)
{
	struct access_rules rules = parse(
		"10.0.0.1(ro,insecure,root_squash) 10.0.0.2(rw,secure,all_squash) "
		"10.0.0.3(all_squash,no_root_squash) 10.0.0.4(ro,rw)");

	ck_assert_uint_eq(rules.count, 4);
	ck_assert(!rules.rule[0].read_write);
	ck_assert(!rules.rule[0].secure);
	ck_assert_int_eq(rules.rule[0].squash, ACCESS_ROOT_SQUASH);
	ck_assert(rules.rule[1].read_write);
	ck_assert(rules.rule[1].secure);
	ck_assert_int_eq(rules.rule[1].squash, ACCESS_ALL_SQUASH);
	/* The last word of a pair counts, as in exports(5). */
	ck_assert_int_eq(rules.rule[2].squash, ACCESS_NO_ROOT_SQUASH);
	ck_assert(rules.rule[3].read_write);
	access_rules_fini(&rules);
}
END_TEST

static const struct {
	const char *text;
	const char *error;
} refusals[] = {
#define WORD_HELP                                                                      \
	"allowed: ADDRESS, ADDRESS/PREFIX or either with (OPTION,...) directly behind"
#define OPTION_HELP                                                                    \
	"allowed: ro, rw, secure, insecure, root_squash, no_root_squash, all_squash"
	{ "", "no rule; " WORD_HELP },
	{ " \t", "no rule; " WORD_HELP },
	{ "10.0.0.0/24 (ro)", "\"(ro)\": options without an address; " WORD_HELP },
	{ "*(rw)", "\"*(rw)\": not an IPv4 or IPv6 address: \"*\"; " WORD_HELP },
	{ "host.example",
	  "\"host.example\": not an IPv4 or IPv6 address: \"host.example\"; " WORD_HELP },
	{ "10.0.0.256",
	  "\"10.0.0.256\": not an IPv4 or IPv6 address: \"10.0.0.256\"; " WORD_HELP },
	{ "10.0.0.1 10.0.0.0/33",
	  "\"10.0.0.0/33\": bad prefix length \"33\"; allowed: 0 to 32" },
	{ "::/129", "\"::/129\": bad prefix length \"129\"; allowed: 0 to 128" },
	{ "10.0.0.0/", "\"10.0.0.0/\": bad prefix length \"\"; allowed: 0 to 32" },
	{ "10.0.0.0/-1",
	  "\"10.0.0.0/-1\": bad prefix length \"-1\"; allowed: 0 to 32" },
	{ "10.0.0.0/255.255.255.0",
	  "\"10.0.0.0/255.255.255.0\": bad prefix length \"255.255.255.0\"; allowed: 0 to "
	  "32" },
	{ "10.0.0.1(rw,root_sqash)",
	  "\"10.0.0.1(rw,root_sqash)\": unknown option \"root_sqash\"; " OPTION_HELP },
	{ "10.0.0.1()", "\"10.0.0.1()\": unknown option \"\"; " OPTION_HELP },
	{ "10.0.0.1(rw,)", "\"10.0.0.1(rw,)\": unknown option \"\"; " OPTION_HELP },
	{ "10.0.0.1(rw",
	  "\"10.0.0.1(rw\": the option list is not closed by \")\" at the "
	  "word's end; no spaces are allowed inside it" },
	{ "10.0.0.1(rw, ro)",
	  "\"10.0.0.1(rw,\": the option list is not closed by \")\" at the word's end; no "
	  "spaces are allowed inside it" },
	{ "10.0.0.1(rw)x",
	  "\"10.0.0.1(rw)x\": the option list is not closed by \")\" at the word's end; no "
	  "spaces are allowed inside it" },
};

START_TEST(a_bad_word_is_named_with_what_is_allowed)
{
	struct access_rules rules = { .count = 77 };
	char error[512] = "";

	ck_assert_int_eq(access_rules_parse(refusals[_i].text, &rules, error,
					    sizeof(error)),
			 -EINVAL);
	ck_assert_str_eq(error, refusals[_i].error);
	ck_assert_uint_eq(rules.count, 77);
}
END_TEST

START_TEST(a_word_that_is_too_long_is_refused_not_cut)
{
	char text[400] = "10.0.0.1(ro";
	struct access_rules rules;
	char error[512] = "";

	while (strlen(text) < 300)
		strcat(text, ",ro");
	strcat(text, ")");
	ck_assert_int_eq(access_rules_parse(text, &rules, error, sizeof(error)),
			 -EINVAL);
	ck_assert_ptr_nonnull(strstr(error, "word too long"));
}
END_TEST

START_TEST(the_first_rule_that_holds_decides)
{
	struct access_rules rules = parse("10.0.0.7 10.0.0.0/24(ro) 10.0.0.0/8");

	ck_assert_uint_eq(rule_for(&rules, "10.0.0.7"), 1);
	ck_assert_uint_eq(rule_for(&rules, "10.0.0.8"), 2);
	ck_assert_uint_eq(rule_for(&rules, "10.0.1.8"), 3);
	ck_assert_uint_eq(rule_for(&rules, "11.0.0.1"), 0);
	access_rules_fini(&rules);
}
END_TEST

START_TEST(prefixes_end_at_their_bit)
{
	ck_assert_uint_eq(holds("0.0.0.0/0", "255.255.255.255"), 1);
	ck_assert_uint_eq(holds("128.0.0.0/1", "128.0.0.1"), 1);
	ck_assert_uint_eq(holds("128.0.0.0/1", "127.255.255.255"), 0);
	ck_assert_uint_eq(holds("10.0.0.128/25", "10.0.0.128"), 1);
	ck_assert_uint_eq(holds("10.0.0.128/25", "10.0.0.127"), 0);
	ck_assert_uint_eq(holds("10.0.0.4/31", "10.0.0.5"), 1);
	ck_assert_uint_eq(holds("10.0.0.4/31", "10.0.0.6"), 0);
	ck_assert_uint_eq(holds("10.0.0.4/32", "10.0.0.4"), 1);
	ck_assert_uint_eq(holds("10.0.0.4/32", "10.0.0.5"), 0);
	/* Bits behind the prefix do not count. */
	ck_assert_uint_eq(holds("10.0.0.77/24", "10.0.0.1"), 1);
	ck_assert_uint_eq(holds("2001:db8::/33", "2001:db8:7fff::1"), 1);
	ck_assert_uint_eq(holds("2001:db8::/33", "2001:db8:8000::1"), 0);
	ck_assert_uint_eq(holds("2001:db8::1/128", "2001:db8::1"), 1);
	ck_assert_uint_eq(holds("2001:db8::1/128", "2001:db8::2"), 0);
	ck_assert_uint_eq(holds("::/0", "2001:db8::2"), 1);
}
END_TEST

START_TEST(mapped_ipv4_counts_as_ipv4)
{
	ck_assert_uint_eq(holds("10.0.0.0/24", "::ffff:10.0.0.9"), 1);
	ck_assert_uint_eq(holds("::ffff:10.0.0.0/120", "10.0.0.9"), 1);
	ck_assert_uint_eq(holds("::ffff:10.0.0.0/120", "10.0.1.9"), 0);
	ck_assert_uint_eq(holds("::/0", "::ffff:10.0.0.9"), 0);
	ck_assert_uint_eq(holds("0.0.0.0/0", "2001:db8::1"), 0);
}
END_TEST

START_TEST(no_rules_admit_nobody)
{
	const struct access_rules none = { 0 };

	ck_assert_uint_eq(rule_for(&none, "127.0.0.1"), 0);
}
END_TEST

START_TEST(unix_sockets_are_nobody)
{
	struct sockaddr_storage local = { .ss_family = AF_UNIX };
	struct access_rules rules = parse("0.0.0.0/0 ::/0");

	ck_assert_ptr_null(access_rules_find(&rules, (const void *)&local));
	access_rules_fini(&rules);
}
END_TEST

START_TEST(loopback_is_the_default)
{
	struct access_rules rules;

	ck_assert_int_eq(access_rules_loopback(&rules), 0);
	ck_assert_uint_ne(rule_for(&rules, "127.0.0.1"), 0);
	ck_assert_uint_ne(rule_for(&rules, "127.255.0.9"), 0);
	ck_assert_uint_ne(rule_for(&rules, "::1"), 0);
	ck_assert_uint_eq(rule_for(&rules, "::2"), 0);
	ck_assert_uint_eq(rule_for(&rules, "128.0.0.1"), 0);
	ck_assert(rules.rule[0].secure && rules.rule[0].read_write);
	access_rules_fini(&rules);
}
END_TEST

START_TEST(secure_asks_for_a_port_below_1024)
{
	struct access_rules rules = parse("0.0.0.0/0 ::/0(insecure)");
	struct address at;

	ck_assert(access_rule_port_ok(&rules.rule[0], address(&at, "10.0.0.1", 1023)));
	ck_assert(!access_rule_port_ok(&rules.rule[0], address(&at, "10.0.0.1", 1024)));
	ck_assert(!access_rule_port_ok(&rules.rule[0], address(&at, "::1", 65535)));
	ck_assert(access_rule_port_ok(&rules.rule[1], address(&at, "::1", 65535)));
	access_rules_fini(&rules);
}
END_TEST

static struct rpc_cred root_cred(void)
{
	struct rpc_cred cred = { .flavor = RPC_AUTH_SYS,
				 .stamp = 9,
				 .machine_name_len = 3,
				 .machine_name = "abc",
				 .uid = 0,
				 .gid = 0,
				 .gid_count = 3,
				 .gids = { 5, 0, 7 } };

	rpc_cred_encode(&cred);
	return cred;
}

/* What the body says must be what the fields say. */
static void check_body(const struct rpc_cred *cred)
{
	struct rpc_cred read = { .flavor = RPC_AUTH_SYS };
	uint32_t i;

	ck_assert_int_eq(rpc_cred_decode_sys(&read, cred->body, cred->body_len), 0);
	ck_assert_uint_eq(read.uid, cred->uid);
	ck_assert_uint_eq(read.gid, cred->gid);
	ck_assert_uint_eq(read.gid_count, cred->gid_count);
	for (i = 0; i < read.gid_count; i++)
		ck_assert_uint_eq(read.gids[i], cred->gids[i]);
	ck_assert_str_eq(read.machine_name, "abc");
}

START_TEST(no_root_squash_leaves_the_bytes_alone)
{
	struct access_rules rules = parse("::/0");
	struct rpc_cred cred = root_cred();
	struct rpc_cred before = cred;

	access_rule_squash(&rules.rule[0], &cred);
	ck_assert_mem_eq(&cred, &before, sizeof(cred));
	access_rules_fini(&rules);
}
END_TEST

START_TEST(root_squash_maps_every_zero)
{
	struct access_rules rules = parse("::/0(root_squash)");
	struct rpc_cred cred = root_cred();

	access_rule_squash(&rules.rule[0], &cred);
	ck_assert_uint_eq(cred.uid, ACCESS_SQUASH_ID);
	ck_assert_uint_eq(cred.gid, ACCESS_SQUASH_ID);
	ck_assert_uint_eq(cred.gid_count, 3);
	ck_assert_uint_eq(cred.gids[0], 5);
	ck_assert_uint_eq(cred.gids[1], ACCESS_SQUASH_ID);
	ck_assert_uint_eq(cred.gids[2], 7);
	check_body(&cred);
	access_rules_fini(&rules);
}
END_TEST

START_TEST(root_squash_leaves_users_alone)
{
	struct access_rules rules = parse("::/0(root_squash)");
	struct rpc_cred cred = root_cred();
	struct rpc_cred before;

	cred.uid = 1000;
	cred.gid = 1000;
	cred.gids[1] = 6;
	rpc_cred_encode(&cred);
	before = cred;
	access_rule_squash(&rules.rule[0], &cred);
	ck_assert_mem_eq(&cred, &before, sizeof(cred));
	access_rules_fini(&rules);
}
END_TEST

START_TEST(all_squash_leaves_no_id)
{
	struct access_rules rules = parse("::/0(all_squash)");
	struct rpc_cred cred = root_cred();

	cred.uid = 1000;
	access_rule_squash(&rules.rule[0], &cred);
	ck_assert_uint_eq(cred.uid, ACCESS_SQUASH_ID);
	ck_assert_uint_eq(cred.gid, ACCESS_SQUASH_ID);
	ck_assert_uint_eq(cred.gid_count, 0);
	check_body(&cred);
	access_rules_fini(&rules);
}
END_TEST

START_TEST(auth_none_has_nothing_to_squash)
{
	struct access_rules rules = parse("::/0(all_squash)");
	struct rpc_cred cred = { .flavor = RPC_AUTH_NONE };
	struct rpc_cred before = cred;

	access_rule_squash(&rules.rule[0], &cred);
	ck_assert_mem_eq(&cred, &before, sizeof(cred));
	access_rules_fini(&rules);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("access");
	TCase *text = unit_case(suite, "text");
	TCase *who = unit_case(suite, "who");
	TCase *squash = unit_case(suite, "squash");

	tcase_add_test(text, options_default_to_rw_secure_no_root_squash);
	tcase_add_test(text, each_option_does_what_it_says);
	tcase_add_loop_test(text, a_bad_word_is_named_with_what_is_allowed, 0,
			    (int)(sizeof(refusals) / sizeof(refusals[0])));
	tcase_add_test(text, a_word_that_is_too_long_is_refused_not_cut);
	tcase_add_test(who, the_first_rule_that_holds_decides);
	tcase_add_test(who, prefixes_end_at_their_bit);
	tcase_add_test(who, mapped_ipv4_counts_as_ipv4);
	tcase_add_test(who, no_rules_admit_nobody);
	tcase_add_test(who, unix_sockets_are_nobody);
	tcase_add_test(who, loopback_is_the_default);
	tcase_add_test(who, secure_asks_for_a_port_below_1024);
	tcase_add_test(squash, no_root_squash_leaves_the_bytes_alone);
	tcase_add_test(squash, root_squash_maps_every_zero);
	tcase_add_test(squash, root_squash_leaves_users_alone);
	tcase_add_test(squash, all_squash_leaves_no_id);
	tcase_add_test(squash, auth_none_has_nothing_to_squash);
	return unit_run(suite);
}
