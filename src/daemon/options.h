/*
 * The command line.
 */
#ifndef DAEMON_OPTIONS_H
#define DAEMON_OPTIONS_H

#include <stddef.h>
#include <stdio.h>

#include "daemon/config_fault.h"
#include "nfsgather/config.h"
#include "nfsgather/invariant.h"

/* Exit codes; documented in nfsgatherd(8). */
enum {
	EXIT_CODE_OK = 0,
	EXIT_CODE_RUNTIME = 1,
	EXIT_CODE_USAGE = 2, /* also: the configuration is no good */
};

enum options_mode {
	OPTIONS_RUN,
	OPTIONS_CHECK,
	OPTIONS_VERSION,
	OPTIONS_HELP,
};

/* The texts point into argv. */
struct options {
	enum options_mode mode;
	const char *config_path; /* NULL: the upstream is on the command line */
	const char *upstream;	 /* SERVER:/EXPORT[,port=N][,mount_port=N] */
	const char *listen;
	const char *clients;   /* NULL: not given */
	const char *log_level; /* NULL: not given */
};

/* 0, or -EINVAL and error[] says what is wrong, without newline. */
MUST_CHECK int options_parse(int argc, char **argv, struct options *options,
			     char *error, size_t error_bytes);
/* 0: free *config with config_free(). -EINVAL: *faults says all that is wrong. */
MUST_CHECK int options_load_config(const struct options *options, struct config *config,
				   struct config_fault_list *faults);
/* The configuration's name in messages: the file's path, or "command line". */
const char *options_config_name(const struct options *options);
/* Prints the faults, each with the place it is at. */
void options_print_faults(const struct options *options,
			  const struct config_fault_list *faults, FILE *stream);
void options_print_usage(FILE *stream);

#endif
