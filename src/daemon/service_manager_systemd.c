/*
 * The service manager by libsystemd.
 *
 * The hard case: whatever the socket unit says is handed over, also what we cannot serve;
 * it is refused here, so that the rest only sees listening TCP sockets.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "daemon/service_manager.h"
#include "nfsgather/log.h"

static int service_manager_accept_socket(struct service_manager_socket *socket, int fd,
					 char *name)
{
	socklen_t addr_bytes = sizeof(socket->addr);
	int flags = fcntl(fd, F_GETFL);

	*socket = (struct service_manager_socket){ .fd = fd, .name = name };
	if (sd_is_socket(fd, AF_UNSPEC, SOCK_STREAM, 1) <= 0 ||
	    getsockname(fd, (struct sockaddr *)&socket->addr, &addr_bytes) != 0 ||
	    (socket->addr.ss_family != AF_INET && socket->addr.ss_family != AF_INET6)) {
		log_error("descriptor %d (%s) from the service manager is no listening "
			  "TCP socket",
			  fd, name);
		return -EINVAL;
	}
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
		return -errno;
	return 0;
}

int service_manager_take_sockets(struct service_manager_sockets *sockets)
{
	char **names = NULL;
	int count = sd_listen_fds_with_names(1, &names);
	int error = 0;

	*sockets = (struct service_manager_sockets){ 0 };
	if (count <= 0) {
		if (count < 0)
			log_error("sockets from the service manager: %s",
				  strerror(-count));
		return count;
	}
	sockets->socket = calloc((size_t)count, sizeof(*sockets->socket));
	if (sockets->socket == NULL)
		error = -ENOMEM;
	for (int i = 0; i < count; i++) {
		if (error == 0)
			error = service_manager_accept_socket(
				&sockets->socket[sockets->count++],
				SD_LISTEN_FDS_START + i, names[i]);
		else
			free(names[i]);
	}
	free(names);
	if (error != 0)
		service_manager_sockets_fini(sockets);
	return error;
}

void service_manager_notify_ready(const char *status)
{
	int error = sd_notifyf(0, "READY=1\nSTATUS=%s", status);

	if (error < 0)
		log_warn("the service manager cannot be told that we are ready: %s",
			 strerror(-error));
}

void service_manager_notify_stopping(void)
{
	(void)sd_notify(0, "STOPPING=1\nSTATUS=stopping");
}
