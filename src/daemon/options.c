/*
 * Reads the command line, and makes a configuration of it when there is no file.
 *
 * The hard case: the two forms (a file, or one upstream on the command line) do not mix;
 * a mixture is refused, since whichever won, somebody would expect the other. A path with
 * a comma in it cannot be given in --upstream, only in a file.
 */
#include "daemon/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/config_draft.h"
#include "daemon/config_file.h"

static const char options_default_path[] = SYSCONFDIR "/nfsgather.conf";
/* The name of the upstream that has no section to name it. */
static const char options_section[] = "upstream default";

void options_print_usage(FILE *stream)
{
	fprintf(stream,
		"Usage: nfsgatherd [-c FILE] [--check]\n"
		"       nfsgatherd --upstream SERVER:/EXPORT[,port=N][,mount_port=N]\n"
		"                  --listen ADDR:PORT [--clients RULES]\n"
		"                  [--log-level LEVEL] [--check]\n"
		"An NFS proxy that gathers WRITEs and COMMITs. Runs in the foreground.\n"
		"\n"
		"  -c, --config FILE   the configuration (default: %s)\n"
		"      --upstream ...  the NFS server to relay to and the path to export;\n"
		"                      IPv6 as [::1]:/export\n"
		"      --listen ...    the address to serve NFS on, as 127.0.0.1:2049\n"
		"      --clients ...   who may connect, as \"10.0.0.0/24(rw)\"\n"
		"                      (default: this host, from privileged ports)\n"
		"      --log-level ... error, warn, info, debug or trace (default: info)\n"
		"      --check         check the configuration and exit\n"
		"      --version       print the version and exit\n"
		"  -h, --help          print this and exit\n"
		"\n"
		"Exit codes: 0 stopped when asked to, or the check found nothing;\n"
		"1 trouble while starting or running; 2 wrong usage or configuration.\n"
		"SIGUSR2 prints the counters as one line of JSON on standard output.\n",
		options_default_path);
}

enum {
	OPTION_UPSTREAM = 256,
	OPTION_LISTEN,
	OPTION_CLIENTS,
	OPTION_LOG_LEVEL,
	OPTION_CHECK,
	OPTION_VERSION,
};

static const struct option options_table[] = {
	{ "config", required_argument, NULL, 'c' },
	{ "upstream", required_argument, NULL, OPTION_UPSTREAM },
	{ "listen", required_argument, NULL, OPTION_LISTEN },
	{ "clients", required_argument, NULL, OPTION_CLIENTS },
	{ "log-level", required_argument, NULL, OPTION_LOG_LEVEL },
	{ "check", no_argument, NULL, OPTION_CHECK },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static const char **options_text_field(struct options *options, int option)
{
	switch (option) {
	case 'c':
		return &options->config_path;
	case OPTION_UPSTREAM:
		return &options->upstream;
	case OPTION_LISTEN:
		return &options->listen;
	case OPTION_CLIENTS:
		return &options->clients;
	case OPTION_LOG_LEVEL:
		return &options->log_level;
	default:
		return NULL;
	}
}

static const char *options_name_of(int option)
{
	for (const struct option *row = options_table; row->name != NULL; row++) {
		if (row->val == option)
			return row->name;
	}
	UNREACHABLE();
}

static int options_refuse(char *error, size_t error_bytes, const char *format, ...)
	PRINTF_LIKE(3, 4);

static int options_refuse(char *error, size_t error_bytes, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error, error_bytes, format, args);
	va_end(args);
	return -EINVAL;
}

static int options_take(struct options *options, int option, char *error,
			size_t error_bytes)
{
	const char **text = options_text_field(options, option);

	if (text != NULL) {
		if (*text != NULL)
			return options_refuse(error, error_bytes, "--%s given twice",
					      options_name_of(option));
		*text = optarg;
		return 0;
	}
	/* Whoever asks for help gets it, whatever else was asked for. */
	if (option == 'h')
		options->mode = OPTIONS_HELP;
	else if (option == OPTION_VERSION && options->mode != OPTIONS_HELP)
		options->mode = OPTIONS_VERSION;
	else if (option == OPTION_CHECK && options->mode == OPTIONS_RUN)
		options->mode = OPTIONS_CHECK;
	return 0;
}

/* Is it a file, or one upstream, and not something in between? */
static int options_check_form(struct options *options, char *error, size_t error_bytes)
{
	static const int of_upstream[] = { OPTION_UPSTREAM, OPTION_LISTEN,
					   OPTION_CLIENTS, OPTION_LOG_LEVEL };

	for (size_t i = 0; i < sizeof(of_upstream) / sizeof(of_upstream[0]); i++) {
		const char *name = options_name_of(of_upstream[i]);

		if (*options_text_field(options, of_upstream[i]) == NULL)
			continue;
		if (options->config_path != NULL)
			return options_refuse(
				error, error_bytes,
				"--config and --%s exclude each other: "
				"a file says all, or the command line does",
				name);
		if (options->upstream == NULL)
			return options_refuse(error, error_bytes,
					      "--%s goes with --upstream only", name);
	}
	if (options->upstream != NULL && options->listen == NULL)
		return options_refuse(error, error_bytes,
				      "--upstream needs --listen, as in "
				      "--listen 127.0.0.1:2049");
	if (options->upstream == NULL && options->config_path == NULL)
		options->config_path = options_default_path;
	return 0;
}

int options_parse(int argc, char **argv, struct options *options, char *error,
		  size_t error_bytes)
{
	int option;

	*options = (struct options){ .mode = OPTIONS_RUN };
	/* Zero makes GNU getopt forget an earlier run; the colon keeps it quiet. */
	optind = 0;
	while ((option = getopt_long(argc, argv, ":c:h", options_table, NULL)) != -1) {
		if (option == ':')
			return options_refuse(error, error_bytes, "%s needs a value",
					      argv[optind - 1]);
		if (option == '?' && optopt != 0 && optopt < 256)
			return options_refuse(error, error_bytes, "unknown option -%c",
					      optopt);
		if (option == '?')
			return options_refuse(
				error, error_bytes,
				"%s: unknown, ambiguous, or takes no value",
				argv[optind - 1]);
		if (options_take(options, option, error, error_bytes) != 0)
			return -EINVAL;
	}
	if (optind < argc)
		return options_refuse(error, error_bytes, "unexpected argument \"%s\"",
				      argv[optind]);
	if (options->mode == OPTIONS_HELP || options->mode == OPTIONS_VERSION)
		return 0;
	return options_check_form(options, error, error_bytes);
}

static void options_set(struct config_draft *draft, struct config_section *section,
			enum config_key key, const char *value)
{
	config_draft_set(draft, section, config_key_name(key), value, 0);
}

static void options_fault_upstream(struct config_draft *draft,
				   const struct options *options, const char *reason)
{
	config_draft_fault(draft, NULL, CONFIG_KEY_SERVER, options->upstream, 0, "%s",
			   reason);
}

/* "port=N" or "mount_port=N" */
static void options_set_suffix(struct config_draft *draft,
			       struct config_section *section,
			       const struct options *options, const char *suffix)
{
	static const enum config_key allowed[] = { CONFIG_KEY_PORT,
						   CONFIG_KEY_MOUNT_PORT };

	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
		const char *name = config_key_name(allowed[i]);
		size_t length = strlen(name);

		if (strncmp(suffix, name, length) != 0 || suffix[length] != '=')
			continue;
		if (section->given[allowed[i]])
			options_fault_upstream(draft, options, "a port is given twice");
		else
			options_set(draft, section, allowed[i], suffix + length + 1);
		return;
	}
	options_fault_upstream(
		draft, options,
		"after the path only ,port=N and ,mount_port=N may follow");
}

static void options_set_upstream(struct config_draft *draft,
				 struct config_section *section,
				 const struct options *options)
{
	char *copy = strdup(options->upstream);
	char *path;
	char *next;

	if (copy == NULL) {
		draft->faults->incomplete = true;
		return;
	}
	next = copy;
	path = strstr(copy, ":/");
	/* An IPv6 address has colons, so without brackets its end would be a guess. */
	if (path != NULL && copy[0] != '[' && memchr(copy, ':', (size_t)(path - copy)))
		path = NULL;
	if (path == NULL) {
		options_fault_upstream(draft, options,
				       "not SERVER:/EXPORT, as in nas:/export or "
				       "[2001:db8::1]:/export");
		section->given[CONFIG_KEY_SERVER] = true;
		free(copy);
		return;
	}
	*path++ = '\0';
	options_set(draft, section, CONFIG_KEY_SERVER, copy);
	next = path;
	options_set(draft, section, CONFIG_KEY_EXPORTS, strsep(&next, ","));
	while (next != NULL)
		options_set_suffix(draft, section, options, strsep(&next, ","));
	free(copy);
}

int options_load_config(const struct options *options, struct config *config,
			struct config_fault_list *faults)
{
	struct config_draft draft;
	struct config_section *section;
	struct config_section *common;

	if (options->config_path != NULL)
		return config_file_load(options->config_path, config, faults);

	config_draft_init(&draft, config, NULL, faults);
	common = config_draft_section(&draft, "nfsgather", 0);
	section = config_draft_section(&draft, options_section, 0);
	if (common != NULL && options->log_level != NULL)
		options_set(&draft, common, CONFIG_KEY_LOG_LEVEL, options->log_level);
	if (section != NULL) {
		options_set_upstream(&draft, section, options);
		options_set(&draft, section, CONFIG_KEY_LISTEN, options->listen);
		if (options->clients != NULL)
			options_set(&draft, section, CONFIG_KEY_CLIENTS,
				    options->clients);
	}
	return config_draft_finish(&draft);
}

const char *options_config_name(const struct options *options)
{
	return options->config_path != NULL ? options->config_path : "command line";
}

void options_print_faults(const struct options *options,
			  const struct config_fault_list *faults, FILE *stream)
{
	/* A fault in a file starts with the file's name: so editors can jump to it. */
	config_fault_print(faults,
			   options->config_path != NULL ? "" : "nfsgatherd: ", stream);
}
