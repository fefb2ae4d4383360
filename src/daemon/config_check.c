/*
 * Judges a configuration as a whole: what is missing, what contradicts something else.
 *
 * The hard case: two sections that may reach the same NFS server. Two engines would not
 * see each other's buffers, so where we cannot tell (a port not given is asked for at run
 * time) we refuse. A server under two names is not noticed: no name is looked up here.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "daemon/config_draft.h"
#include "daemon/config_memory.h"
#include "daemon/config_value.h"

static void config_check_missing(struct config_draft *draft,
				 const struct config_section *section,
				 enum config_key key, const char *example)
{
	if (!section->given[key])
		config_draft_fault(draft, section, CONFIG_KEY_COUNT, NULL,
				   section->line, "%s is missing, as in %s",
				   config_key_name(key), example);
}

/* Who may use the listeners, when nobody said so: only this host. */
static void config_check_clients(struct config_draft *draft,
				 const struct config_section *section)
{
	struct config_upstream *upstream = section->upstream;

	if (section->given[CONFIG_KEY_CLIENTS])
		return;
	if (access_rules_loopback(&upstream->clients) != 0)
		draft->faults->incomplete = true;
	for (size_t i = 0; i < upstream->listen_count; i++) {
		const struct config_listen *listen = &upstream->listen[i];

		if (config_value_is_loopback(&listen->addr))
			continue;
		config_draft_fault(draft, section, CONFIG_KEY_LISTEN, listen->text,
				   section->key_line[CONFIG_KEY_LISTEN],
				   "other hosts can reach this address, so %s must say "
				   "who may use it, as in 10.0.0.0/24(rw)",
				   draft->file == NULL ? "--clients" : "clients");
	}
}

static bool config_check_is_overlap(const struct config_listen *a,
				    const struct config_listen *b)
{
	if (a->addr.ss_family != b->addr.ss_family ||
	    config_value_port_of(&a->addr) != config_value_port_of(&b->addr))
		return false;
	return config_value_is_any_address(&a->addr) ||
	       config_value_is_any_address(&b->addr) ||
	       config_value_is_same_address(&a->addr, &b->addr);
}

/* Compares one address with those before it, in its own and in earlier sections. */
static void config_check_listen(struct config_draft *draft,
				const struct config_section *section, size_t index)
{
	const struct config_listen *listen = &section->upstream->listen[index];
	const struct config_section *earlier;

	TAILQ_FOREACH(earlier, &draft->sections, link) {
		size_t count;

		if (earlier->upstream == NULL)
			continue;
		count = earlier == section ? index : earlier->upstream->listen_count;
		for (size_t i = 0; i < count; i++) {
			if (!config_check_is_overlap(&earlier->upstream->listen[i],
						     listen))
				continue;
			config_draft_fault(draft, section, CONFIG_KEY_LISTEN,
					   listen->text,
					   section->key_line[CONFIG_KEY_LISTEN],
					   "%s of [%s] takes this address already",
					   earlier->upstream->listen[i].text,
					   earlier->title);
			return;
		}
		if (earlier == section)
			return;
	}
}

static bool config_check_is_same_server(const char *a, const char *b)
{
	struct sockaddr_storage addr_a;
	struct sockaddr_storage addr_b;

	if (config_value_is_numeric_address(a, &addr_a) &&
	    config_value_is_numeric_address(b, &addr_b))
		return config_value_is_same_address(&addr_a, &addr_b);
	return strcasecmp(a, b) == 0;
}

static void config_check_server(struct config_draft *draft,
				const struct config_section *section)
{
	const struct config_upstream *upstream = section->upstream;
	const struct config_section *earlier;

	TAILQ_FOREACH(earlier, &draft->sections, link) {
		const struct config_upstream *other = earlier->upstream;

		if (earlier == section)
			return;
		if (other == NULL || other->server == NULL ||
		    upstream->server == NULL ||
		    !config_check_is_same_server(other->server, upstream->server))
			continue;
		if (other->port == upstream->port)
			config_draft_fault(
				draft, section, CONFIG_KEY_SERVER, upstream->server,
				section->key_line[CONFIG_KEY_SERVER],
				"[%s] is for this server and port already; one "
				"section can have several listen addresses",
				earlier->title);
		else if (other->port == 0 || upstream->port == 0)
			config_draft_fault(
				draft, section, CONFIG_KEY_SERVER, upstream->server,
				section->key_line[CONFIG_KEY_SERVER],
				"[%s] is for this server too; if the two run on "
				"different ports, give port in both sections",
				earlier->title);
	}
}

static void config_check_register(struct config_draft *draft,
				  const struct config_section *section)
{
	const struct config_section *earlier;

	if (!section->upstream->register_rpcbind)
		return;
	TAILQ_FOREACH(earlier, &draft->sections, link) {
		if (earlier == section)
			return;
		if (earlier->upstream == NULL || !earlier->upstream->register_rpcbind)
			continue;
		config_draft_fault(draft, section, CONFIG_KEY_REGISTER, "yes",
				   section->key_line[CONFIG_KEY_REGISTER],
				   "rpcbind can name only one NFS service, and [%s] is "
				   "to be registered already",
				   earlier->title);
		return;
	}
}

/* Is it enough for the upstreams? Else a fault was added. */
static bool config_check_memory(struct config_draft *draft)
{
	struct config *config = draft->config;
	uint64_t needed = config_memory_needed_bytes(config->upstream_count);
	const struct config_section *section;
	char needed_text[CONFIG_SIZE_TEXT_BYTES];
	char given_text[CONFIG_SIZE_TEXT_BYTES];

	/* In whole MiB, rounded up: what one would write. */
	config_value_size_text(((needed - 1) / (1 << 20) + 1) << 20, needed_text,
			       sizeof(needed_text));
	TAILQ_FOREACH(section, &draft->sections, link) {
		if (section->given[CONFIG_KEY_MEMORY])
			break;
	}
	if (section == NULL) {
		config->memory_bytes = config_memory_default_bytes();
		if (config->memory_bytes >= needed)
			return true;
		config_value_size_text(config->memory_bytes >> 20 << 20, given_text,
				       sizeof(given_text));
		config_draft_fault(
			draft, NULL, CONFIG_KEY_COUNT, NULL, 0,
			"memory is not set, and a quarter of what there is, %s, is "
			"less than the %s needed; set memory in [nfsgather]",
			given_text, needed_text);
		return false;
	}
	if (config->memory_bytes >= needed)
		return true;
	config_value_size_text(config->memory_bytes, given_text, sizeof(given_text));
	config_draft_fault(draft, section, CONFIG_KEY_MEMORY, given_text,
			   section->key_line[CONFIG_KEY_MEMORY],
			   "too little; at least %s for %zu upstream%s", needed_text,
			   config->upstream_count,
			   config->upstream_count == 1 ? "" : "s");
	return false;
}

void config_check(struct config_draft *draft)
{
	const struct config_section *section;

	TAILQ_FOREACH(section, &draft->sections, link) {
		if (section->upstream == NULL)
			continue;
		config_check_missing(draft, section, CONFIG_KEY_SERVER,
				     "server = nas.example.org");
		config_check_missing(draft, section, CONFIG_KEY_LISTEN,
				     "listen = 127.0.0.1:2049");
		config_check_clients(draft, section);
		for (size_t i = 0; i < section->upstream->listen_count; i++)
			config_check_listen(draft, section, i);
		config_check_server(draft, section);
		config_check_register(draft, section);
	}
	if (draft->config->upstream_count == 0)
		config_draft_fault(draft, NULL, CONFIG_KEY_COUNT, NULL, 0,
				   "no [upstream NAME] section");
	if (config_check_memory(draft) && draft->config->upstream_count > 0)
		config_engine_resolve(draft);
}
