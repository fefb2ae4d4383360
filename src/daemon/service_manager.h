/*
 * The service manager: it is told when we are ready, and may hand over listening sockets.
 * Two implementations: with libsystemd, and one that can only tell.
 */
#ifndef DAEMON_SERVICE_MANAGER_H
#define DAEMON_SERVICE_MANAGER_H

#include <stddef.h>
#include <sys/socket.h>

#include "nfsgather/invariant.h"

struct service_manager_socket {
	int fd;
	char *name; /* FileDescriptorName= of the socket unit */
	struct sockaddr_storage addr;
};

struct service_manager_sockets {
	struct service_manager_socket *socket;
	size_t count;
};

/*
 * The listening TCP sockets handed over; none is the usual case. 0, or -errno after an
 * error line in the log (something else than such a socket was handed over, or no memory).
 */
MUST_CHECK int service_manager_take_sockets(struct service_manager_sockets *sockets);
/* Frees the list, closes what is still in it (fd not negative). */
void service_manager_sockets_fini(struct service_manager_sockets *sockets);

/* READY=1; `status` is shown to whoever asks for the state of the service. */
void service_manager_notify_ready(const char *status);
void service_manager_notify_stopping(void);

#endif
