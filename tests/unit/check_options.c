/*
 * The command line: its two forms, what each option means, and what is refused.
 */
#include "daemon/options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "unit/unit.h"

enum { ARGUMENTS_MAX = 16 };

static struct options options;
static char error[256];

/* Splits at blanks; getopt may reorder the pointers, so they are not constant. */
static int parse(const char *line)
{
	static char copy[512];
	char *argv[ARGUMENTS_MAX + 1];
	int argc = 0;
	char *next = copy;

	snprintf(copy, sizeof(copy), "nfsgatherd %s", line);
	while (next != NULL && argc < ARGUMENTS_MAX) {
		char *word = strsep(&next, " ");

		if (*word != '\0')
			argv[argc++] = word;
	}
	argv[argc] = NULL;
	error[0] = '\0';
	return options_parse(argc, argv, &options, error, sizeof(error));
}

static void expect_refused(const char *line, const char *reason)
{
	ck_assert_int_eq(parse(line), -EINVAL);
	ck_assert_str_eq(error, reason);
}

START_TEST(no_arguments_mean_the_default_file)
{
	ck_assert_int_eq(parse(""), 0);
	ck_assert_int_eq(options.mode, OPTIONS_RUN);
	ck_assert_str_eq(options.config_path, SYSCONFDIR "/nfsgather.conf");
	ck_assert_str_eq(options_config_name(&options), SYSCONFDIR "/nfsgather.conf");
	ck_assert_ptr_null(options.upstream);
}
END_TEST

START_TEST(a_file_can_be_named_in_each_way)
{
	static const char *const lines[] = { "-c x.conf", "-cx.conf", "--config x.conf",
					     "--config=x.conf" };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		ck_assert_int_eq(parse(lines[i]), 0);
		ck_assert_str_eq(options.config_path, "x.conf");
	}
}
END_TEST

START_TEST(an_upstream_can_be_on_the_command_line)
{
	ck_assert_int_eq(parse("--upstream nas:/exp --listen 127.0.0.1:2049 "
			       "--clients 10.0.0.0/8(rw) --log-level debug --check"),
			 0);
	ck_assert_int_eq(options.mode, OPTIONS_CHECK);
	ck_assert_ptr_null(options.config_path);
	ck_assert_str_eq(options.upstream, "nas:/exp");
	ck_assert_str_eq(options.listen, "127.0.0.1:2049");
	ck_assert_str_eq(options.clients, "10.0.0.0/8(rw)");
	ck_assert_str_eq(options.log_level, "debug");
	ck_assert_str_eq(options_config_name(&options), "command line");
}
END_TEST

START_TEST(help_goes_before_version_before_check)
{
	ck_assert_int_eq(parse("--check"), 0);
	ck_assert_int_eq(options.mode, OPTIONS_CHECK);
	ck_assert_int_eq(parse("--version --check"), 0);
	ck_assert_int_eq(options.mode, OPTIONS_VERSION);
	ck_assert_int_eq(parse("--help --version"), 0);
	ck_assert_int_eq(options.mode, OPTIONS_HELP);
	ck_assert_int_eq(parse("-h"), 0);
	ck_assert_int_eq(options.mode, OPTIONS_HELP);
	/* Help is given for a mixture of forms too. */
	ck_assert_int_eq(parse("--help -c x --listen y"), 0);
	ck_assert_int_eq(options.mode, OPTIONS_HELP);
}
END_TEST

START_TEST(the_forms_do_not_mix)
{
	expect_refused(
		"-c x --upstream nas:/exp --listen 127.0.0.1:1",
		"--config and --upstream exclude each other: a file says all, or "
		"the command line does");
	expect_refused("-c x --listen 127.0.0.1:1",
		       "--config and --listen exclude each other: a file says all, or "
		       "the command line does");
	expect_refused("--clients 10.0.0.1 -c x",
		       "--config and --clients exclude each other: a file says all, or "
		       "the command line does");
	expect_refused(
		"-c x --log-level info",
		"--config and --log-level exclude each other: a file says all, or "
		"the command line does");
	expect_refused("--listen 127.0.0.1:1", "--listen goes with --upstream only");
	expect_refused("--clients 10.0.0.1", "--clients goes with --upstream only");
	expect_refused("--log-level info", "--log-level goes with --upstream only");
	expect_refused("--upstream nas:/exp",
		       "--upstream needs --listen, as in --listen 127.0.0.1:2049");
}
END_TEST

START_TEST(mistakes_are_named)
{
	expect_refused("-c x -c y", "--config given twice");
	expect_refused("--listen 127.0.0.1:1 --listen 127.0.0.1:2",
		       "--listen given twice");
	expect_refused("--nonsense",
		       "--nonsense: unknown, ambiguous, or takes no value");
	expect_refused("--check=yes",
		       "--check=yes: unknown, ambiguous, or takes no value");
	expect_refused("-x", "unknown option -x");
	expect_refused("-c", "-c needs a value");
	expect_refused("--upstream", "--upstream needs a value");
	expect_refused("nas:/exp", "unexpected argument \"nas:/exp\"");
	expect_refused("-- --check", "unexpected argument \"--check\"");
}
END_TEST

static struct config config;
static struct config_fault_list faults;

static int load(const char *upstream, const char *listen, const char *clients,
		const char *log_level)
{
	struct options given = {
		.upstream = upstream,
		.listen = listen,
		.clients = clients,
		.log_level = log_level,
	};

	return options_load_config(&given, &config, &faults);
}

static const struct {
	const char *text;
	const char *server;
	const char *path;
	uint16_t port;
	uint16_t mount_port;
} upstreams[] = {
	{ "nas:/exp", "nas", "/exp", 0, 0 },
	{ "nas:/", "nas", "/", 0, 0 },
	{ "nas.example.org:/exp/", "nas.example.org", "/exp", 0, 0 },
	{ "10.0.0.1:/exp,port=20490", "10.0.0.1", "/exp", 20490, 0 },
	{ "10.0.0.1:/exp,port=1,mount_port=65535", "10.0.0.1", "/exp", 1, 65535 },
	{ "10.0.0.1:/exp,mount_port=2,port=3", "10.0.0.1", "/exp", 3, 2 },
	{ "[::1]:/exp", "::1", "/exp", 0, 0 },
	{ "[2001:db8::1]:/exp:/more,port=4", "2001:db8::1", "/exp:/more", 4, 0 },
	{ "nas:/with blank", "nas", "/with blank", 0, 0 },
};

START_TEST(upstream_is_taken_apart)
{
	struct config_upstream *upstream;

	ck_assert_int_eq(load(upstreams[_i].text, "[::1]:2049", NULL, NULL), 0);
	ck_assert_uint_eq(config.upstream_count, 1);
	upstream = TAILQ_FIRST(&config.upstreams);
	ck_assert_str_eq(upstream->name, "default");
	ck_assert_str_eq(upstream->server, upstreams[_i].server);
	ck_assert_uint_eq(upstream->export_count, 1);
	ck_assert_str_eq(upstream->exports[0], upstreams[_i].path);
	ck_assert_uint_eq(upstream->port, upstreams[_i].port);
	ck_assert_uint_eq(upstream->mount_port, upstreams[_i].mount_port);
	ck_assert_uint_eq(upstream->listen_count, 1);
	ck_assert_str_eq(upstream->listen[0].text, "[::1]:2049");
	ck_assert_uint_eq(upstream->connections, CONFIG_CONNECTIONS_DEFAULT);
	ck_assert_uint_gt(upstream->dirty_background_bytes, 0);
	ck_assert_uint_gt(upstream->dirty_bytes, upstream->dirty_background_bytes);
	ck_assert_uint_gt(upstream->retained_bytes, upstream->dirty_bytes);
	ck_assert_uint_eq(upstream->plug_max_us, 2000);
	ck_assert(!upstream->register_rpcbind);
	ck_assert_int_eq(config.log_level, LOG_LEVEL_INFO);
	config_free(&config);
}
END_TEST

START_TEST(the_other_options_are_taken)
{
	struct config_upstream *upstream;

	ck_assert_int_eq(load("nas:/exp", "0.0.0.0:2049 [::]:2049",
			      "10.0.0.0/8(ro,insecure)", "trace"),
			 0);
	ck_assert_int_eq(config.log_level, LOG_LEVEL_TRACE);
	upstream = TAILQ_FIRST(&config.upstreams);
	ck_assert_uint_eq(upstream->listen_count, 2);
	ck_assert_uint_eq(upstream->clients.count, 1);
	ck_assert(!upstream->clients.rule[0].read_write);
	ck_assert(!upstream->clients.rule[0].secure);
	config_free(&config);
}
END_TEST

#define NOT_UPSTREAM "not SERVER:/EXPORT, as in nas:/export or [2001:db8::1]:/export"

static const struct {
	const char *upstream;
	const char *listen;
	const char *clients;
	const char *log_level;
	const char *fault;
} bad[] = {
	{ "nas", NULL, NULL, NULL, "--upstream nas: " NOT_UPSTREAM },
	{ "nas:exp", NULL, NULL, NULL, "--upstream nas:exp: " NOT_UPSTREAM },
	{ "/exp", NULL, NULL, NULL, "--upstream /exp: " NOT_UPSTREAM },
	{ "::1:/exp", NULL, NULL, NULL, "--upstream ::1:/exp: " NOT_UPSTREAM },
	{ ":/exp", NULL, NULL, NULL,
	  "--upstream : not a host name or a numeric address" },
	{ "[nas]:/exp", NULL, NULL, NULL,
	  "--upstream [nas]: not a host name or a numeric address" },
	{ "nas:/a/../b", NULL, NULL, NULL,
	  "--upstream /a/../b: a path with . or .. in it" },
	{ "nas:/exp,port=0", NULL, NULL, NULL,
	  "--upstream 0: not a number from 1 to 65535" },
	{ "nas:/exp,port=1,port=2", NULL, NULL, NULL,
	  "--upstream nas:/exp,port=1,port=2: a port is given twice" },
	{ "nas:/exp,ro", NULL, NULL, NULL,
	  "--upstream nas:/exp,ro: after the path only ,port=N and ,mount_port=N may "
	  "follow" },
	{ "nas:/exp,", NULL, NULL, NULL,
	  "--upstream nas:/exp,: after the path only ,port=N and ,mount_port=N may "
	  "follow" },
	{ NULL, "2049", NULL, NULL,
	  "--listen 2049: not ADDR:PORT with a numeric address, as in 127.0.0.1:2049 or "
	  "[::1]:2049" },
	{ NULL, "", NULL, NULL, "--listen : empty; at least one is needed" },
	{ NULL, "0.0.0.0:2049", NULL, NULL,
	  "--listen 0.0.0.0:2049: other hosts can reach this address, so --clients must "
	  "say who may use it, as in 10.0.0.0/24(rw)" },
	{ NULL, NULL, NULL, "loud",
	  "--log-level loud: not one of error, warn, info, debug or trace" },
};

START_TEST(bad_values_are_named)
{
	const char *upstream = bad[_i].upstream == NULL ? "nas:/exp" : bad[_i].upstream;
	const char *listen = bad[_i].listen == NULL ? "127.0.0.1:1" : bad[_i].listen;

	ck_assert_int_eq(load(upstream, listen, bad[_i].clients, bad[_i].log_level),
			 -EINVAL);
	ck_assert_uint_eq(faults.count, 1);
	ck_assert_str_eq(faults.fault[0].text, bad[_i].fault);
	config_fault_list_fini(&faults);
}
END_TEST

START_TEST(bad_clients_are_named)
{
	ck_assert_int_eq(load("nas:/exp", "127.0.0.1:1", "10.0.0.0/99", NULL), -EINVAL);
	ck_assert_uint_eq(faults.count, 1);
	ck_assert_ptr_eq(strstr(faults.fault[0].text, "--clients 10.0.0.0/99: "),
			 faults.fault[0].text);
	config_fault_list_fini(&faults);
}
END_TEST

START_TEST(all_faults_are_found)
{
	ck_assert_int_eq(load("nas:/exp,port=x,mount_port=y", "z", NULL, "w"), -EINVAL);
	ck_assert_uint_eq(faults.count, 4);
	config_fault_list_fini(&faults);
}
END_TEST

START_TEST(faults_of_the_command_line_begin_with_the_program)
{
	struct options given = { .upstream = "nas", .listen = "127.0.0.1:1" };
	struct options file = { .config_path = "/nonexistent/f" };
	char *text = NULL;
	size_t text_bytes;
	FILE *stream = open_memstream(&text, &text_bytes);

	ck_assert_int_eq(options_load_config(&given, &config, &faults), -EINVAL);
	options_print_faults(&given, &faults, stream);
	config_fault_list_fini(&faults);
	ck_assert_int_eq(options_load_config(&file, &config, &faults), -EINVAL);
	options_print_faults(&file, &faults, stream);
	config_fault_list_fini(&faults);
	fclose(stream);
	ck_assert_str_eq(text, "nfsgatherd: --upstream nas: " NOT_UPSTREAM "\n"
			       "/nonexistent/f: No such file or directory\n");
	free(text);
}
END_TEST

START_TEST(usage_names_every_option)
{
	static const char *const names[] = { "-c, --config", "--upstream",  "--listen",
					     "--clients",    "--log-level", "--check",
					     "--version",    "--help" };
	char *text = NULL;
	size_t text_bytes;
	FILE *stream = open_memstream(&text, &text_bytes);

	options_print_usage(stream);
	fclose(stream);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ck_assert_msg(strstr(text, names[i]) != NULL, "no %s", names[i]);
	free(text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("options");
	TCase *forms = unit_case(suite, "forms");
	TCase *values = unit_case(suite, "values");

	tcase_add_test(forms, no_arguments_mean_the_default_file);
	tcase_add_test(forms, a_file_can_be_named_in_each_way);
	tcase_add_test(forms, an_upstream_can_be_on_the_command_line);
	tcase_add_test(forms, help_goes_before_version_before_check);
	tcase_add_test(forms, the_forms_do_not_mix);
	tcase_add_test(forms, mistakes_are_named);
	tcase_add_test(forms, usage_names_every_option);

	tcase_add_loop_test(values, upstream_is_taken_apart, 0,
			    (int)(sizeof(upstreams) / sizeof(upstreams[0])));
	tcase_add_test(values, the_other_options_are_taken);
	tcase_add_loop_test(values, bad_values_are_named, 0,
			    (int)(sizeof(bad) / sizeof(bad[0])));
	tcase_add_test(values, bad_clients_are_named);
	tcase_add_test(values, all_faults_are_found);
	tcase_add_test(values, faults_of_the_command_line_begin_with_the_program);
	return unit_run(suite);
}
