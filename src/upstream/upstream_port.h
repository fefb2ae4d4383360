/*
 * Asks the upstream's rpcbind where a program listens.
 */
#ifndef UPSTREAM_UPSTREAM_PORT_H
#define UPSTREAM_UPSTREAM_PORT_H

#include <stdint.h>

struct event_base;
struct upstream_port_query;

/*
 * Starts asking at `address` (numeric); NULL when memory is short. done() runs once,
 * from the loop, never inside start, unless cancelled: `port` 0 means not found, with
 * the reason in `why`. The query is gone when done() returns. No time limit of its own.
 */
struct upstream_port_query *
upstream_port_ask(struct event_base *base, const char *address, uint16_t rpcbind_port,
		  uint32_t program, uint32_t version,
		  void (*done)(void *arg, uint16_t port, const char *why), void *arg);
void upstream_port_cancel(struct upstream_port_query *query);

/* The port in a universal address ("192.0.2.1.8.1", "::1.8.1"); 0: it is none. */
uint16_t upstream_port_of_uaddr(const char *uaddr);

#endif
