/*
 * The configuration, parsed and checked: what nfsgatherd -c FILE or its command line said.
 */
#ifndef NFSGATHER_CONFIG_H
#define NFSGATHER_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "nfsgather/access.h"
#include "nfsgather/log.h"

enum {
	CONFIG_CONNECTIONS_DEFAULT = 4,
	CONFIG_CONNECTIONS_MAX = 16,
	CONFIG_LISTENERS_MAX = 16,
	CONFIG_EXPORTS_MAX = 64,
};
#define CONFIG_MEMORY_MIN_BYTES ((uint64_t)64 << 20)

struct config_listen {
	struct sockaddr_storage addr;
	char text[64]; /* "127.0.0.1:2049", "[::1]:2049" */
};

struct config_upstream {
	TAILQ_ENTRY(config_upstream) link;
	char *name;
	char *server;	     /* host name or numeric address */
	uint16_t port;	     /* 0: ask rpcbind */
	uint16_t mount_port; /* 0: ask rpcbind */
	struct config_listen listen[CONFIG_LISTENERS_MAX];
	size_t listen_count;		   /* at least 1 */
	char *exports[CONFIG_EXPORTS_MAX]; /* absolute paths without trailing slash */
	size_t export_count;		   /* 0: everything the upstream exports */
	struct access_rules clients;
	unsigned int connections; /* 1..CONFIG_CONNECTIONS_MAX */
	bool register_rpcbind;
	/* What [writeback] and [commit] say, or this section (as in struct engine_config). */
	uint64_t dirty_background_bytes; /* at most dirty_bytes */
	uint64_t dirty_bytes; /* with retained_bytes no more than it can always have */
	uint64_t retained_bytes;
	uint64_t plug_max_us;
	uint64_t dirty_expire_us;
	uint64_t retained_expire_us; /* more than 0 */
};

TAILQ_HEAD(config_upstream_list, config_upstream);

struct config {
	enum log_level log_level;
	uint64_t memory_bytes;
	struct config_upstream_list upstreams;
	size_t upstream_count;
};

void config_free(struct config *config);

#endif
