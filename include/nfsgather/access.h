/*
 * Who may use a listener, in the terms of exports(5):
 *   127.0.0.1(rw,insecure) 10.0.0.0/24(ro,root_squash) 2001:db8::/32(rw)
 * The first rule whose network holds the address decides; no rule, no access.
 */
#ifndef NFSGATHER_ACCESS_H
#define NFSGATHER_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "nfsgather/call.h"
#include "nfsgather/invariant.h"

enum access_squash {
	ACCESS_NO_ROOT_SQUASH,
	ACCESS_ROOT_SQUASH,
	ACCESS_ALL_SQUASH,
};

enum { ACCESS_SQUASH_ID = 65534 }; /* uid and gid that squashed ids become */

struct access_rule {
	int family; /* AF_INET or AF_INET6 */
	uint8_t network[16];
	unsigned int prefix_bits;
	bool read_write;
	bool secure; /* asks for a source port below 1024 */
	enum access_squash squash;
};

struct access_rules {
	struct access_rule *rule;
	size_t count;
};

/*
 * Parses `text`. 0: *rules is set, free with access_rules_fini(). -EINVAL: error[] says
 * what was wrong with which word and what is allowed. -ENOMEM.
 * Options default to rw, secure, no_root_squash. A bare address is a network of one.
 */
MUST_CHECK int access_rules_parse(const char *text, struct access_rules *rules,
				  char *error, size_t error_bytes);
/* The default: 127.0.0.0/8 and ::1, rw, secure, no_root_squash. 0 or -ENOMEM. */
MUST_CHECK int access_rules_loopback(struct access_rules *rules);
void access_rules_fini(struct access_rules *rules);
/* NULL: no access. An IPv4 address inside IPv6 (::ffff:a.b.c.d) counts as IPv4. */
const struct access_rule *access_rules_find(const struct access_rules *rules,
					    const struct sockaddr *addr);
/* Is the source port good enough for the rule? */
bool access_rule_port_ok(const struct access_rule *rule, const struct sockaddr *addr);
/* Maps ids as the rule says and re-encodes the credential when it changed one. */
void access_rule_squash(const struct access_rule *rule, struct rpc_cred *cred);

#endif
