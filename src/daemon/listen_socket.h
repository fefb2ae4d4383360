/*
 * The sockets that clients connect to: taken over from the service manager, or opened.
 */
#ifndef DAEMON_LISTEN_SOCKET_H
#define DAEMON_LISTEN_SOCKET_H

#include <stddef.h>

#include "daemon/service_manager.h"
#include "nfsgather/config.h"
#include "nfsgather/invariant.h"

struct listen_socket {
	int fd; /* -1: somebody took it */
	const struct config_upstream *upstream;
	char text[64]; /* its address */
};

struct listen_socket_list {
	struct listen_socket *socket;
	size_t count;
};

/*
 * One socket for each listen address of the configuration, and for each one handed over
 * under the name of an upstream. What is used of `given` is taken out of it (fd -1).
 * 0, or -errno after an error line in the log; then nothing is open.
 */
MUST_CHECK int listen_socket_open_all(const struct config *config,
				      struct service_manager_sockets *given,
				      struct listen_socket_list *list);
/* Closes what nobody took. */
void listen_socket_list_fini(struct listen_socket_list *list);

#endif
