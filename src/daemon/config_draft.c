/*
 * Builds a configuration from sections and keys, and words the faults.
 *
 * The hard case: the same rules judge a file and a command line, but each fault must name
 * the place its writer knows. It does not read files or options itself.
 */
#include "daemon/config_draft.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/config_value.h"

enum { CONFIG_DRAFT_SHOWN_MAX_BYTES = 72 };

void config_draft_init(struct config_draft *draft, struct config *config,
		       const char *file, struct config_fault_list *faults)
{
	*config = (struct config){ .log_level = LOG_LEVEL_INFO };
	TAILQ_INIT(&config->upstreams);
	*draft = (struct config_draft){ .config = config,
					.file = file,
					.faults = faults };
	TAILQ_INIT(&draft->sections);
}

static void config_upstream_free(struct config_upstream *upstream)
{
	if (upstream == NULL)
		return;
	for (size_t i = 0; i < upstream->export_count; i++)
		free(upstream->exports[i]);
	access_rules_fini(&upstream->clients);
	free(upstream->server);
	free(upstream->name);
	free(upstream);
}

void config_free(struct config *config)
{
	struct config_upstream *upstream;

	while ((upstream = TAILQ_FIRST(&config->upstreams)) != NULL) {
		TAILQ_REMOVE(&config->upstreams, upstream, link);
		config_upstream_free(upstream);
	}
	config->upstream_count = 0;
}

static const char *config_draft_option(enum config_key key)
{
	static const char *const option[CONFIG_KEY_COUNT] = {
#define X(name, text, option_text) [name] = (option_text),
		CONFIG_KEY_TABLE(X)
#undef X
	};

	if (key >= CONFIG_KEY_COUNT || option[key] == NULL)
		return "command line";
	return option[key];
}

static void config_draft_fault_place(const struct config_draft *draft,
				     const struct config_section *section,
				     enum config_key key, const char *value,
				     unsigned int line, FILE *out)
{
	int cut = CONFIG_DRAFT_SHOWN_MAX_BYTES;
	const char *dots = value != NULL && strlen(value) > (size_t)cut ? "..." : "";

	if (draft->file == NULL) {
		fputs(config_draft_option(key), out);
		if (value != NULL)
			fprintf(out, " %.*s%s", cut, value, dots);
		return;
	}
	fprintf(out, "%s:", draft->file);
	if (line != 0)
		fprintf(out, "%u:", line);
	if (section != NULL)
		fprintf(out, " [%s]", section->title);
	if (key != CONFIG_KEY_COUNT)
		fprintf(out, " %s", config_key_name(key));
	if (value != NULL)
		fprintf(out, " = %.*s%s", cut, value, dots);
}

void config_draft_fault(struct config_draft *draft,
			const struct config_section *section, enum config_key key,
			const char *value, unsigned int line, const char *format, ...)
{
	char *text = NULL;
	size_t text_bytes = 0;
	FILE *out = open_memstream(&text, &text_bytes);
	bool has_place = draft->file == NULL || section != NULL;
	va_list args;

	if (out == NULL) {
		draft->faults->incomplete = true;
		return;
	}
	config_draft_fault_place(draft, section, key, value, line, out);
	fputs(has_place ? ": " : " ", out);
	va_start(args, format);
	vfprintf(out, format, args);
	va_end(args);
	if (fclose(out) == 0)
		config_fault_add(draft->faults, line, "%s", text);
	else
		draft->faults->incomplete = true;
	free(text);
}

static bool config_draft_is_upstream_name(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	size_t length = strlen(name);

	return length > 0 && length <= CONFIG_UPSTREAM_NAME_MAX_BYTES &&
	       strspn(name, allowed) == length;
}

static struct config_upstream *config_draft_add_upstream(struct config *config,
							 const char *name)
{
	struct config_upstream *upstream = calloc(1, sizeof(*upstream));

	if (upstream == NULL)
		return NULL;
	upstream->connections = CONFIG_CONNECTIONS_DEFAULT;
	upstream->name = strdup(name);
	if (upstream->name == NULL) {
		free(upstream);
		return NULL;
	}
	TAILQ_INSERT_TAIL(&config->upstreams, upstream, link);
	config->upstream_count++;
	return upstream;
}

/* "upstream  NAME": *name is what follows the blanks, else NULL. 0 or -EINVAL. */
static int config_draft_parse_title(const char *title, enum config_section_kind *kind,
				    const char **name)
{
	static const char *const fixed[] = {
		[CONFIG_SECTION_NFSGATHER] = "nfsgather",
		[CONFIG_SECTION_WRITEBACK] = "writeback",
		[CONFIG_SECTION_COMMIT] = "commit",
	};
	static const char prefix[] = "upstream";

	*name = NULL;
	for (unsigned int i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		*kind = (enum config_section_kind)i;
		if (strcmp(title, fixed[i]) == 0)
			return 0;
	}
	*kind = CONFIG_SECTION_UPSTREAM;
	if (strncmp(title, prefix, sizeof(prefix) - 1) != 0)
		return -EINVAL;
	title += sizeof(prefix) - 1;
	if (*title != '\0' && strchr(" \t", *title) == NULL)
		return -EINVAL;
	*name = title + strspn(title, " \t");
	return 0;
}

static struct config_section *config_draft_find(const struct config_draft *draft,
						enum config_section_kind kind,
						const char *name)
{
	struct config_section *section;

	TAILQ_FOREACH(section, &draft->sections, link) {
		if (section->kind == kind &&
		    (name == NULL || strcmp(section->upstream->name, name) == 0))
			return section;
	}
	return NULL;
}

/* True: the title is good and new. Else a fault was added. */
static bool config_draft_accept_title(struct config_draft *draft, const char *title,
				      unsigned int line, enum config_section_kind *kind,
				      const char **name)
{
	struct config_section shown = { .title = (char *)title };
	const struct config_section *earlier;

	if (config_draft_parse_title(title, kind, name) != 0) {
		config_draft_fault(draft, &shown, CONFIG_KEY_COUNT, NULL, line,
				   "unknown section; allowed: [nfsgather], "
				   "[writeback], [commit], [upstream NAME]");
		return false;
	}
	if (*name != NULL && !config_draft_is_upstream_name(*name)) {
		config_draft_fault(draft, &shown, CONFIG_KEY_COUNT, NULL, line,
				   "the name after upstream is not 1 to %d characters "
				   "from A-Z a-z 0-9 _ . -",
				   CONFIG_UPSTREAM_NAME_MAX_BYTES);
		return false;
	}
	earlier = config_draft_find(draft, *kind, *name);
	if (earlier != NULL) {
		config_draft_fault(draft, earlier, CONFIG_KEY_COUNT, NULL, line,
				   "a second section of this name; the first is at "
				   "line %u",
				   earlier->line);
		return false;
	}
	return true;
}

struct config_section *config_draft_section(struct config_draft *draft,
					    const char *title, unsigned int line)
{
	struct config_section *section;
	enum config_section_kind kind;
	const char *name;
	int length;

	if (!config_draft_accept_title(draft, title, line, &kind, &name))
		return NULL;
	section = calloc(1, sizeof(*section));
	if (section == NULL)
		goto no_memory;
	section->kind = kind;
	section->line = line;
	length = name == NULL ? asprintf(&section->title, "%s", title)
			      : asprintf(&section->title, "upstream %s", name);
	if (length < 0) {
		section->title = NULL;
		goto no_memory;
	}
	if (name != NULL) {
		section->upstream = config_draft_add_upstream(draft->config, name);
		if (section->upstream == NULL)
			goto no_memory;
	}
	TAILQ_INSERT_TAIL(&draft->sections, section, link);
	return section;

no_memory:
	if (section != NULL)
		free(section->title);
	free(section);
	draft->faults->incomplete = true;
	return NULL;
}

static enum config_key config_draft_find_key(const struct config_section *section,
					     const char *name)
{
	for (enum config_key key = 0; key < CONFIG_KEY_COUNT; key++) {
		if (config_key_is_of(key, section->kind) &&
		    strcmp(config_key_name(key), name) == 0)
			return key;
	}
	return CONFIG_KEY_COUNT;
}

static void config_draft_fault_unknown(struct config_draft *draft,
				       const struct config_section *section,
				       const char *name, unsigned int line)
{
	char allowed[256] = "";
	size_t length = 0;

	for (enum config_key key = 0; key < CONFIG_KEY_COUNT; key++) {
		if (!config_key_is_of(key, section->kind))
			continue;
		length += (size_t)snprintf(allowed + length, sizeof(allowed) - length,
					   "%s%s", length > 0 ? ", " : "",
					   config_key_name(key));
		INVARIANT(length < sizeof(allowed));
	}
	config_draft_fault(draft, section, CONFIG_KEY_COUNT, NULL, line,
			   "unknown key \"%s\"; allowed: %s", name, allowed);
}

void config_draft_set(struct config_draft *draft, struct config_section *section,
		      const char *name, const char *value, unsigned int line)
{
	enum config_key key = config_draft_find_key(section, name);

	if (key == CONFIG_KEY_COUNT) {
		config_draft_fault_unknown(draft, section, name, line);
		return;
	}
	if (section->given[key]) {
		config_draft_fault(draft, section, key, value, line,
				   "given twice; the first is at line %u",
				   section->key_line[key]);
		return;
	}
	section->given[key] = true;
	section->key_line[key] = line;
	config_key_set(draft, section, key, value, line);
}

int config_draft_finish(struct config_draft *draft)
{
	struct config_section *section;

	config_check(draft);
	while ((section = TAILQ_FIRST(&draft->sections)) != NULL) {
		TAILQ_REMOVE(&draft->sections, section, link);
		free(section->title);
		free(section);
	}
	config_fault_sort(draft->faults);
	if (!config_fault_is_any(draft->faults))
		return 0;
	config_free(draft->config);
	return -EINVAL;
}
