/*
 * config_value, config_memory: single values, their exact limits, and what is no value.
 */
#include "daemon/config_value.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/config_memory.h"
#include "frontend/admission.h"
#include "unit/unit.h"

START_TEST(number_takes_digits_within_limits)
{
	uint64_t number = 0;

	ck_assert_int_eq(config_value_number("1", 1, 16, &number), 0);
	ck_assert_uint_eq(number, 1);
	ck_assert_int_eq(config_value_number("16", 1, 16, &number), 0);
	ck_assert_uint_eq(number, 16);
	ck_assert_int_eq(
		config_value_number("18446744073709551615", 0, UINT64_MAX, &number), 0);
	ck_assert_uint_eq(number, UINT64_MAX);
}
END_TEST

static const char *const no_numbers[] = {
	"",
	"0",
	"17",
	"-1",
	"+1",
	" 1",
	"1 ",
	"1x",
	"0x10",
	"1.0",
	"18446744073709551616",
	"18446744073709551617",
	"99999999999999999999999999999999",
};

START_TEST(number_refuses_the_rest)
{
	uint64_t number = 5;

	ck_assert_int_eq(config_value_number(no_numbers[_i], 1, 16, &number), -EINVAL);
	ck_assert_uint_eq(number, 5);
}
END_TEST

static const struct {
	const char *text;
	uint64_t bytes;
} sizes[] = {
	{ "0", 0 },
	{ "1", 1 },
	{ "1K", 1024 },
	{ "64M", UINT64_C(67108864) },
	{ "2G", UINT64_C(2147483648) },
	{ "1T", UINT64_C(1099511627776) },
	{ "18446744073709551615", UINT64_MAX },
	{ "18014398509481983K", UINT64_MAX - 1023 },
	{ "16777215T", UINT64_MAX - ((UINT64_C(1) << 40) - 1) },
};

START_TEST(size_knows_its_units)
{
	uint64_t bytes = 7;

	ck_assert_int_eq(config_value_size(sizes[_i].text, &bytes), 0);
	ck_assert_uint_eq(bytes, sizes[_i].bytes);
}
END_TEST

static const char *const no_sizes[] = {
	"",	     "M",
	"1m",	     "1k",
	"1MB",	     "1MiB",
	"1 M",	     "-1",
	"1.5G",	     "1P",
	"0x1K",	     "18014398509481984K",
	"16777216T", "18446744073709551616",
};

START_TEST(size_refuses_the_rest)
{
	uint64_t bytes = 7;

	ck_assert_int_eq(config_value_size(no_sizes[_i], &bytes), -EINVAL);
	ck_assert_uint_eq(bytes, 7);
}
END_TEST

START_TEST(size_text_uses_the_largest_whole_unit)
{
	char text[CONFIG_SIZE_TEXT_BYTES];

	config_value_size_text(64 << 20, text, sizeof(text));
	ck_assert_str_eq(text, "64M");
	config_value_size_text(1536, text, sizeof(text));
	ck_assert_str_eq(text, "1536 bytes");
	config_value_size_text(UINT64_C(3) << 30, text, sizeof(text));
	ck_assert_str_eq(text, "3G");
	config_value_size_text(0, text, sizeof(text));
	ck_assert_str_eq(text, "0 bytes");
}
END_TEST

static const struct {
	const char *text;
	mono_us us;
} durations[] = {
	{ "0", 0 },
	{ "0ms", 0 },
	{ "250us", 250 },
	{ "15ms", 15000 },
	{ "5s", 5000000 },
	{ "2min", 120000000 },
	{ "9223372036854775807us", INT64_MAX },
	{ "9223372036854s", INT64_C(9223372036854000000) },
};

START_TEST(duration_knows_its_units)
{
	mono_us us = -7;

	ck_assert_int_eq(config_value_duration(durations[_i].text, &us), 0);
	ck_assert_int_eq(us, durations[_i].us);
}
END_TEST

static const char *const no_durations[] = {
	"",
	"ms",
	"15",
	"15 ms",
	"15m",
	"1.5s",
	"-1s",
	"5sec",
	"1h",
	"9223372036854775808us",
	"9223372036855s",
	"153722867281min",
};

START_TEST(duration_refuses_the_rest)
{
	mono_us us = -7;

	ck_assert_int_eq(config_value_duration(no_durations[_i], &us), -EINVAL);
	ck_assert_int_eq(us, -7);
}
END_TEST

START_TEST(bool_is_yes_or_no)
{
	bool value = false;

	ck_assert_int_eq(config_value_bool("yes", &value), 0);
	ck_assert(value);
	ck_assert_int_eq(config_value_bool("no", &value), 0);
	ck_assert(!value);
	ck_assert_int_eq(config_value_bool("true", &value), -EINVAL);
	ck_assert_int_eq(config_value_bool("Yes", &value), -EINVAL);
	ck_assert_int_eq(config_value_bool("", &value), -EINVAL);
}
END_TEST

static const struct {
	const char *text;
	const char *canonical;
	int family;
	uint16_t port;
} listens[] = {
	{ "127.0.0.1:2049", "127.0.0.1:2049", AF_INET, 2049 },
	{ "0.0.0.0:1", "0.0.0.0:1", AF_INET, 1 },
	{ "[::1]:65535", "[::1]:65535", AF_INET6, 65535 },
	{ "[0:0::0:1]:2049", "[::1]:2049", AF_INET6, 2049 },
	{ "[::]:2049", "[::]:2049", AF_INET6, 2049 },
};

START_TEST(listen_takes_numeric_addresses)
{
	struct config_listen listen;
	const char *reason;

	ck_assert_int_eq(config_value_listen(listens[_i].text, &listen, &reason), 0);
	ck_assert_str_eq(listen.text, listens[_i].canonical);
	ck_assert_int_eq(listen.addr.ss_family, listens[_i].family);
	ck_assert_uint_eq(config_value_port_of(&listen.addr), listens[_i].port);
}
END_TEST

#define NOT_ADDR_PORT                                                                  \
	"not ADDR:PORT with a numeric address, as in 127.0.0.1:2049 or [::1]:2049"
#define NOT_PORT "the port is not a number from 1 to 65535"

static const struct {
	const char *text;
	const char *reason;
} no_listens[] = {
	{ "", NOT_ADDR_PORT },
	{ "127.0.0.1", NOT_ADDR_PORT },
	{ ":2049", NOT_ADDR_PORT },
	{ "*:2049", NOT_ADDR_PORT },
	{ "localhost:2049", NOT_ADDR_PORT },
	{ "127.1:2049", NOT_ADDR_PORT },
	{ "127.0.0.256:2049", NOT_ADDR_PORT },
	{ "::1:2049", NOT_ADDR_PORT },
	{ "[::1]", NOT_ADDR_PORT },
	{ "[::1]2049", NOT_ADDR_PORT },
	{ "[127.0.0.1]:2049", NOT_ADDR_PORT },
	{ "[fe80::1]:2049", NOT_ADDR_PORT },
	{ "[fe80::1%nosuchlink]:2049", NOT_ADDR_PORT },
	{ "[::1%lo]:2049", NOT_ADDR_PORT },
	{ "127.0.0.1:", NOT_PORT },
	{ "127.0.0.1:0", NOT_PORT },
	{ "127.0.0.1:65536", NOT_PORT },
	{ "127.0.0.1:nfs", NOT_PORT },
	{ "[::1]:-1", NOT_PORT },
	{ "[::ffff:127.0.0.1]:2049", "an IPv4 address inside IPv6; write it as IPv4" },
};

START_TEST(listen_refuses_the_rest)
{
	struct config_listen listen;
	const char *reason = NULL;

	ck_assert_int_eq(config_value_listen(no_listens[_i].text, &listen, &reason),
			 -EINVAL);
	ck_assert_str_eq(reason, no_listens[_i].reason);
}
END_TEST

START_TEST(listen_text_has_room_for_the_longest)
{
	char loopback[IF_NAMESIZE];
	struct config_listen listen;
	char text[96];
	const char *reason;

	ck_assert_ptr_nonnull(if_indextoname(1, loopback));
	snprintf(text, sizeof(text),
		 "[fe80:1111:2222:3333:4444:5555:6666:7777%%%s]:65535", loopback);
	ck_assert_int_eq(config_value_listen(text, &listen, &reason), 0);
	ck_assert_str_eq(listen.text, text);
	/* 39 of the address, 15 of a longest link name, "[%]:", 5 of the port, the end. */
	ck_assert_uint_le(39 + (IF_NAMESIZE - 1) + 4 + 5 + 1, sizeof(listen.text));
}
END_TEST

static const struct {
	const char *text;
	const char *server;
} servers[] = {
	{ "nas", "nas" },
	{ "nas-1.example.org", "nas-1.example.org" },
	{ "my_nas", "my_nas" },
	{ "10.0.0.1", "10.0.0.1" },
	{ "2001:db8::1", "2001:db8::1" },
	{ "[2001:db8::1]", "2001:db8::1" },
	{ "1a", "1a" },
};

START_TEST(server_is_a_name_or_an_address)
{
	const char *reason;
	char *server = NULL;

	ck_assert_int_eq(config_value_server(servers[_i].text, &server, &reason), 0);
	ck_assert_str_eq(server, servers[_i].server);
	free(server);
}
END_TEST

static const char *const no_servers[] = {
	"",
	"10.0.0",
	"10.0.0.256",
	"a b",
	"-nas",
	"nas:/export",
	"[nas]",
	"[10.0.0.1]",
	"2001:db8::g",
	"a..b",
	".a",
	"nas/x",
	"fe80::1",
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
};

START_TEST(server_refuses_the_rest)
{
	const char *reason = NULL;
	char *server = NULL;

	ck_assert_int_eq(config_value_server(no_servers[_i], &server, &reason),
			 -EINVAL);
	ck_assert_str_eq(reason, "not a host name or a numeric address");
	ck_assert_ptr_null(server);
}
END_TEST

START_TEST(server_refuses_link_local_and_overlong)
{
	char loopback[IF_NAMESIZE];
	char text[300];
	const char *reason = NULL;
	char *server = NULL;

	ck_assert_ptr_nonnull(if_indextoname(1, loopback));
	snprintf(text, sizeof(text), "fe80::1%%%s", loopback);
	ck_assert_int_eq(config_value_server(text, &server, &reason), -EINVAL);
	ck_assert_str_eq(reason,
			 "a link-local address, which the NFS library cannot use");

	memset(text, 'a', 254);
	for (size_t i = 50; i < 254; i += 50)
		text[i] = '.';
	text[254] = '\0';
	ck_assert_int_eq(config_value_server(text, &server, &reason), -EINVAL);
	ck_assert_str_eq(reason, "longer than the 253 characters a host name can have");
	text[253] = '\0';
	ck_assert_int_eq(config_value_server(text, &server, &reason), 0);
	free(server);
}
END_TEST

static const struct {
	const char *text;
	const char *path;
} paths[] = {
	{ "/", "/" },
	{ "///", "/" },
	{ "/exp", "/exp" },
	{ "/exp/", "/exp" },
	{ "//exp//sub/", "/exp/sub" },
	{ "/a..b/.c/...", "/a..b/.c/..." },
};

START_TEST(path_is_made_canonical)
{
	const char *reason;
	char *path = NULL;

	ck_assert_int_eq(config_value_path(paths[_i].text, &path, &reason), 0);
	ck_assert_str_eq(path, paths[_i].path);
	free(path);
}
END_TEST

START_TEST(path_refuses_the_rest)
{
	static const char *const bad[][2] = {
		{ "", "not an absolute path" },
		{ "exp", "not an absolute path" },
		{ "./exp", "not an absolute path" },
		{ "/exp/..", "a path with . or .. in it" },
		{ "/./exp", "a path with . or .. in it" },
		{ "/exp/../etc", "a path with . or .. in it" },
	};
	char longest[1026];
	const char *reason = NULL;
	char *path = NULL;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_int_eq(config_value_path(bad[i][0], &path, &reason), -EINVAL);
		ck_assert_str_eq(reason, bad[i][1]);
	}
	memset(longest, 'a', sizeof(longest));
	longest[0] = '/';
	longest[1025] = '\0';
	ck_assert_int_eq(config_value_path(longest, &path, &reason), -EINVAL);
	ck_assert_str_eq(reason,
			 "longer than the 1024 bytes that a mount call can carry");
	longest[1024] = '\0';
	ck_assert_int_eq(config_value_path(longest, &path, &reason), 0);
	ck_assert_str_eq(path, longest);
	free(path);
}
END_TEST

static struct sockaddr_storage address(const char *text)
{
	struct sockaddr_storage addr;

	ck_assert_msg(config_value_is_numeric_address(text, &addr), "%s", text);
	return addr;
}

START_TEST(addresses_compare_by_value)
{
	struct sockaddr_storage plain = address("10.0.0.1");
	struct sockaddr_storage mapped = address("::ffff:10.0.0.1");
	struct sockaddr_storage other = address("10.0.0.2");
	struct sockaddr_storage long_form = address("2001:DB8:0:0::1");
	struct sockaddr_storage short_form = address("2001:db8::1");
	struct sockaddr_storage addr;

	ck_assert(config_value_is_same_address(&plain, &mapped));
	ck_assert(!config_value_is_same_address(&plain, &other));
	ck_assert(config_value_is_same_address(&long_form, &short_form));
	ck_assert(!config_value_is_same_address(&plain, &short_form));
	ck_assert(!config_value_is_numeric_address("nas", &addr));
	ck_assert(!config_value_is_numeric_address("10.0.0.01x", &addr));
}
END_TEST

START_TEST(loopback_and_any_are_told_apart)
{
	struct sockaddr_storage addr = address("127.255.0.1");

	ck_assert(config_value_is_loopback(&addr));
	ck_assert(!config_value_is_any_address(&addr));
	addr = address("::1");
	ck_assert(config_value_is_loopback(&addr));
	addr = address("128.0.0.1");
	ck_assert(!config_value_is_loopback(&addr));
	addr = address("0.0.0.0");
	ck_assert(!config_value_is_loopback(&addr));
	ck_assert(config_value_is_any_address(&addr));
	addr = address("::");
	ck_assert(!config_value_is_loopback(&addr));
	ck_assert(config_value_is_any_address(&addr));
}
END_TEST

START_TEST(memory_needed_grows_with_upstreams)
{
	ck_assert_uint_eq(config_memory_needed_bytes(0), 64 << 20);
	ck_assert_uint_eq(config_memory_needed_bytes(1), 64 << 20);
	ck_assert_uint_eq(config_memory_needed_bytes(2), 16 * ((4 << 20) + 4096));
	ck_assert_uint_eq(config_memory_needed_bytes(3), 24 * ((4 << 20) + 4096));
}
END_TEST

/*
 * What an upstream is given for waiting bytes is what admission lets it have, whatever the
 * others do, with one of the largest records and its copy on top.
 */
START_TEST(memory_room_leaves_admission_a_record)
{
	static const struct {
		uint64_t memory_bytes;
		unsigned int upstreams;
		uint64_t room_bytes;
	} rooms[] = {
		{ 64 << 20, 1, 19 << 20 },
		{ 1 << 30, 1, 439 << 20 },
		{ 1 << 30, 2, 215 << 20 },
		{ 24 * ((4 << 20) + 4096), 3, 6 << 20 },
		{ UINT64_C(1) << 40, 1, (UINT64_C(458752) - 9) << 20 },
	};

	for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
		uint64_t memory = rooms[i].memory_bytes;
		struct admission_pool *pool =
			admission_pool_new(memory, rooms[i].upstreams);
		struct admission_share *share = admission_share_new(pool);
		uint64_t room = config_memory_room_bytes(memory, rooms[i].upstreams);
		uint64_t left = admission_max_charge_bytes(share) - room;

		ck_assert_uint_eq(room, rooms[i].room_bytes);
		ck_assert_uint_ge(left, 2 * ((4 << 20) + 4096));
		ck_assert_uint_lt(left, 2 * ((4 << 20) + 4096) + (1 << 20));
		admission_share_free(share);
		admission_pool_free(pool);
	}
}
END_TEST

START_TEST(memory_default_is_at_most_a_gibibyte)
{
	uint64_t bytes = config_memory_default_bytes();

	ck_assert_uint_gt(bytes, 0);
	ck_assert_uint_le(bytes, UINT64_C(1) << 30);
}
END_TEST

/* A tree of files in a folder of its own, removed by tree_fini(). */
static char tree[64];

static void tree_init(void)
{
	snprintf(tree, sizeof(tree), "check_config_value.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(tree));
}

static void tree_fini(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf ./%s", tree);
	ck_assert_int_eq(system(command), 0);
}

static void tree_add(const char *folder, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s%s", tree, folder);
	if (*folder != '\0' && mkdir(path, 0700) != 0)
		ck_assert_int_eq(errno, EEXIST);
	snprintf(path, sizeof(path), "%s%s/%s", tree, folder, name);
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
}

static uint64_t tree_limit(void)
{
	char membership[128];

	snprintf(membership, sizeof(membership), "%s/membership", tree);
	return config_memory_cgroup_bytes(membership, tree);
}

START_TEST(cgroup_v2_limit_is_the_smallest_on_the_way_up)
{
	tree_add("", "membership", "0::/a/b\n");
	tree_add("/a", "memory.max", "300000000\n");
	tree_add("/a/b", "memory.max", "max\n");
	ck_assert_uint_eq(tree_limit(), 300000000);
	tree_add("/a/b", "memory.max", "200000000\n");
	ck_assert_uint_eq(tree_limit(), 200000000);
	tree_add("", "memory.max", "100000000\n");
	ck_assert_uint_eq(tree_limit(), 100000000);
}
END_TEST

START_TEST(cgroup_v1_limit_is_found)
{
	tree_add("", "membership", "4:cpuset:/z\n3:cpu,memory:/box\n0::/\n");
	tree_add("/memory", "memory.limit_in_bytes", "9223372036854771712\n");
	tree_add("/memory/box", "memory.limit_in_bytes", "123456789\n");
	ck_assert_uint_eq(tree_limit(), 123456789);
}
END_TEST

START_TEST(no_cgroup_is_no_limit)
{
	ck_assert_uint_eq(tree_limit(), UINT64_MAX);
	tree_add("", "membership", "nonsense\n0::/gone\n5:memory\n");
	ck_assert_uint_eq(tree_limit(), UINT64_MAX);
}
END_TEST

#define ADD_EACH(tcase, test, table)                                                   \
	tcase_add_loop_test(tcase, test, 0, (int)(sizeof(table) / sizeof((table)[0])))

int main(void)
{
	Suite *suite = suite_create("config_value");
	TCase *numbers = unit_case(suite, "numbers");
	TCase *addresses = unit_case(suite, "addresses");
	TCase *memory = unit_case(suite, "memory");

	tcase_add_test(numbers, number_takes_digits_within_limits);
	ADD_EACH(numbers, number_refuses_the_rest, no_numbers);
	ADD_EACH(numbers, size_knows_its_units, sizes);
	ADD_EACH(numbers, size_refuses_the_rest, no_sizes);
	tcase_add_test(numbers, size_text_uses_the_largest_whole_unit);
	ADD_EACH(numbers, duration_knows_its_units, durations);
	ADD_EACH(numbers, duration_refuses_the_rest, no_durations);
	tcase_add_test(numbers, bool_is_yes_or_no);

	ADD_EACH(addresses, listen_takes_numeric_addresses, listens);
	ADD_EACH(addresses, listen_refuses_the_rest, no_listens);
	tcase_add_test(addresses, listen_text_has_room_for_the_longest);
	ADD_EACH(addresses, server_is_a_name_or_an_address, servers);
	ADD_EACH(addresses, server_refuses_the_rest, no_servers);
	tcase_add_test(addresses, server_refuses_link_local_and_overlong);
	ADD_EACH(addresses, path_is_made_canonical, paths);
	tcase_add_test(addresses, path_refuses_the_rest);
	tcase_add_test(addresses, addresses_compare_by_value);
	tcase_add_test(addresses, loopback_and_any_are_told_apart);

	tcase_add_checked_fixture(memory, tree_init, tree_fini);
	tcase_add_test(memory, memory_needed_grows_with_upstreams);
	tcase_add_test(memory, memory_room_leaves_admission_a_record);
	tcase_add_test(memory, memory_default_is_at_most_a_gibibyte);
	tcase_add_test(memory, cgroup_v2_limit_is_the_smallest_on_the_way_up);
	tcase_add_test(memory, cgroup_v1_limit_is_found);
	tcase_add_test(memory, no_cgroup_is_no_limit);
	return unit_run(suite);
}
