/*
 * A configuration while it is read: sections and keys come in one by one, from a file or
 * from the command line; at the end it is checked as a whole.
 */
#ifndef DAEMON_CONFIG_DRAFT_H
#define DAEMON_CONFIG_DRAFT_H

#include <stdbool.h>
#include <sys/queue.h>

#include "daemon/config_fault.h"
#include "nfsgather/config.h"
#include "nfsgather/invariant.h"

/* key, text in the file, option on the command line that carries it (NULL: none) */
#define CONFIG_KEY_TABLE(X)                                                            \
	X(CONFIG_KEY_LOG_LEVEL, "log_level", "--log-level")                            \
	X(CONFIG_KEY_MEMORY, "memory", NULL)                                           \
	X(CONFIG_KEY_SERVER, "server", "--upstream")                                   \
	X(CONFIG_KEY_PORT, "port", "--upstream")                                       \
	X(CONFIG_KEY_MOUNT_PORT, "mount_port", "--upstream")                           \
	X(CONFIG_KEY_LISTEN, "listen", "--listen")                                     \
	X(CONFIG_KEY_EXPORTS, "exports", "--upstream")                                 \
	X(CONFIG_KEY_CLIENTS, "clients", "--clients")                                  \
	X(CONFIG_KEY_CONNECTIONS, "connections", NULL)                                 \
	X(CONFIG_KEY_REGISTER, "register", NULL)                                       \
	X(CONFIG_KEY_DIRTY_BACKGROUND_BYTES, "dirty_background_bytes", NULL)           \
	X(CONFIG_KEY_DIRTY_BYTES, "dirty_bytes", NULL)                                 \
	X(CONFIG_KEY_DIRTY_EXPIRE, "dirty_expire", NULL)                               \
	X(CONFIG_KEY_PLUG_MAX, "plug_max", NULL)                                       \
	X(CONFIG_KEY_RETAINED_BYTES, "retained_bytes", NULL)                           \
	X(CONFIG_KEY_RETAINED_EXPIRE, "retained_expire", NULL)

enum config_key {
#define X(name, text, option) name,
	CONFIG_KEY_TABLE(X)
#undef X
		CONFIG_KEY_COUNT,
};

enum { CONFIG_UPSTREAM_NAME_MAX_BYTES = 32 };

/* Of each kind there is one section, but for upstreams. */
enum config_section_kind {
	CONFIG_SECTION_NFSGATHER,
	CONFIG_SECTION_WRITEBACK,
	CONFIG_SECTION_COMMIT,
	CONFIG_SECTION_UPSTREAM,
};

struct config_section {
	TAILQ_ENTRY(config_section) link;
	enum config_section_kind kind;
	char *title; /* "nfsgather", "writeback", "commit", "upstream NAME" */
	unsigned int line;
	struct config_upstream *upstream; /* of UPSTREAM, else NULL; the config's */
	bool given[CONFIG_KEY_COUNT];
	unsigned int key_line[CONFIG_KEY_COUNT]; /* valid where given */
	/* Sizes and times that other sections can say too, until all are read. */
	bool has_number[CONFIG_KEY_COUNT]; /* false: not given, or no good */
	uint64_t number[CONFIG_KEY_COUNT]; /* bytes or microseconds */
};

TAILQ_HEAD(config_section_list, config_section);

struct config_draft {
	struct config *config;
	const char *file; /* NULL: the command line */
	struct config_fault_list *faults;
	struct config_section_list sections;
};

/* Sets *config to defaults with no upstream. Everything pointed at outlives the draft. */
void config_draft_init(struct config_draft *draft, struct config *config,
		       const char *file, struct config_fault_list *faults);
/* The text between the brackets. NULL: unknown, a second of its name, or no memory (a
 * fault was added). */
struct config_section *config_draft_section(struct config_draft *draft,
					    const char *title, unsigned int line);
void config_draft_set(struct config_draft *draft, struct config_section *section,
		      const char *name, const char *value, unsigned int line);
/* Takes the draft apart. 0: *config is complete. -EINVAL: there are faults, *config is
 * empty. */
MUST_CHECK int config_draft_finish(struct config_draft *draft);

/*
 * "FILE:LINE: [section] key = value: ..." or "--option value: ...". `value` NULL: the
 * fault is about the key itself; `key` CONFIG_KEY_COUNT: about the section.
 */
void config_draft_fault(struct config_draft *draft,
			const struct config_section *section, enum config_key key,
			const char *value, unsigned int line, const char *format, ...)
	PRINTF_LIKE(6, 7);

/* config_key.c */
const char *config_key_name(enum config_key key);
/* May its value go on over several lines? */
bool config_key_is_list(const char *name);
/* Reads the value into the config; adds a fault for each part that is no good. */
void config_key_set(struct config_draft *draft, struct config_section *section,
		    enum config_key key, const char *value, unsigned int line);
bool config_key_is_of(enum config_key key, enum config_section_kind kind);

/* config_check.c: what only the whole shows; fills in defaults. */
void config_check(struct config_draft *draft);
/*
 * config_engine.c: thresholds and times of every upstream, from its own section, the
 * common ones, or by default. Only once the memory is known to be enough.
 */
void config_engine_resolve(struct config_draft *draft);

#endif
