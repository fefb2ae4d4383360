/*
 * The part of talking to the service manager that needs no library.
 */
#include "daemon/service_manager.h"

#include <stdlib.h>
#include <unistd.h>

void service_manager_sockets_fini(struct service_manager_sockets *sockets)
{
	for (size_t i = 0; i < sockets->count; i++) {
		if (sockets->socket[i].fd >= 0)
			close(sockets->socket[i].fd);
		free(sockets->socket[i].name);
	}
	free(sockets->socket);
	*sockets = (struct service_manager_sockets){ 0 };
}
