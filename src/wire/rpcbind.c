/*
 * Registration with the local rpcbind.
 *
 * The hard case is a failure: the library says only that a mapping was not made. What
 * rpcbind has registered tells the reasons apart: nothing to be read means nobody is
 * there, a mapping of somebody else that he keeps it. Nothing is unset before it is
 * set, since that would silently take another service's place; rpcbind takes a mapping
 * that is there already with our address, so what a crash left behind is no obstacle.
 *
 * Not promised: that somebody else does not unset our mappings later.
 */
#include "wire/rpcbind.h"

#include <errno.h>
#include <netconfig.h>
#include <netinet/in.h>
#include <rpc/rpc.h>
#include <rpc/rpcb_clnt.h>
#include <stdbool.h>
#include <string.h>

#include "nfsgather/nfs3.h"

static const struct {
	rpcprog_t program;
	rpcvers_t version;
} rpcbind_services[] = {
	{ PROGRAM_NFS, 3 },
	{ PROGRAM_MOUNT, 1 },
	{ PROGRAM_MOUNT, 3 },
	{ PROGRAM_NFSACL, 3 },
};

enum { RPCBIND_SERVICE_COUNT = sizeof(rpcbind_services) / sizeof(rpcbind_services[0]) };

/* To be freed with freenetconfigent(); NULL when /etc/netconfig does not know TCP. */
static struct netconfig *rpcbind_transport(const struct sockaddr *addr)
{
	return getnetconfigent(addr->sa_family == AF_INET6 ? "tcp6" : "tcp");
}

/* The library wants addresses it may write to. */
static struct netbuf rpcbind_address(struct sockaddr_storage *copy,
				     const struct sockaddr *addr)
{
	socklen_t len_bytes = addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
							  : sizeof(struct sockaddr_in);

	memcpy(copy, addr, len_bytes);
	return (struct netbuf){ .maxlen = len_bytes, .len = len_bytes, .buf = copy };
}

/* Why a mapping could not be made. */
static int rpcbind_failure(const struct netconfig *transport, rpcprog_t program,
			   rpcvers_t version)
{
	rpcblist *list = rpcb_getmaps(transport, "localhost");
	int failure = list == NULL ? -ECONNREFUSED : -EACCES;

	for (const rpcblist *at = list; at != NULL; at = at->rpcb_next) {
		const RPCB *map = &at->rpcb_map;

		if (map->r_prog == program && map->r_vers == version &&
		    strcmp(map->r_netid, transport->nc_netid) == 0)
			failure = -EEXIST;
	}
	xdr_free((xdrproc_t)xdr_rpcblist_ptr, &list);
	return failure;
}

static void rpcbind_unset_first(const struct netconfig *transport, size_t count)
{
	for (size_t i = 0; i < count; i++)
		(void)rpcb_unset(rpcbind_services[i].program,
				 rpcbind_services[i].version, transport);
}

int rpcbind_register(const struct sockaddr *addr)
{
	struct netconfig *transport = rpcbind_transport(addr);
	struct sockaddr_storage copy;
	struct netbuf address = rpcbind_address(&copy, addr);
	int err = 0;

	if (transport == NULL)
		return -EAFNOSUPPORT;
	for (size_t i = 0; i < RPCBIND_SERVICE_COUNT && err == 0; i++) {
		rpcprog_t program = rpcbind_services[i].program;
		rpcvers_t version = rpcbind_services[i].version;

		if (rpcb_set(program, version, transport, &address))
			continue;
		err = rpcbind_failure(transport, program, version);
		rpcbind_unset_first(transport, i);
	}
	freenetconfigent(transport);
	return err;
}

void rpcbind_unregister(const struct sockaddr *addr)
{
	struct netconfig *transport = rpcbind_transport(addr);

	if (transport == NULL)
		return;
	rpcbind_unset_first(transport, RPCBIND_SERVICE_COUNT);
	freenetconfigent(transport);
}
