/*
 * Registration with the local rpcbind (RFC 1833) through libtirpc. Blocks: call it at
 * start and at exit only.
 */
#ifndef WIRE_RPCBIND_H
#define WIRE_RPCBIND_H

#include <stdint.h>
#include <sys/socket.h>

#include "nfsgather/invariant.h"

/*
 * Registers NFS v3, MOUNT v1 and v3 and NFSACL v3 over TCP at `addr` (IPv4: netid tcp,
 * IPv6: tcp6). 0, or a negative errno, and then what had been registered is taken back:
 *   -ECONNREFUSED  no rpcbind answers on this host
 *   -EEXIST        one of them is registered at another address
 *   -EACCES        rpcbind refused for a reason of its own (who we are, say)
 *   -EAFNOSUPPORT  /etc/netconfig does not have the netid
 */
MUST_CHECK int rpcbind_register(const struct sockaddr *addr);
/*
 * Takes back what rpcbind_register() registered. Only after it returned 0: rpcbind goes
 * by owner, not by address, so root would take away another service's mappings.
 */
void rpcbind_unregister(const struct sockaddr *addr);

#endif
