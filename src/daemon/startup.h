/*
 * Before and around the wiring in main.c: from the command line to a configuration, and
 * what is said about it.
 */
#ifndef DAEMON_STARTUP_H
#define DAEMON_STARTUP_H

#include "daemon/listen_socket.h"
#include "daemon/options.h"
#include "nfsgather/config.h"

/*
 * -1: go on; *options and *config are set. Else the exit code: everything that was asked
 * for is done (--help, --version, --check), or what is wrong is said on standard error.
 */
int startup_configure(int argc, char **argv, struct options *options,
		      struct config *config);
/* Reads the configuration again and logs whether a restart would take it. */
void startup_check_again(const struct options *options);

/*
 * "a: nas port 2049 on 127.0.0.1:2049 [::1]:2049; b: ...", to be freed; NULL when memory
 * is short.
 */
char *startup_describe(const struct config *config,
		       const struct listen_socket_list *sockets);
/* A warning for each upstream that takes calls from unprivileged ports. */
void startup_warn_insecure(const struct config *config);

#endif
