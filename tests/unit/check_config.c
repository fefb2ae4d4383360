/*
 * The configuration: what each key means, what only the whole shows, and the exact words
 * for each fault.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "unit/config_text.h"
#include "unit/unit.h"

START_TEST(the_least_gets_defaults)
{
	struct config_upstream *upstream;

	expect_valid(GOOD);
	ck_assert_int_eq(config.log_level, LOG_LEVEL_INFO);
	ck_assert_uint_ge(config.memory_bytes, CONFIG_MEMORY_MIN_BYTES);
	ck_assert_uint_eq(config.upstream_count, 1);
	upstream = first_upstream();
	ck_assert_str_eq(upstream->name, "a");
	ck_assert_str_eq(upstream->server, "nas");
	ck_assert_uint_eq(upstream->port, 0);
	ck_assert_uint_eq(upstream->mount_port, 0);
	ck_assert_uint_eq(upstream->listen_count, 1);
	ck_assert_str_eq(upstream->listen[0].text, "127.0.0.1:2049");
	ck_assert_uint_eq(upstream->export_count, 0);
	ck_assert_uint_eq(upstream->connections, CONFIG_CONNECTIONS_DEFAULT);
	ck_assert(!upstream->register_rpcbind);
	ck_assert_uint_gt(upstream->clients.count, 0);
	for (size_t i = 0; i < upstream->clients.count; i++)
		ck_assert(upstream->clients.rule[i].secure);
	config_free(&config);
}
END_TEST

START_TEST(every_key_is_taken)
{
	struct config_upstream *upstream;

	expect_valid("\xef\xbb\xbf# a comment\n"
		     "[nfsgather]\r\n"
		     "log_level = debug\r\n"
		     "memory=256M   ; another\n"
		     "\n"
		     "[upstream  a.b-c_1]   ; a third\n"
		     "server = [2001:db8::1]\n"
		     "port = 20490\n"
		     "mount_port = 20048\n"
		     "listen = 127.0.0.1:2049 [::1]:2049\n"
		     "\t; inside of a list\n"
		     "\t10.0.0.5:2049\n"
		     "exports = /exp/ /home\n"
		     "  /srv//data\n"
		     "clients = 127.0.0.1(rw,insecure)\n"
		     "  10.0.0.0/24(ro,root_squash)\n"
		     "connections = 16\n"
		     "register = yes\n"
		     "[upstream other]\n"
		     "server: nas\n"
		     "listen: 127.0.0.1:2050");
	ck_assert_int_eq(config.log_level, LOG_LEVEL_DEBUG);
	ck_assert_uint_eq(config.memory_bytes, 256 << 20);
	ck_assert_uint_eq(config.upstream_count, 2);
	upstream = first_upstream();
	ck_assert_str_eq(upstream->name, "a.b-c_1");
	ck_assert_str_eq(upstream->server, "2001:db8::1");
	ck_assert_uint_eq(upstream->port, 20490);
	ck_assert_uint_eq(upstream->mount_port, 20048);
	ck_assert_uint_eq(upstream->listen_count, 3);
	ck_assert_str_eq(upstream->listen[1].text, "[::1]:2049");
	ck_assert_str_eq(upstream->listen[2].text, "10.0.0.5:2049");
	ck_assert_uint_eq(upstream->export_count, 3);
	ck_assert_str_eq(upstream->exports[0], "/exp");
	ck_assert_str_eq(upstream->exports[1], "/home");
	ck_assert_str_eq(upstream->exports[2], "/srv/data");
	ck_assert_uint_eq(upstream->clients.count, 2);
	ck_assert(!upstream->clients.rule[0].secure);
	ck_assert(!upstream->clients.rule[1].read_write);
	ck_assert_uint_eq(upstream->connections, 16);
	ck_assert(upstream->register_rpcbind);
	ck_assert_str_eq(TAILQ_NEXT(upstream, link)->name, "other");
	config_free(&config);
}
END_TEST

#define UPSTREAM_KEYS                                                                  \
	"allowed: server, port, mount_port, listen, exports, clients, connections, "   \
	"register, dirty_background_bytes, dirty_bytes, dirty_expire, plug_max, "      \
	"retained_bytes, retained_expire"

static const struct {
	const char *line;
	const char *fault;
} bad_upstream_lines[] = {
	{ "port = 0", " port = 0: not a number from 1 to 65535" },
	{ "port = 65536", " port = 65536: not a number from 1 to 65535" },
	{ "port = nfs", " port = nfs: not a number from 1 to 65535" },
	{ "port =", " port = : not a number from 1 to 65535" },
	{ "port = 2049 # not a comment",
	  " port = 2049 # not a comment: not a number from 1 to 65535" },
	{ "mount_port = x", " mount_port = x: not a number from 1 to 65535" },
	{ "connections = 40", " connections = 40: not a number from 1 to 16" },
	{ "connections = 0", " connections = 0: not a number from 1 to 16" },
	{ "register = maybe", " register = maybe: not yes or no" },
	{ "exports =", " exports = : empty; at least one is needed" },
	{ "exports = exp", " exports = exp: not an absolute path" },
	{ "exports = /a/../b", " exports = /a/../b: a path with . or .. in it" },
	{ "server = nas2", " server = nas2: given twice; the first is at line 2" },
	{ "listen = 127.0.0.1:1",
	  " listen = 127.0.0.1:1: given twice; the first is at line 3" },
	{ "prot = 2049", ": unknown key \"prot\"; " UPSTREAM_KEYS },
	{ "memory = 64M", ": unknown key \"memory\"; " UPSTREAM_KEYS },
	{ "= 5", ": unknown key \"\"; " UPSTREAM_KEYS },
	{ "hello", ": neither [SECTION] nor KEY = VALUE" },
	{ "register = \x1b[31myes", " register = ?[31myes: not yes or no" },
	{ "register = \x9b"
	  "31m\xc3\xa4~",
	  " register = ?31m??~: not yes or no" },
	{ "register = no\n  yes",
	  ": register goes on in an indented line; only listen, exports and clients may, "
	  "other keys start in the first column" },
};

START_TEST(bad_upstream_line_is_named)
{
	char text[512];
	char expected[512];

	snprintf(text, sizeof(text), GOOD "%s\n", bad_upstream_lines[_i].line);
	snprintf(expected, sizeof(expected), "f:4: [upstream a]%s\n",
		 bad_upstream_lines[_i].fault);
	expect_faults(text, expected);
}
END_TEST

START_TEST(bad_server_is_named)
{
	expect_faults("[upstream a]\nserver = 10.0.0.256\nlisten = 127.0.0.1:2049\n",
		      "f:2: [upstream a] server = 10.0.0.256: not a host name or a "
		      "numeric address\n");
}
END_TEST

START_TEST(every_bad_word_of_a_list_is_named)
{
	expect_faults(
		"[upstream a]\nserver = nas\nlisten = localhost:2049\n"
		"  127.0.0.1:2049 127.0.0.1:0\n"
		"exports = a /b c\n",
		"f:3: [upstream a] listen = localhost:2049: not ADDR:PORT with a "
		"numeric address, as in 127.0.0.1:2049 or [::1]:2049\n"
		"f:3: [upstream a] listen = 127.0.0.1:0: the port is not a number "
		"from 1 to 65535\n"
		"f:5: [upstream a] exports = a: not an absolute path\n"
		"f:5: [upstream a] exports = c: not an absolute path\n");
}
END_TEST

START_TEST(bad_clients_are_explained_by_their_parser)
{
	struct access_rules rules;
	char reason[256];
	char expected[512];

	ck_assert_int_eq(access_rules_parse("10.0.0.0/24(rx)", &rules, reason,
					    sizeof(reason)),
			 -EINVAL);
	snprintf(expected, sizeof(expected),
		 "f:4: [upstream a] clients = 10.0.0.0/24(rx): %s\n", reason);
	expect_faults(GOOD "clients = 10.0.0.0/24(rx)\n", expected);
}
END_TEST

START_TEST(list_limits_are_kept)
{
	char text[4096] = "[upstream a]\nserver = nas\nlisten =\n";

	for (int i = 1; i <= CONFIG_LISTENERS_MAX + 1; i++)
		sprintf(text + strlen(text), " 127.0.0.1:%d\n", i);
	expect_faults(text, "f:3: [upstream a] listen = 127.0.0.1:17: more than 16 "
			    "addresses\n");

	strcpy(text, GOOD "exports =\n");
	for (int i = 1; i <= CONFIG_EXPORTS_MAX + 1; i++)
		sprintf(text + strlen(text), " /e%d\n", i);
	expect_faults(text, "f:4: [upstream a] exports = /e65: more than 64 paths\n");
}
END_TEST

START_TEST(nfsgather_keys_are_judged)
{
	expect_faults(
		"[nfsgather]\nlog_level = loud\nmemory = lots\nserver = nas\n" GOOD,
		"f:2: [nfsgather] log_level = loud: not one of error, warn, info, "
		"debug or trace\n"
		"f:3: [nfsgather] memory = lots: not a size in bytes or with unit "
		"K, M, G or T, as in 512M\n"
		"f:4: [nfsgather]: unknown key \"server\"; allowed: log_level, "
		"memory\n");
}
END_TEST

START_TEST(memory_must_suffice)
{
	expect_valid("[nfsgather]\nmemory = 64M\n" GOOD);
	ck_assert_uint_eq(config.memory_bytes, CONFIG_MEMORY_MIN_BYTES);
	config_free(&config);
	expect_faults("[nfsgather]\nmemory = 65535K\n" GOOD,
		      "f:2: [nfsgather] memory = 65535K: too little; at least 64M for "
		      "1 upstream\n");
	expect_faults(
		"[nfsgather]\nmemory = 0\n" GOOD,
		"f:2: [nfsgather] memory = 0 bytes: too little; at least 64M for 1 upstream\n");
	expect_faults("[nfsgather]\nmemory = 64M\n" GOOD
		      "[upstream b]\nserver = nas2\nlisten = 127.0.0.1:2050\n",
		      "f:2: [nfsgather] memory = 64M: too little; at least 65M for "
		      "2 upstreams\n");
}
END_TEST

START_TEST(what_is_missing_is_named)
{
	expect_faults("[upstream a]\n",
		      "f:1: [upstream a]: server is missing, as in server = "
		      "nas.example.org\n"
		      "f:1: [upstream a]: listen is missing, as in listen = "
		      "127.0.0.1:2049\n");
	expect_faults("[nfsgather]\n", "f: no [upstream NAME] section\n");
	expect_faults("\n", "f: no [upstream NAME] section\n");
}
END_TEST

START_TEST(open_addresses_need_clients)
{
	expect_faults(
		"[upstream a]\nserver = nas\nlisten = 127.0.0.1:2049 "
		"10.0.0.5:2049 [::]:2049\n",
		"f:3: [upstream a] listen = 10.0.0.5:2049: other hosts can reach "
		"this address, so clients must say who may use it, as in "
		"10.0.0.0/24(rw)\n"
		"f:3: [upstream a] listen = [::]:2049: other hosts can reach this "
		"address, so clients must say who may use it, as in "
		"10.0.0.0/24(rw)\n");
	expect_valid("[upstream a]\nserver = nas\nlisten = 0.0.0.0:2049\n"
		     "clients = 10.0.0.0/24\n");
	config_free(&config);
}
END_TEST

START_TEST(an_address_is_listened_on_once)
{
	expect_faults("[upstream a]\nserver = nas\nlisten = 127.0.0.1:1 127.0.0.1:1\n",
		      "f:3: [upstream a] listen = 127.0.0.1:1: 127.0.0.1:1 of "
		      "[upstream a] takes this address already\n");
	expect_faults(
		"[upstream a]\nserver = nas\nlisten = [::1]:1\n"
		"[upstream b]\nserver = nas2\nlisten = 127.0.0.1:1 [0::1]:1\n",
		"f:6: [upstream b] listen = [::1]:1: [::1]:1 of [upstream a] takes "
		"this address already\n");
	expect_faults(
		"[upstream a]\nserver = nas\nlisten = 127.0.0.1:1\n"
		"[upstream b]\nserver = nas2\nlisten = 0.0.0.0:1\n"
		"clients = 10.0.0.0/8\n",
		"f:6: [upstream b] listen = 0.0.0.0:1: 127.0.0.1:1 of [upstream a] "
		"takes this address already\n");
	expect_valid("[upstream a]\nserver = nas\nlisten = 127.0.0.1:1 127.0.0.1:2\n"
		     "[upstream b]\nserver = nas2\nlisten = [::1]:1 127.0.0.2:1\n");
	config_free(&config);
}
END_TEST

/* Two sections; %s is the second server. */
static void two_sections(char *text, size_t bytes, const char *first,
			 const char *second)
{
	snprintf(text, bytes,
		 "[upstream a]\nlisten = 127.0.0.1:1\nserver = %s\n"
		 "[upstream b]\nlisten = 127.0.0.1:2\nserver = %s\n",
		 first, second);
}

START_TEST(two_sections_for_one_server_are_refused)
{
	static const char *const pairs[][2] = {
		{ "nas", "NAS" },
		{ "10.0.0.1", "::ffff:10.0.0.1" },
		{ "2001:db8::1", "[2001:DB8:0::1]" },
		{ "10.0.0.1\nport = 2049", "10.0.0.1\nport = 2049" },
	};
	char text[256];

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		two_sections(text, sizeof(text), pairs[i][0], pairs[i][1]);
		ck_assert_int_eq(load_bytes(text, strlen(text)), -EINVAL);
		ck_assert_uint_eq(faults.count, 1);
		ck_assert_ptr_nonnull(
			strstr(faults.fault[0].text,
			       ": [upstream a] is for this server and port "
			       "already; one section can have several "
			       "listen addresses"));
		config_fault_list_fini(&faults);
	}
	two_sections(text, sizeof(text), "nas", "NAS");
	expect_faults(text,
		      "f:6: [upstream b] server = NAS: [upstream a] is for this "
		      "server and port already; one section can have several listen "
		      "addresses\n");
}
END_TEST

START_TEST(one_server_on_two_ports_is_two)
{
	char text[256];

	two_sections(text, sizeof(text), "nas\nport = 2049", "nas\nport = 2050");
	expect_valid(text);
	config_free(&config);
	two_sections(text, sizeof(text), "10.0.0.1", "10.0.0.2");
	expect_valid(text);
	config_free(&config);
	/* A port that is asked for at run time may turn out to be the other one. */
	two_sections(text, sizeof(text), "nas", "nas\nport = 2050");
	expect_faults(text,
		      "f:6: [upstream b] server = nas: [upstream a] is for this "
		      "server too; if the two run on different ports, give port in "
		      "both sections\n");
}
END_TEST

START_TEST(one_upstream_can_be_registered)
{
	char text[256];

	two_sections(text, sizeof(text), "x\nregister = yes", "y\nregister = yes");
	expect_faults(text,
		      "f:8: [upstream b] register = yes: rpcbind can name only one "
		      "NFS service, and [upstream a] is to be registered already\n");
	two_sections(text, sizeof(text), "x\nregister = no", "y\nregister = yes");
	expect_valid(text);
	config_free(&config);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("config");
	TCase *keys = unit_case(suite, "keys");
	TCase *whole = unit_case(suite, "whole");

	tcase_add_test(keys, the_least_gets_defaults);
	tcase_add_test(keys, every_key_is_taken);
	tcase_add_loop_test(
		keys, bad_upstream_line_is_named, 0,
		(int)(sizeof(bad_upstream_lines) / sizeof(bad_upstream_lines[0])));
	tcase_add_test(keys, bad_server_is_named);
	tcase_add_test(keys, every_bad_word_of_a_list_is_named);
	tcase_add_test(keys, bad_clients_are_explained_by_their_parser);
	tcase_add_test(keys, list_limits_are_kept);
	tcase_add_test(keys, nfsgather_keys_are_judged);

	tcase_add_test(whole, memory_must_suffice);
	tcase_add_test(whole, what_is_missing_is_named);
	tcase_add_test(whole, open_addresses_need_clients);
	tcase_add_test(whole, an_address_is_listened_on_once);
	tcase_add_test(whole, two_sections_for_one_server_are_refused);
	tcase_add_test(whole, one_server_on_two_ports_is_two);
	tcase_add_test(whole, one_upstream_can_be_registered);
	return unit_run(suite);
}
