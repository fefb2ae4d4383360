/*
 * Opens the listening sockets.
 *
 * The hard case: sockets handed over by the service manager. One belongs to the upstream
 * that has its address as a listen address, else to the upstream whose name it bears; one
 * that contradicts itself or fits nowhere is refused, since serving an upstream's files on
 * an address meant for another would be worse than not to start.
 */
#include "daemon/listen_socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/config_value.h"
#include "nfsgather/log.h"

/* -1 and errno on failure. */
static int listen_socket_open(const struct config_listen *listen_at)
{
	const int on = 1;
	int family = listen_at->addr.ss_family;
	socklen_t addr_bytes = family == AF_INET6 ? sizeof(struct sockaddr_in6)
						  : sizeof(struct sockaddr_in);
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int error;

	if (fd < 0)
		return -1;
	/* Connections of an earlier life, still in TIME_WAIT, must not stop a restart. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
	    (family != AF_INET6 ||
	     /* An IPv6 listener serves IPv6: [::]:N and 0.0.0.0:N can be had together. */
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) == 0) &&
	    bind(fd, (const struct sockaddr *)&listen_at->addr, addr_bytes) == 0 &&
	    listen(fd, SOMAXCONN) == 0)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

static bool listen_socket_is_at(const struct sockaddr_storage *addr,
				const struct config_listen *listen)
{
	return config_value_is_same_address(addr, &listen->addr) &&
	       config_value_port_of(addr) == config_value_port_of(&listen->addr);
}

static const struct config_upstream *
listen_socket_find_by_addr(const struct config *config,
			   const struct sockaddr_storage *addr)
{
	const struct config_upstream *upstream;

	TAILQ_FOREACH(upstream, &config->upstreams, link) {
		for (size_t i = 0; i < upstream->listen_count; i++) {
			if (listen_socket_is_at(addr, &upstream->listen[i]))
				return upstream;
		}
	}
	return NULL;
}

static const struct config_upstream *
listen_socket_find_by_name(const struct config *config, const char *name)
{
	const struct config_upstream *upstream;

	TAILQ_FOREACH(upstream, &config->upstreams, link) {
		if (strcmp(upstream->name, name) == 0)
			return upstream;
	}
	return NULL;
}

static int listen_socket_adopt(const struct config *config,
			       struct service_manager_socket *given,
			       struct listen_socket_list *list)
{
	const struct config_upstream *by_addr =
		listen_socket_find_by_addr(config, &given->addr);
	const struct config_upstream *by_name =
		listen_socket_find_by_name(config, given->name);
	struct listen_socket *socket = &list->socket[list->count];

	config_value_listen_text(&given->addr, socket->text, sizeof(socket->text));
	if (by_addr == NULL && by_name == NULL) {
		log_error("socket %s \"%s\" from the service manager: no upstream "
			  "listens there or has this name",
			  socket->text, given->name);
		return -EINVAL;
	}
	if (by_addr != NULL && by_name != NULL && by_addr != by_name) {
		log_error("socket %s \"%s\" from the service manager: the address is "
			  "one of upstream %s",
			  socket->text, given->name, by_addr->name);
		return -EINVAL;
	}
	socket->upstream = by_addr != NULL ? by_addr : by_name;
	socket->fd = given->fd;
	given->fd = -1;
	list->count++;
	log_debug("upstream %s: %s: socket taken over from the service manager",
		  socket->upstream->name, socket->text);
	return 0;
}

static bool listen_socket_is_adopted(const struct listen_socket_list *list,
				     const struct config_upstream *upstream,
				     const struct config_listen *listen)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->socket[i].upstream == upstream &&
		    strcmp(list->socket[i].text, listen->text) == 0)
			return true;
	}
	return false;
}

static int listen_socket_open_upstream(const struct config_upstream *upstream,
				       struct listen_socket_list *list)
{
	for (size_t i = 0; i < upstream->listen_count; i++) {
		const struct config_listen *listen = &upstream->listen[i];
		struct listen_socket *socket = &list->socket[list->count];
		int fd;

		if (listen_socket_is_adopted(list, upstream, listen))
			continue;
		fd = listen_socket_open(listen);
		if (fd < 0) {
			int error = errno;

			log_error("upstream %s: cannot listen on %s: %s",
				  upstream->name, listen->text, strerror(error));
			return -error;
		}
		socket->fd = fd;
		socket->upstream = upstream;
		snprintf(socket->text, sizeof(socket->text), "%s", listen->text);
		list->count++;
	}
	return 0;
}

int listen_socket_open_all(const struct config *config,
			   struct service_manager_sockets *given,
			   struct listen_socket_list *list)
{
	const struct config_upstream *upstream;
	size_t most = given->count;
	int error = 0;

	*list = (struct listen_socket_list){ 0 };
	TAILQ_FOREACH(upstream, &config->upstreams, link)
		most += upstream->listen_count;
	list->socket = calloc(most, sizeof(*list->socket));
	if (list->socket == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < given->count && error == 0; i++)
		error = listen_socket_adopt(config, &given->socket[i], list);
	TAILQ_FOREACH(upstream, &config->upstreams, link) {
		if (error == 0)
			error = listen_socket_open_upstream(upstream, list);
	}
	if (error != 0)
		listen_socket_list_fini(list);
	return error;
}

void listen_socket_list_fini(struct listen_socket_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->socket[i].fd >= 0)
			close(list->socket[i].fd);
	}
	free(list->socket);
	*list = (struct listen_socket_list){ 0 };
}
