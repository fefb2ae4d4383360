/*
 * From the command line to a configuration, and what the log says about it.
 *
 * The hard case: faults go to standard error as they are at start, when a person reads
 * them, and to the log when SIGHUP finds them in a running process. Nothing is applied
 * then: that needs a restart.
 */
#include "daemon/startup.h"

#include <stdio.h>
#include <stdlib.h>

#include "nfsgather/log.h"

int startup_configure(int argc, char **argv, struct options *options,
		      struct config *config)
{
	struct config_fault_list faults = { 0 };
	char error[256];
	bool valid;

	if (options_parse(argc, argv, options, error, sizeof(error)) != 0) {
		fprintf(stderr, "nfsgatherd: %s\nTry 'nfsgatherd --help'.\n", error);
		return EXIT_CODE_USAGE;
	}
	if (options->mode == OPTIONS_HELP) {
		options_print_usage(stdout);
		return EXIT_CODE_OK;
	}
	if (options->mode == OPTIONS_VERSION) {
		printf("nfsgatherd %s\n", PACKAGE_VERSION);
		return EXIT_CODE_OK;
	}
	valid = options_load_config(options, config, &faults) == 0;
	options_print_faults(options, &faults, stderr);
	config_fault_list_fini(&faults);
	if (!valid)
		return EXIT_CODE_USAGE;
	if (options->mode == OPTIONS_CHECK) {
		printf("%s: configuration is valid\n", options_config_name(options));
		config_free(config);
		return EXIT_CODE_OK;
	}
	return -1;
}

void startup_check_again(const struct options *options)
{
	struct config_fault_list faults = { 0 };
	const char *name = options_config_name(options);
	struct config config;

	if (options_load_config(options, &config, &faults) == 0) {
		log_info(
			"SIGHUP: %s is valid; nothing was changed, a restart applies it",
			name);
		config_free(&config);
	}
	for (size_t i = 0; i < faults.count; i++)
		log_error("SIGHUP: %s", faults.fault[i].text);
	if (config_fault_is_any(&faults))
		log_error("SIGHUP: %s is not valid; a restart would fail", name);
	config_fault_list_fini(&faults);
}

char *startup_describe(const struct config *config,
		       const struct listen_socket_list *sockets)
{
	const struct config_upstream *upstream;
	const char *separator = "";
	char *text = NULL;
	size_t text_bytes;
	FILE *out = open_memstream(&text, &text_bytes);

	if (out == NULL)
		return NULL;
	TAILQ_FOREACH(upstream, &config->upstreams, link) {
		fprintf(out, "%s%s: %s", separator, upstream->name, upstream->server);
		if (upstream->port != 0)
			fprintf(out, " port %u", upstream->port);
		fputs(" on", out);
		for (size_t i = 0; i < sockets->count; i++) {
			if (sockets->socket[i].upstream == upstream)
				fprintf(out, " %s", sockets->socket[i].text);
		}
		separator = "; ";
	}
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

void startup_warn_insecure(const struct config *config)
{
	const struct config_upstream *upstream;

	TAILQ_FOREACH(upstream, &config->upstreams, link) {
		for (size_t i = 0; i < upstream->clients.count; i++) {
			if (upstream->clients.rule[i].secure)
				continue;
			log_warn(
				"upstream %s: clients has insecure rules: there any "
				"local user of a client can act as any user, uid 0 too",
				upstream->name);
			break;
		}
	}
}
