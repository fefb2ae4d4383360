/*
 * What each key means: reads its value into the configuration.
 *
 * The hard case: keys that hold a list report every bad word, not only the first, so that
 * one run of --check shows all there is to mend.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/config_draft.h"
#include "daemon/config_value.h"

/* One key being set: what a fault about it has to name. */
struct config_key_use {
	struct config_draft *draft;
	struct config_section *section;
	enum config_key key;
	unsigned int line;
};

static void config_key_fault(const struct config_key_use *use, const char *value,
			     const char *reason)
{
	config_draft_fault(use->draft, use->section, use->key, value, use->line, "%s",
			   reason);
}

/* Runs `each` on the words of a list. */
static void config_key_each_word(const struct config_key_use *use, const char *value,
				 void (*each)(const struct config_key_use *use,
					      const char *word))
{
	static const char blanks[] = " \t\r\n";
	char *copy = strdup(value);
	char *next = NULL;

	if (copy == NULL) {
		use->draft->faults->incomplete = true;
		return;
	}
	if (value[strspn(value, blanks)] == '\0')
		config_key_fault(use, value, "empty; at least one is needed");
	for (char *word = strtok_r(copy, blanks, &next); word != NULL;
	     word = strtok_r(NULL, blanks, &next))
		each(use, word);
	free(copy);
}

static void config_key_set_log_level(const struct config_key_use *use,
				     const char *value)
{
	if (log_level_parse(value, &use->draft->config->log_level) != 0)
		config_draft_fault(use->draft, use->section, use->key, value, use->line,
				   "not one of %s", log_level_names());
}

static void config_key_set_memory(const struct config_key_use *use, const char *value)
{
	/* What the number must be at least depends on the upstreams: config_check(). */
	if (config_value_size(value, &use->draft->config->memory_bytes) == 0)
		return;
	config_key_fault(use, value,
			 "not a size in bytes or with unit K, M, G or T, as in 512M");
	/* So that it is not called too little as well. */
	use->draft->config->memory_bytes = UINT64_MAX;
}

static void config_key_set_server(const struct config_key_use *use, const char *value)
{
	const char *reason;
	int error =
		config_value_server(value, &use->section->upstream->server, &reason);

	if (error == -ENOMEM)
		use->draft->faults->incomplete = true;
	else if (error != 0)
		config_key_fault(use, value, reason);
}

static void config_key_read_port(const struct config_key_use *use, const char *value,
				 uint16_t *port)
{
	uint64_t number;

	if (config_value_number(value, 1, UINT16_MAX, &number) == 0)
		*port = (uint16_t)number;
	else
		config_key_fault(use, value, "not a number from 1 to 65535");
}

static void config_key_set_port(const struct config_key_use *use, const char *value)
{
	config_key_read_port(use, value, &use->section->upstream->port);
}

static void config_key_set_mount_port(const struct config_key_use *use,
				      const char *value)
{
	config_key_read_port(use, value, &use->section->upstream->mount_port);
}

static void config_key_add_listen(const struct config_key_use *use, const char *word)
{
	struct config_upstream *upstream = use->section->upstream;
	const char *reason;

	if (upstream->listen_count == CONFIG_LISTENERS_MAX) {
		config_draft_fault(use->draft, use->section, use->key, word, use->line,
				   "more than %d addresses", CONFIG_LISTENERS_MAX);
		return;
	}
	if (config_value_listen(word, &upstream->listen[upstream->listen_count],
				&reason) == 0)
		upstream->listen_count++;
	else
		config_key_fault(use, word, reason);
}

static void config_key_set_listen(const struct config_key_use *use, const char *value)
{
	config_key_each_word(use, value, config_key_add_listen);
}

static void config_key_add_export(const struct config_key_use *use, const char *word)
{
	struct config_upstream *upstream = use->section->upstream;
	const char *reason;
	int error;

	if (upstream->export_count == CONFIG_EXPORTS_MAX) {
		config_draft_fault(use->draft, use->section, use->key, word, use->line,
				   "more than %d paths", CONFIG_EXPORTS_MAX);
		return;
	}
	error = config_value_path(word, &upstream->exports[upstream->export_count],
				  &reason);
	if (error == 0)
		upstream->export_count++;
	else if (error == -ENOMEM)
		use->draft->faults->incomplete = true;
	else
		config_key_fault(use, word, reason);
}

static void config_key_set_exports(const struct config_key_use *use, const char *value)
{
	/* The command line has one path, and it may hold a blank. */
	if (use->draft->file == NULL)
		config_key_add_export(use, value);
	else
		config_key_each_word(use, value, config_key_add_export);
}

static void config_key_set_clients(const struct config_key_use *use, const char *value)
{
	char reason[256] = "";
	int error = access_rules_parse(value, &use->section->upstream->clients, reason,
				       sizeof(reason));

	if (error == -ENOMEM)
		use->draft->faults->incomplete = true;
	else if (error != 0)
		config_key_fault(use, value, reason);
}

static void config_key_set_connections(const struct config_key_use *use,
				       const char *value)
{
	uint64_t number;

	if (config_value_number(value, 1, CONFIG_CONNECTIONS_MAX, &number) == 0)
		use->section->upstream->connections = (unsigned int)number;
	else
		config_draft_fault(use->draft, use->section, use->key, value, use->line,
				   "not a number from 1 to %d", CONFIG_CONNECTIONS_MAX);
}

static void config_key_set_register(const struct config_key_use *use, const char *value)
{
	if (config_value_bool(value, &use->section->upstream->register_rpcbind) != 0)
		config_key_fault(use, value, "not yes or no");
}

struct config_key_rule {
	bool of_upstream;
	bool list;
	void (*set)(const struct config_key_use *use, const char *value);
};

static const struct config_key_rule config_key_rules[CONFIG_KEY_COUNT] = {
	[CONFIG_KEY_LOG_LEVEL] = { false, false, config_key_set_log_level },
	[CONFIG_KEY_MEMORY] = { false, false, config_key_set_memory },
	[CONFIG_KEY_SERVER] = { true, false, config_key_set_server },
	[CONFIG_KEY_PORT] = { true, false, config_key_set_port },
	[CONFIG_KEY_MOUNT_PORT] = { true, false, config_key_set_mount_port },
	[CONFIG_KEY_LISTEN] = { true, true, config_key_set_listen },
	[CONFIG_KEY_EXPORTS] = { true, true, config_key_set_exports },
	[CONFIG_KEY_CLIENTS] = { true, true, config_key_set_clients },
	[CONFIG_KEY_CONNECTIONS] = { true, false, config_key_set_connections },
	[CONFIG_KEY_REGISTER] = { true, false, config_key_set_register },
};

const char *config_key_name(enum config_key key)
{
	static const char *const name[CONFIG_KEY_COUNT] = {
#define X(key_name, text, option) [key_name] = (text),
		CONFIG_KEY_TABLE(X)
#undef X
	};

	return name[key];
}

bool config_key_is_list(const char *name)
{
	for (enum config_key key = 0; key < CONFIG_KEY_COUNT; key++) {
		if (strcmp(config_key_name(key), name) == 0)
			return config_key_rules[key].list;
	}
	return false;
}

bool config_key_is_of_upstream(enum config_key key)
{
	return config_key_rules[key].of_upstream;
}

void config_key_set(struct config_draft *draft, struct config_section *section,
		    enum config_key key, const char *value, unsigned int line)
{
	struct config_key_use use = {
		.draft = draft,
		.section = section,
		.key = key,
		.line = line,
	};

	config_key_rules[key].set(&use, value);
}
