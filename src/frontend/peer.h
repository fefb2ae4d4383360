/*
 * The far end of a client's connection: address without port, port, text for the log.
 * An IPv4 address inside IPv6 (::ffff:a.b.c.d) counts as IPv4 everywhere.
 */
#ifndef FRONTEND_PEER_H
#define FRONTEND_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum { PEER_TEXT_BYTES = 64 };

/* No padding, unused bytes zero: equal addresses are equal bytes. */
struct peer_address {
	uint32_t family; /* AF_INET, AF_INET6, or 0 for anything else */
	uint8_t bytes[16];
};

void peer_address_init(struct peer_address *address, const struct sockaddr *addr);
bool peer_address_equal(const struct peer_address *a, const struct peer_address *b);
/* In host order; 0 for an address without ports. */
uint16_t peer_port(const struct sockaddr *addr);
/* "192.0.2.1:800", "[2001:db8::1]:800" */
void peer_text(char text[PEER_TEXT_BYTES], const struct sockaddr *addr);
/* "192.0.2.1", "2001:db8::1" */
void peer_address_text(char text[PEER_TEXT_BYTES], const struct peer_address *address);

#endif
