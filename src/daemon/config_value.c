/*
 * Parses single configuration values.
 *
 * The hard case: the C library's parsers take more than we want to promise (signs, leading
 * blanks, octal, "127.1", silent wrap-around), so digits are read here, one by one, with a
 * check before each step. No name is looked up: a configuration is judged without a network.
 */
#include "daemon/config_value.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nfsgather/nfs3.h"

/* Reads leading digits; *rest is what follows them. */
static int config_value_digits(const char *text, uint64_t *number, const char **rest)
{
	uint64_t sum = 0;
	const char *at = text;

	for (; *at >= '0' && *at <= '9'; at++) {
		uint64_t digit = (uint64_t)(*at - '0');

		if (sum > (UINT64_MAX - digit) / 10)
			return -EINVAL;
		sum = sum * 10 + digit;
	}
	if (at == text)
		return -EINVAL;
	*number = sum;
	*rest = at;
	return 0;
}

int config_value_number(const char *text, uint64_t min, uint64_t max, uint64_t *number)
{
	uint64_t value;
	const char *rest;

	if (config_value_digits(text, &value, &rest) != 0 || *rest != '\0')
		return -EINVAL;
	if (value < min || value > max)
		return -EINVAL;
	*number = value;
	return 0;
}

struct config_value_unit {
	const char *text;
	uint64_t factor;
};

static int config_value_scaled(const char *text, const struct config_value_unit *unit,
			       size_t unit_count, uint64_t max, uint64_t *result)
{
	uint64_t number;
	const char *rest;

	if (config_value_digits(text, &number, &rest) != 0)
		return -EINVAL;
	for (size_t i = 0; i < unit_count; i++) {
		if (strcmp(rest, unit[i].text) != 0)
			continue;
		if (number > max / unit[i].factor)
			return -EINVAL;
		*result = number * unit[i].factor;
		return 0;
	}
	return -EINVAL;
}

static const struct config_value_unit config_value_size_unit[] = {
	{ "", 1 },
	{ "K", (uint64_t)1 << 10 },
	{ "M", (uint64_t)1 << 20 },
	{ "G", (uint64_t)1 << 30 },
	{ "T", (uint64_t)1 << 40 },
};
enum {
	CONFIG_VALUE_SIZE_UNITS =
		sizeof(config_value_size_unit) / sizeof(config_value_size_unit[0]),
};

int config_value_size(const char *text, uint64_t *bytes)
{
	return config_value_scaled(text, config_value_size_unit,
				   CONFIG_VALUE_SIZE_UNITS, UINT64_MAX, bytes);
}

void config_value_size_text(uint64_t bytes, char *text, size_t text_bytes)
{
	for (size_t i = CONFIG_VALUE_SIZE_UNITS - 1; i > 0; i--) {
		const struct config_value_unit *unit = &config_value_size_unit[i];

		if (bytes > 0 && bytes % unit->factor == 0) {
			snprintf(text, text_bytes, "%ju%s",
				 (uintmax_t)(bytes / unit->factor), unit->text);
			return;
		}
	}
	snprintf(text, text_bytes, "%ju bytes", (uintmax_t)bytes);
}

int config_value_duration(const char *text, mono_us *duration)
{
	static const struct config_value_unit unit[] = {
		{ "us", 1 },
		{ "ms", UINT64_C(1000) },
		{ "s", UINT64_C(1000000) },
		{ "min", UINT64_C(60000000) },
	};
	uint64_t us;

	if (strcmp(text, "0") == 0) {
		*duration = 0;
		return 0;
	}
	if (config_value_scaled(text, unit, sizeof(unit) / sizeof(unit[0]), INT64_MAX,
				&us) != 0)
		return -EINVAL;
	*duration = (mono_us)us;
	return 0;
}

int config_value_bool(const char *text, bool *value)
{
	if (strcmp(text, "yes") == 0)
		*value = true;
	else if (strcmp(text, "no") == 0)
		*value = false;
	else
		return -EINVAL;
	return 0;
}

static bool config_value_read_ipv4(const char *text, struct sockaddr_storage *addr)
{
	struct sockaddr_in *in = (struct sockaddr_in *)addr;

	*addr = (struct sockaddr_storage){ 0 };
	in->sin_family = AF_INET;
	return inet_pton(AF_INET, text, &in->sin_addr) == 1;
}

/* With "%scope" when the address is link-local, which means nothing without. */
static bool config_value_read_ipv6(const char *text, struct sockaddr_storage *addr)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)addr;
	char host[INET6_ADDRSTRLEN];
	size_t host_len = strcspn(text, "%");
	const char *scope = text[host_len] == '%' ? text + host_len + 1 : NULL;

	*addr = (struct sockaddr_storage){ 0 };
	in6->sin6_family = AF_INET6;
	if (host_len >= sizeof(host))
		return false;
	memcpy(host, text, host_len);
	host[host_len] = '\0';
	if (inet_pton(AF_INET6, host, &in6->sin6_addr) != 1)
		return false;
	if (IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr) != (scope != NULL))
		return false;
	if (scope != NULL)
		in6->sin6_scope_id = if_nametoindex(scope);
	return scope == NULL || in6->sin6_scope_id != 0;
}

bool config_value_is_numeric_address(const char *text, struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)addr;
	struct sockaddr_storage mapped = { 0 };

	if (config_value_read_ipv4(text, addr))
		return true;
	if (!config_value_read_ipv6(text, addr))
		return false;
	if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
		struct sockaddr_in *in = (struct sockaddr_in *)&mapped;

		in->sin_family = AF_INET;
		memcpy(&in->sin_addr, &in6->sin6_addr.s6_addr[12], 4);
		*addr = mapped;
	}
	return true;
}

bool config_value_is_loopback(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)addr;

		return ntohl(in->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	}
	return addr->ss_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)addr)->sin6_addr);
}

bool config_value_is_any_address(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET)
		return ((const struct sockaddr_in *)addr)->sin_addr.s_addr ==
		       htonl(INADDR_ANY);
	return addr->ss_family == AF_INET6 &&
	       IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)addr)->sin6_addr);
}

bool config_value_is_same_address(const struct sockaddr_storage *a,
				  const struct sockaddr_storage *b)
{
	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
	return ((const struct sockaddr_in6 *)a)->sin6_scope_id ==
		       ((const struct sockaddr_in6 *)b)->sin6_scope_id &&
	       IN6_ARE_ADDR_EQUAL(&((const struct sockaddr_in6 *)a)->sin6_addr,
				  &((const struct sockaddr_in6 *)b)->sin6_addr);
}

uint16_t config_value_port_of(const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET)
		return ntohs(((const struct sockaddr_in *)addr)->sin_port);
	return ntohs(((const struct sockaddr_in6 *)addr)->sin6_port);
}

void config_value_listen_text(const struct sockaddr_storage *addr, char *text,
			      size_t text_bytes)
{
	char host[INET6_ADDRSTRLEN] = "?";
	char scope[IF_NAMESIZE + 1] = "";
	unsigned int port = config_value_port_of(addr);

	if (addr->ss_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)addr;

		inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
		snprintf(text, text_bytes, "%s:%u", host, port);
	} else {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)addr;

		inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host));
		if (in6->sin6_scope_id != 0 &&
		    if_indextoname(in6->sin6_scope_id, scope + 1) != NULL)
			scope[0] = '%';
		snprintf(text, text_bytes, "[%s%s]:%u", host, scope, port);
	}
}

static bool config_value_split_listen(const char *text, char *host, size_t host_bytes,
				      const char **port)
{
	const char *start = text;
	const char *end;

	if (*text == '[') {
		start = text + 1;
		end = strchr(start, ']');
		if (end == NULL || end[1] != ':')
			return false;
		*port = end + 2;
	} else {
		end = strchr(start, ':');
		if (end == NULL || strchr(end + 1, ':') != NULL)
			return false;
		*port = end + 1;
	}
	if ((size_t)(end - start) >= host_bytes)
		return false;
	memcpy(host, start, (size_t)(end - start));
	host[end - start] = '\0';
	return true;
}

int config_value_listen(const char *text, struct config_listen *listen,
			const char **reason)
{
	char host[INET6_ADDRSTRLEN + 1 + IF_NAMESIZE];
	struct sockaddr_storage addr;
	const char *port_text;
	uint64_t port;
	bool ipv6 = *text == '[';

	*reason = "not ADDR:PORT with a numeric address, as in 127.0.0.1:2049 or "
		  "[::1]:2049";
	if (!config_value_split_listen(text, host, sizeof(host), &port_text))
		return -EINVAL;
	if (ipv6 ? !config_value_read_ipv6(host, &addr)
		 : !config_value_read_ipv4(host, &addr))
		return -EINVAL;
	if (config_value_number(port_text, 1, UINT16_MAX, &port) != 0) {
		*reason = "the port is not a number from 1 to 65535";
		return -EINVAL;
	}
	if (ipv6) {
		struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&addr;

		if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
			*reason = "an IPv4 address inside IPv6; write it as IPv4";
			return -EINVAL;
		}
		in6->sin6_port = htons((uint16_t)port);
	} else {
		((struct sockaddr_in *)&addr)->sin_port = htons((uint16_t)port);
	}
	listen->addr = addr;
	config_value_listen_text(&addr, listen->text, sizeof(listen->text));
	return 0;
}

static bool config_value_is_host_name(const char *text)
{
	size_t label = 0;
	bool letter = false;

	for (const char *at = text; *at != '\0'; at++) {
		bool alpha = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z');
		bool digit = *at >= '0' && *at <= '9';

		if (*at == '.' && label > 0) {
			label = 0;
			continue;
		}
		/* Underscores are against the RFCs and all over private networks. */
		if (!alpha && !digit && *at != '_' && !(*at == '-' && label > 0))
			return false;
		if (++label > 63)
			return false;
		letter = letter || alpha;
	}
	/* Only digits and dots: a mistyped address, not a name. */
	return letter;
}

static int config_value_check_server(const char *text, bool bracketed,
				     const char **reason)
{
	struct sockaddr_storage addr;
	bool numeric = bracketed ? config_value_read_ipv6(text, &addr)
				 : config_value_is_numeric_address(text, &addr);

	if (numeric && strchr(text, '%') != NULL) {
		*reason = "a link-local address, which the NFS library cannot use";
		return -EINVAL;
	}
	*reason = "not a host name or a numeric address";
	return numeric || (!bracketed && config_value_is_host_name(text)) ? 0 : -EINVAL;
}

int config_value_server(const char *text, char **server, const char **reason)
{
	size_t length = strlen(text);
	bool bracketed = length >= 2 && text[0] == '[' && text[length - 1] == ']';
	char *copy;

	if (bracketed) {
		text++;
		length -= 2;
	}
	if (length > CONFIG_SERVER_MAX_BYTES) {
		*reason = "longer than the 253 characters a host name can have";
		return -EINVAL;
	}
	copy = strndup(text, length);
	if (copy == NULL)
		return -ENOMEM;
	if (config_value_check_server(copy, bracketed, reason) != 0) {
		free(copy);
		return -EINVAL;
	}
	*server = copy;
	return 0;
}

int config_value_path(const char *text, char **path, const char **reason)
{
	const char *at = text;
	char *copy;
	char *end;

	*reason = "not an absolute path";
	if (*text != '/')
		return -EINVAL;
	if (strlen(text) > MOUNT_PATH_MAX_BYTES) {
		*reason = "longer than the 1024 bytes that a mount call can carry";
		return -EINVAL;
	}
	copy = malloc(strlen(text) + 1);
	if (copy == NULL)
		return -ENOMEM;
	end = copy;
	while (*at != '\0') {
		size_t length;

		at += strspn(at, "/");
		length = strcspn(at, "/");
		if ((length == 1 && at[0] == '.') ||
		    (length == 2 && at[0] == '.' && at[1] == '.')) {
			*reason = "a path with . or .. in it";
			free(copy);
			return -EINVAL;
		}
		if (length == 0)
			break;
		*end++ = '/';
		memcpy(end, at, length);
		end += length;
		at += length;
	}
	if (end == copy)
		*end++ = '/';
	*end = '\0';
	*path = copy;
	return 0;
}
