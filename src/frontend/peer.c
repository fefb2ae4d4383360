/*
 * Addresses of clients in one form, whatever family the listening socket has.
 *
 * The hard case: a dual-stack listener shows IPv4 clients as ::ffff:a.b.c.d; rules and
 * client identity must not depend on that.
 *
 * Does not resolve names and ignores IPv6 scope ids.
 */
#include "peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

void peer_address_init(struct peer_address *address, const struct sockaddr *addr)
{
	*address = (struct peer_address){ 0 };
	if (addr->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)addr;

		address->family = AF_INET;
		memcpy(address->bytes, &in->sin_addr, 4);
	} else if (addr->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)addr;

		if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
			address->family = AF_INET;
			memcpy(address->bytes, in6->sin6_addr.s6_addr + 12, 4);
		} else {
			address->family = AF_INET6;
			memcpy(address->bytes, &in6->sin6_addr, 16);
		}
	}
}

bool peer_address_equal(const struct peer_address *a, const struct peer_address *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

uint16_t peer_port(const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)addr;

		return ntohs(in->sin_port);
	}
	if (addr->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)addr;

		return ntohs(in6->sin6_port);
	}
	return 0;
}

void peer_address_text(char text[PEER_TEXT_BYTES], const struct peer_address *address)
{
	if (address->family == 0 ||
	    !inet_ntop((int)address->family, address->bytes, text, PEER_TEXT_BYTES))
		snprintf(text, PEER_TEXT_BYTES, "unknown");
}

void peer_text(char text[PEER_TEXT_BYTES], const struct sockaddr *addr)
{
	struct peer_address address;
	char host[PEER_TEXT_BYTES];

	peer_address_init(&address, addr);
	peer_address_text(host, &address);
	snprintf(text, PEER_TEXT_BYTES,
		 address.family == AF_INET6 ? "[%.45s]:%u" : "%.45s:%u", host,
		 (unsigned int)peer_port(addr));
}
