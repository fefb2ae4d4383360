/*
 * The service manager without libsystemd: it is told our state by the same datagrams, but
 * cannot hand sockets over.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/service_manager.h"
#include "nfsgather/log.h"

int service_manager_take_sockets(struct service_manager_sockets *sockets)
{
	const char *pid = getenv("LISTEN_PID");

	*sockets = (struct service_manager_sockets){ 0 };
	if (pid != NULL && strtol(pid, NULL, 10) == (long)getpid()) {
		log_error("sockets from the service manager: this nfsgatherd was built "
			  "without libsystemd and cannot take them");
		return -ENOTSUP;
	}
	return 0;
}

static int service_manager_send(const char *text)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	size_t length;
	ssize_t sent;
	int fd;

	if (path == NULL)
		return 0;
	length = strlen(path);
	if ((path[0] != '/' && path[0] != '@') || length >= sizeof(addr.sun_path))
		return -EINVAL;
	memcpy(addr.sun_path, path, length);
	/* An address in the abstract name space starts with a byte of value 0. */
	if (path[0] == '@')
		addr.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	sent = sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&addr,
		      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
	if (sent < 0) {
		int error = -errno;

		close(fd);
		return error;
	}
	close(fd);
	return 0;
}

void service_manager_notify_ready(const char *status)
{
	char text[512];
	int error;

	snprintf(text, sizeof(text), "READY=1\nSTATUS=%s", status);
	error = service_manager_send(text);
	if (error != 0)
		log_warn("the service manager cannot be told that we are ready: %s",
			 strerror(-error));
}

void service_manager_notify_stopping(void)
{
	(void)service_manager_send("STOPPING=1\nSTATUS=stopping");
}
