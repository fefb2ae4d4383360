/*
 * Single configuration values: text to number, size, duration, yes/no, address, name,
 * path. All of it is parsed or none: a value with anything left over is no value.
 */
#ifndef DAEMON_CONFIG_VALUE_H
#define DAEMON_CONFIG_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "nfsgather/clock.h"
#include "nfsgather/config.h"
#include "nfsgather/invariant.h"

enum {
	CONFIG_SERVER_MAX_BYTES = 253,
	CONFIG_SIZE_TEXT_BYTES = 32,
};

/* Decimal digits only. 0, or -EINVAL: no number, or outside of min..max. */
MUST_CHECK int config_value_number(const char *text, uint64_t min, uint64_t max,
				   uint64_t *number);
/* Bytes, or 1024-based units: 512K 64M 2G 1T. 0 or -EINVAL (also when past 2^64). */
MUST_CHECK int config_value_size(const char *text, uint64_t *bytes);
/* 250us 15ms 5s 2min; only 0 may go without a unit. 0 or -EINVAL (also when past 2^63). */
MUST_CHECK int config_value_duration(const char *text, mono_us *duration);
/* yes or no. 0 or -EINVAL. */
MUST_CHECK int config_value_bool(const char *text, bool *value);

/*
 * "127.0.0.1:2049", "[::1]:2049", "[fe80::1%eth0]:2049". 0, or -EINVAL and *reason says
 * what is allowed (a constant text).
 */
MUST_CHECK int config_value_listen(const char *text, struct config_listen *listen,
				   const char **reason);
/*
 * A host name or a numeric address, IPv6 with or without brackets. 0: *server is without
 * brackets and the caller's to free. -EINVAL: *reason as above. -ENOMEM.
 */
MUST_CHECK int config_value_server(const char *text, char **server,
				   const char **reason);
/*
 * An absolute path. 0: *path is without slashes at its end or in a row, and the
 * caller's to free ("/" stays "/"). -EINVAL: *reason as above. -ENOMEM.
 */
MUST_CHECK int config_value_path(const char *text, char **path, const char **reason);

/* True, with *addr set (port 0), for a numeric address; IPv4 in IPv6 becomes IPv4. */
bool config_value_is_numeric_address(const char *text, struct sockaddr_storage *addr);
bool config_value_is_loopback(const struct sockaddr_storage *addr);
bool config_value_is_any_address(const struct sockaddr_storage *addr);
/* The same family and address, whatever the ports. */
bool config_value_is_same_address(const struct sockaddr_storage *a,
				  const struct sockaddr_storage *b);
uint16_t config_value_port_of(const struct sockaddr_storage *addr);
/* "127.0.0.1:2049", "[::1]:2049". */
void config_value_listen_text(const struct sockaddr_storage *addr, char *text,
			      size_t text_bytes);
/* "64M", "67108865 bytes": the largest unit that leaves no rest. */
void config_value_size_text(uint64_t bytes, char *text, size_t text_bytes);

#endif
