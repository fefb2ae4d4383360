/*
 * Options of upstream sockets.
 *
 * The hard case: a proxy that lost its place must not let queued WRITEs leave after its
 * end, so close() has to send a reset (SO_LINGER with zero) however the process ends.
 * What the server has received by then may still run.
 */
#include "upstream/upstream_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h> /* its struct tcp_info counts bytes; netinet/tcp.h's does not */
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

enum {
	KEEPALIVE_IDLE_S = 10,
	KEEPALIVE_INTERVAL_S = 5,
	KEEPALIVE_COUNT = 4,
	UNACKED_MS = 60 * 1000,
};

static int set_option(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value)) == 0 ? 0 : -errno;
}

static int set_reset_on_close(int fd)
{
	struct linger linger = { 0 };
	socklen_t len = sizeof(linger);

	if (getsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &len) == 0 &&
	    linger.l_onoff != 0 && linger.l_linger == 0)
		return 0;
	linger.l_onoff = 1;
	linger.l_linger = 0;
	if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)) != 0)
		return -errno;
	return 0;
}

static int set_close_on_exec(int fd)
{
	int flags = fcntl(fd, F_GETFD);

	if (flags < 0 || fcntl(fd, F_SETFD, flags | FD_CLOEXEC) < 0)
		return -errno;
	return 0;
}

int upstream_socket_setup(int fd)
{
	int err = set_reset_on_close(fd);

	if (err == 0)
		err = set_close_on_exec(fd);
	if (err == 0)
		err = set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	if (err == 0)
		err = set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	if (err == 0)
		err = set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
	if (err == 0)
		err = set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S);
	if (err == 0)
		err = set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_COUNT);
	if (err == 0)
		err = set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, UNACKED_MS);
	return err;
}

void upstream_socket_gather(int fd, bool gather)
{
	(void)set_option(fd, IPPROTO_TCP, TCP_CORK, gather);
}

uint64_t upstream_socket_received_bytes(int fd)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	memset(&info, 0, sizeof(info));
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0)
		return 0;
	return info.tcpi_bytes_received;
}
