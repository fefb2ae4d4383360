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

#define CONFIG_KEY_NOT_A_SIZE                                                          \
	"not a size in bytes or with unit K, M, G or T, as in 512M"
#define CONFIG_KEY_SECOND_US ((mono_us)1000000)

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
	config_key_fault(use, value, CONFIG_KEY_NOT_A_SIZE);
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

/* Kept in the section: what counts is known when all sections are (config_engine.c). */
static void config_key_set_number(const struct config_key_use *use, uint64_t number)
{
	use->section->number[use->key] = number;
	use->section->has_number[use->key] = true;
}

static void config_key_set_bytes(const struct config_key_use *use, const char *value)
{
	uint64_t bytes;

	if (config_value_size(value, &bytes) == 0)
		config_key_set_number(use, bytes);
	else
		config_key_fault(use, value, CONFIG_KEY_NOT_A_SIZE);
}

static void config_key_read_time(const struct config_key_use *use, const char *value,
				 mono_us min, mono_us max, const char *reason)
{
	mono_us us;

	if (config_value_duration(value, &us) == 0 && us >= min && us <= max)
		config_key_set_number(use, (uint64_t)us);
	else
		config_key_fault(use, value, reason);
}

static void config_key_set_plug_max(const struct config_key_use *use, const char *value)
{
	config_key_read_time(use, value, 0, CONFIG_KEY_SECOND_US,
			     "not a time from 0 to 1s, as in 500us or 2ms");
}

static void config_key_set_dirty_expire(const struct config_key_use *use,
					const char *value)
{
	config_key_read_time(use, value, 0, 60 * CONFIG_KEY_SECOND_US,
			     "not a time from 0 to 60s, as in 500ms or 1s");
}

static void config_key_set_retained_expire(const struct config_key_use *use,
					   const char *value)
{
	config_key_read_time(use, value, CONFIG_KEY_SECOND_US / 1000,
			     600 * CONFIG_KEY_SECOND_US,
			     "not a time from 1ms to 10min, as in 500ms or 5s");
}

enum {
	OF_NFSGATHER = 1 << CONFIG_SECTION_NFSGATHER,
	OF_UPSTREAM = 1 << CONFIG_SECTION_UPSTREAM,
	/* For all upstreams, or for one. */
	OF_WRITEBACK = 1 << CONFIG_SECTION_WRITEBACK | OF_UPSTREAM,
	OF_COMMIT = 1 << CONFIG_SECTION_COMMIT | OF_UPSTREAM,
};

struct config_key_rule {
	unsigned int of; /* the kinds of section it can be in */
	bool list;
	void (*set)(const struct config_key_use *use, const char *value);
};

static const struct config_key_rule config_key_rules[CONFIG_KEY_COUNT] = {
	[CONFIG_KEY_LOG_LEVEL] = { OF_NFSGATHER, false, config_key_set_log_level },
	[CONFIG_KEY_MEMORY] = { OF_NFSGATHER, false, config_key_set_memory },
	[CONFIG_KEY_SERVER] = { OF_UPSTREAM, false, config_key_set_server },
	[CONFIG_KEY_PORT] = { OF_UPSTREAM, false, config_key_set_port },
	[CONFIG_KEY_MOUNT_PORT] = { OF_UPSTREAM, false, config_key_set_mount_port },
	[CONFIG_KEY_LISTEN] = { OF_UPSTREAM, true, config_key_set_listen },
	[CONFIG_KEY_EXPORTS] = { OF_UPSTREAM, true, config_key_set_exports },
	[CONFIG_KEY_CLIENTS] = { OF_UPSTREAM, true, config_key_set_clients },
	[CONFIG_KEY_CONNECTIONS] = { OF_UPSTREAM, false, config_key_set_connections },
	[CONFIG_KEY_REGISTER] = { OF_UPSTREAM, false, config_key_set_register },
	[CONFIG_KEY_DIRTY_BACKGROUND_BYTES] = { OF_WRITEBACK, false,
						config_key_set_bytes },
	[CONFIG_KEY_DIRTY_BYTES] = { OF_WRITEBACK, false, config_key_set_bytes },
	[CONFIG_KEY_DIRTY_EXPIRE] = { OF_WRITEBACK, false,
				      config_key_set_dirty_expire },
	[CONFIG_KEY_PLUG_MAX] = { OF_WRITEBACK, false, config_key_set_plug_max },
	[CONFIG_KEY_RETAINED_BYTES] = { OF_COMMIT, false, config_key_set_bytes },
	[CONFIG_KEY_RETAINED_EXPIRE] = { OF_COMMIT, false,
					 config_key_set_retained_expire },
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

bool config_key_is_of(enum config_key key, enum config_section_kind kind)
{
	return (config_key_rules[key].of & 1U << kind) != 0;
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
