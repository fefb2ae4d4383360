/*
 * The duplicate request cache: what is one call, how long an answer is kept, what
 * pushes it out, and that calls in progress stay.
 */
#include "unit/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "frontend/reply_cache.h"

struct fake_clock {
	struct clock clock;
	mono_us now;
};

static mono_us fake_now(const struct clock *clock)
{
	return ((const struct fake_clock *)(const void *)clock)->now;
}

static struct fake_clock hands = { .clock = { fake_now }, .now = 1000 };
static struct client_table clients;
static struct reply_cache *cache;
/* Never looked into by the cache. */
static char call_memory;
#define SOME_CALL ((struct call *)(void *)&call_memory)

static void setup(void)
{
	client_table_init(&clients);
	cache = reply_cache_new(&hands.clock, 1024 * 1024);
	ck_assert_ptr_nonnull(cache);
}

static void teardown(void)
{
	reply_cache_free(cache);
	/* Fails when an entry kept its client. */
	client_table_fini(&clients);
}

static struct client *client(const char *address, const char *name)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct rpc_cred cred = { .flavor = RPC_AUTH_SYS };
	struct peer_address peer;

	ck_assert_int_eq(inet_pton(AF_INET, address, &in.sin_addr), 1);
	peer_address_init(&peer, (const void *)&in);
	cred.machine_name_len = (uint32_t)strlen(name);
	strcpy(cred.machine_name, name);
	return client_get(&clients, &peer, &cred);
}

static struct reply_key key(const struct client *who, uint32_t xid, const char *args)
{
	const struct rpc_header header = { .xid = xid,
					   .program = PROGRAM_NFS,
					   .version = 3,
					   .proc = NFS3_PROC_REMOVE };
	struct reply_key made;

	reply_key_init(&made, who, &header, (const uint8_t *)args, strlen(args));
	return made;
}

static struct buf *reply(const char *text, size_t capacity)
{
	struct buf *buf = buf_new(capacity);

	memcpy(buf->data, text, strlen(text));
	buf->len_bytes = strlen(text);
	return buf;
}

static struct reply_entry *begin(struct client *who, uint32_t xid)
{
	struct reply_key made = key(who, xid, "args");
	struct reply_entry *entry = reply_cache_begin(cache, &made, who, SOME_CALL);

	ck_assert_ptr_nonnull(entry);
	return entry;
}

static void answer(struct reply_entry *entry, enum reply_keep keep, size_t capacity)
{
	struct buf *buf = reply("answer", capacity);

	reply_cache_answer(cache, entry, buf, keep, 1);
	buf_unref(buf);
}

static struct reply_entry *find(const struct client *who, uint32_t xid)
{
	struct reply_key made = key(who, xid, "args");

	return reply_cache_find(cache, &made);
}

START_TEST(a_call_in_progress_is_found_with_who_runs_it)
{
	struct client *who = client("10.0.0.1", "a");
	struct reply_entry *entry = begin(who, 1);

	ck_assert_ptr_eq(find(who, 1), entry);
	ck_assert_ptr_eq(entry->call, SOME_CALL);
	ck_assert_uint_eq(reply_cache_count(cache), 0);
	reply_cache_forget(cache, entry);
	ck_assert_ptr_null(find(who, 1));
	client_unref(who);
}
END_TEST

START_TEST(an_answer_is_kept_byte_for_byte)
{
	struct client *who = client("10.0.0.1", "a");
	struct reply_entry *entry = begin(who, 1);
	struct buf *buf = reply("the reply", 64);

	reply_cache_answer(cache, entry, buf, REPLY_KEEP, 42);
	ck_assert_ptr_eq(find(who, 1), entry);
	ck_assert_ptr_null(entry->call);
	ck_assert_ptr_eq(entry->reply, buf);
	ck_assert_uint_eq(entry->session_seq, 42);
	ck_assert_mem_eq(buf_start(entry->reply), "the reply", 9);
	buf_unref(buf);
	ck_assert_uint_eq(buf->refs, 1);
	client_unref(who);
}
END_TEST

START_TEST(other_clients_xids_and_arguments_do_not_match)
{
	struct client *who = client("10.0.0.1", "a");
	struct client *other_name = client("10.0.0.1", "b");
	struct client *longer_name = client("10.0.0.1", "ab");
	struct client *other_address = client("10.0.0.2", "a");
	struct reply_key other_args = key(who, 1, "argt");
	struct reply_key longer_args = key(who, 1, "args ");
	struct reply_key other_proc = key(who, 1, "args");
	struct reply_key other_program = key(who, 1, "args");

	other_proc.proc++;
	other_program.program = PROGRAM_NFSACL;
	answer(begin(who, 1), REPLY_KEEP, 64);
	ck_assert_ptr_nonnull(find(who, 1));
	ck_assert_ptr_null(find(who, 2));
	ck_assert_ptr_null(find(other_name, 1));
	ck_assert_ptr_null(find(longer_name, 1));
	ck_assert_ptr_null(find(other_address, 1));
	ck_assert_ptr_null(reply_cache_find(cache, &other_args));
	ck_assert_ptr_null(reply_cache_find(cache, &longer_args));
	ck_assert_ptr_null(reply_cache_find(cache, &other_proc));
	ck_assert_ptr_null(reply_cache_find(cache, &other_program));
	client_unref(who);
	client_unref(other_name);
	client_unref(longer_name);
	client_unref(other_address);
}
END_TEST

START_TEST(the_checksum_covers_256_bytes)
{
	struct client *who = client("10.0.0.1", "a");
	char args[301];
	struct reply_key plain;
	struct reply_key within;
	struct reply_key beyond;

	memset(args, 'x', 300);
	args[300] = '\0';
	plain = key(who, 1, args);
	args[255] = 'y';
	within = key(who, 1, args);
	args[255] = 'x';
	args[256] = 'y';
	beyond = key(who, 1, args);
	ck_assert_mem_ne(&plain, &within, sizeof(plain));
	ck_assert_mem_eq(&plain, &beyond, sizeof(plain));
	client_unref(who);
}
END_TEST

START_TEST(the_same_host_on_another_port_is_the_same_client)
{
	struct client *who = client("10.0.0.1", "a");
	struct client *again = client("10.0.0.1", "a");

	ck_assert_ptr_eq(who, again);
	client_unref(who);
	client_unref(again);
}
END_TEST

START_TEST(answers_are_kept_two_minutes_and_errors_of_commits_ten)
{
	struct client *who = client("10.0.0.1", "a");

	answer(begin(who, 1), REPLY_KEEP, 64);
	answer(begin(who, 2), REPLY_KEEP_LONG, 64);
	begin(who, 3);
	answer(begin(who, 4), REPLY_KEEP_WRITE, 64);
	hands.now += REPLY_CACHE_KEEP_US - 1;
	reply_cache_expire(cache);
	ck_assert_ptr_nonnull(find(who, 1));
	ck_assert_ptr_nonnull(find(who, 4));
	hands.now += 1;
	reply_cache_expire(cache);
	ck_assert_ptr_null(find(who, 1));
	ck_assert_ptr_null(find(who, 4));
	ck_assert_ptr_nonnull(find(who, 2));
	hands.now += REPLY_CACHE_KEEP_LONG_US - REPLY_CACHE_KEEP_US - 1;
	reply_cache_expire(cache);
	ck_assert_ptr_nonnull(find(who, 2));
	hands.now += 1;
	reply_cache_expire(cache);
	ck_assert_ptr_null(find(who, 2));
	/* In progress however long it takes. */
	ck_assert_ptr_nonnull(find(who, 3));
	reply_cache_forget(cache, find(who, 3));
	client_unref(who);
}
END_TEST

START_TEST(a_client_keeps_its_last_1024_answers)
{
	struct client *who = client("10.0.0.1", "a");
	struct client *quiet = client("10.0.0.2", "b");
	uint32_t xid;

	answer(begin(quiet, 1), REPLY_KEEP, 64);
	answer(begin(who, 5000), REPLY_KEEP_LONG, 64);
	begin(who, 6000);
	for (xid = 0; xid < 1025; xid++)
		answer(begin(who, xid), REPLY_KEEP, 64);
	ck_assert_ptr_null(find(who, 0));
	for (xid = 1; xid < 1025; xid++)
		ck_assert_ptr_nonnull(find(who, xid));
	ck_assert_ptr_nonnull(find(quiet, 1));
	ck_assert_ptr_nonnull(find(who, 5000));
	ck_assert_ptr_nonnull(find(who, 6000));
	ck_assert_uint_eq(reply_cache_count(cache), 1026);
	reply_cache_forget(cache, find(who, 6000));
	client_unref(who);
	client_unref(quiet);
}
END_TEST

START_TEST(writes_push_out_writes_only)
{
	struct client *who = client("10.0.0.1", "a");
	struct reply_entry *renamed = begin(who, 5000);
	struct buf *buf = reply("renamed", 64);
	uint32_t xid;

	reply_cache_answer(cache, renamed, buf, REPLY_KEEP, 1);
	for (xid = 0; xid < 1100; xid++)
		answer(begin(who, xid), REPLY_KEEP_WRITE, 64);
	ck_assert_ptr_eq(find(who, 5000), renamed);
	ck_assert_ptr_eq(renamed->reply, buf);
	ck_assert_mem_eq(buf_start(renamed->reply), "renamed", 7);
	ck_assert_ptr_null(find(who, 75));
	ck_assert_ptr_nonnull(find(who, 76));
	ck_assert_uint_eq(reply_cache_count(cache), 1025);
	buf_unref(buf);

	/* And the other way round. */
	for (xid = 6000; xid < 7100; xid++)
		answer(begin(who, xid), REPLY_KEEP, 64);
	ck_assert_ptr_null(find(who, 5000));
	ck_assert_ptr_nonnull(find(who, 76));
	ck_assert_uint_eq(reply_cache_count(cache), 2048);
	client_unref(who);
}
END_TEST

START_TEST(writes_are_the_first_to_go_when_memory_is_short)
{
	struct client *who = client("10.0.0.1", "a");
	struct client *quiet = client("10.0.0.2", "b");
	struct client *late = client("10.0.0.3", "c");

	answer(begin(quiet, 1), REPLY_KEEP, 64);
	answer(begin(quiet, 2), REPLY_KEEP_WRITE, 64);
	answer(begin(who, 1), REPLY_KEEP, 500 * 1024);
	answer(begin(who, 2), REPLY_KEEP_WRITE, 500 * 1024);
	answer(begin(who, 3), REPLY_KEEP, 500 * 1024);
	ck_assert_ptr_null(find(who, 2));
	ck_assert_ptr_nonnull(find(who, 1));
	ck_assert_ptr_nonnull(find(who, 3));
	ck_assert_ptr_nonnull(find(quiet, 2));
	/* One that has none to give: the oldest WRITE of all goes, and then the others. */
	answer(begin(late, 1), REPLY_KEEP, 500 * 1024);
	ck_assert_ptr_null(find(quiet, 2));
	ck_assert_ptr_nonnull(find(late, 1));
	ck_assert_uint_le(reply_cache_bytes(cache), 1024 * 1024);
	client_unref(who);
	client_unref(quiet);
	client_unref(late);
}
END_TEST

START_TEST(a_write_spares_what_its_client_must_not_do_twice)
{
	struct client *who = client("10.0.0.1", "a");
	struct client *other = client("10.0.0.2", "b");

	answer(begin(who, 1), REPLY_KEEP, 64);
	answer(begin(other, 1), REPLY_KEEP_WRITE, 500 * 1024);
	answer(begin(other, 2), REPLY_KEEP_WRITE, 500 * 1024);
	answer(begin(who, 2), REPLY_KEEP_WRITE, 500 * 1024);
	ck_assert_ptr_nonnull(find(who, 1));
	ck_assert_ptr_nonnull(find(who, 2));
	ck_assert_ptr_null(find(other, 1));
	ck_assert_ptr_nonnull(find(other, 2));
	client_unref(who);
	client_unref(other);
}
END_TEST

START_TEST(memory_is_bounded_and_who_fills_it_pays)
{
	struct client *who = client("10.0.0.1", "a");
	struct client *quiet = client("10.0.0.2", "b");
	uint32_t xid;

	answer(begin(quiet, 1), REPLY_KEEP, 64);
	begin(who, 7000);
	for (xid = 0; xid < 1000; xid++) {
		answer(begin(who, xid), REPLY_KEEP, 16 * 1024);
		ck_assert_uint_le(reply_cache_bytes(cache), 1024 * 1024);
	}
	ck_assert_ptr_nonnull(find(who, 999));
	ck_assert_ptr_null(find(who, 0));
	ck_assert_ptr_nonnull(find(quiet, 1));
	ck_assert_ptr_nonnull(find(who, 7000));
	reply_cache_forget(cache, find(who, 7000));
	client_unref(who);
	client_unref(quiet);
}
END_TEST

START_TEST(clients_are_forgotten_with_their_last_entry)
{
	struct client *who = client("10.0.0.1", "a");

	answer(begin(who, 1), REPLY_KEEP, 64);
	client_unref(who);
	ck_assert_uint_eq(clients.clients.node_count, 1);
	hands.now += REPLY_CACHE_KEEP_US;
	reply_cache_expire(cache);
	ck_assert_uint_eq(clients.clients.node_count, 0);
	ck_assert_uint_eq(reply_cache_bytes(cache), 0);
}
END_TEST

/* The engine may have an error to tell a client that was away for long. */
START_TEST(a_client_that_comes_back_is_the_same)
{
	struct client *who = client("10.0.0.1", "a");
	struct client *other = client("10.0.0.1", "b");
	uint64_t id = who->id;

	ck_assert_uint_ne(other->id, id);
	client_unref(other);
	client_unref(who);
	ck_assert_uint_eq(clients.clients.node_count, 0);
	who = client("10.0.0.1", "a");
	ck_assert_uint_eq(who->id, id);
	client_unref(who);
}
END_TEST

START_TEST(machine_names_are_cleaned_for_the_log)
{
	struct client *who = client("10.0.0.1", "a\n<b\x80");

	ck_assert_str_eq(who->text, "a?<b?@10.0.0.1");
	client_unref(who);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("reply_cache");
	TCase *keys = unit_case(suite, "keys");
	TCase *keeping = unit_case(suite, "keeping");

	tcase_add_checked_fixture(keys, setup, teardown);
	tcase_add_test(keys, a_call_in_progress_is_found_with_who_runs_it);
	tcase_add_test(keys, an_answer_is_kept_byte_for_byte);
	tcase_add_test(keys, other_clients_xids_and_arguments_do_not_match);
	tcase_add_test(keys, the_checksum_covers_256_bytes);
	tcase_add_test(keys, the_same_host_on_another_port_is_the_same_client);
	tcase_add_test(keys, machine_names_are_cleaned_for_the_log);
	tcase_add_checked_fixture(keeping, setup, teardown);
	tcase_add_test(keeping, answers_are_kept_two_minutes_and_errors_of_commits_ten);
	tcase_add_test(keeping, a_client_keeps_its_last_1024_answers);
	tcase_add_test(keeping, writes_push_out_writes_only);
	tcase_add_test(keeping, writes_are_the_first_to_go_when_memory_is_short);
	tcase_add_test(keeping, a_write_spares_what_its_client_must_not_do_twice);
	tcase_add_test(keeping, memory_is_bounded_and_who_fills_it_pays);
	tcase_add_test(keeping, clients_are_forgotten_with_their_last_entry);
	tcase_add_test(keeping, a_client_that_comes_back_is_the_same);
	return unit_run(suite);
}
