/*
 * Reads a configuration file: inih splits its lines, this file keeps count of them.
 *
 * The hard case: inih tells its handler neither the line nor that a section began, cuts
 * long lines and long section names in silence, and returns only the first of its own
 * errors. It asks for one line at a time, though, through a reader, and runs the handler
 * before it asks for the next. So the reader knows the line, sees the sections, and
 * notices when the line before should have reached the handler and did not.
 */
#include "daemon/config_file.h"

#include <errno.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/config_draft.h"

static const char config_file_blanks[] = " \t\r\n\v\f";

struct config_file {
	FILE *stream;
	struct config_draft *draft;
	struct config_section *section; /* NULL: none yet, or one that is no good */
	bool in_section;
	unsigned int line;
	char *text; /* the line, from getline() */
	size_t text_bytes;
	bool indented; /* the line starts with a blank: goes on with the key before */
	bool expects_pair; /* the line must reach the handler */

	/* The key being read; its value may go on in the next lines. */
	char *key; /* NULL: none */
	char *value;
	unsigned int key_line;
	bool continued;
};

static void config_file_fault(struct config_file *file, unsigned int line,
			      const char *text)
{
	config_draft_fault(file->draft, file->section, CONFIG_KEY_COUNT, NULL, line,
			   "%s", text);
}

/* The key is complete: a new one, a section or the end of the file follows. */
static void config_file_finish_key(struct config_file *file)
{
	if (file->key == NULL)
		return;
	if (!file->in_section)
		config_draft_fault(file->draft, NULL, CONFIG_KEY_COUNT, NULL,
				   file->key_line,
				   "key \"%s\" before the first section", file->key);
	else if (file->section != NULL && file->continued &&
		 !config_key_is_list(file->key))
		config_draft_fault(
			file->draft, file->section, CONFIG_KEY_COUNT, NULL,
			file->key_line,
			"%s goes on in an indented line; only listen, exports "
			"and clients may, other keys start in the first column",
			file->key);
	else if (file->section != NULL)
		config_draft_set(file->draft, file->section, file->key, file->value,
				 file->key_line);
	free(file->key);
	free(file->value);
	file->key = NULL;
	file->value = NULL;
}

static int config_file_on_continuation(struct config_file *file, const char *value)
{
	char *joined;

	if (asprintf(&joined, "%s %s", file->value, value) < 0) {
		file->draft->faults->incomplete = true;
		return 0;
	}
	free(file->value);
	file->value = joined;
	file->continued = true;
	return 1;
}

/* inih's handler: not zero means that all is well. */
static int config_file_on_pair(void *opaque, const char *section, const char *name,
			       const char *value)
{
	struct config_file *file = opaque;

	(void)section;
	file->expects_pair = false;
	if (file->indented && file->key != NULL)
		return config_file_on_continuation(file, value);
	config_file_finish_key(file);
	file->key = strdup(name);
	file->value = strdup(value);
	file->key_line = file->line;
	file->continued = false;
	if (file->key != NULL && file->value != NULL)
		return 1;
	free(file->key);
	free(file->value);
	file->key = NULL;
	file->value = NULL;
	file->draft->faults->incomplete = true;
	return 0;
}

/* `text` starts with "[". */
static void config_file_on_section(struct config_file *file, char *text)
{
	char *end = strchr(text, ']');
	const char *rest;

	config_file_finish_key(file);
	file->section = NULL;
	file->in_section = true;
	if (end == NULL) {
		config_file_fault(file, file->line, "a section's name without ]");
		return;
	}
	rest = end + 1 + strspn(end + 1, config_file_blanks);
	if (*rest != '\0' && *rest != ';' && *rest != '#') {
		config_file_fault(file, file->line, "text after a section's ]");
		return;
	}
	*end = '\0';
	file->section = config_draft_section(file->draft, text + 1, file->line);
}

/* Looks at the line before inih does. Returns what inih should see in its place. */
static const char *config_file_inspect(struct config_file *file, int room_bytes)
{
	static const char byte_order_mark[] = "\xef\xbb\xbf";
	char *text = file->text;
	char *start;

	if (file->line == 1 && strncmp(text, byte_order_mark, 3) == 0)
		text += 3;
	start = text + strspn(text, config_file_blanks);
	file->indented = start != text;
	if (*start == '\0' || *start == ';' || *start == '#')
		return "";
	if (*start == '[' && !(file->indented && file->key != NULL)) {
		config_file_on_section(file, start);
		/* For inih any section will do: it forgets the key before. */
		return "[]";
	}
	if (strlen(text) + 2 > (size_t)room_bytes) {
		config_draft_fault(file->draft, file->section, CONFIG_KEY_COUNT, NULL,
				   file->line,
				   "longer than %d characters; a list can go on in the "
				   "next line if that starts with a blank",
				   room_bytes - 2);
		return "";
	}
	file->expects_pair = true;
	return text;
}

static void config_file_check_pair(struct config_file *file)
{
	if (file->expects_pair)
		config_file_fault(file, file->line,
				  "neither [SECTION] nor KEY = VALUE");
	file->expects_pair = false;
}

/* inih's reader: as fgets(). */
static char *config_file_next_line(char *to, int to_bytes, void *opaque)
{
	struct config_file *file = opaque;
	const char *shown = "";
	ssize_t length;

	config_file_check_pair(file);
	length = getline(&file->text, &file->text_bytes, file->stream);
	if (length < 0) {
		if (ferror(file->stream))
			config_draft_fault(file->draft, NULL, CONFIG_KEY_COUNT, NULL, 0,
					   "%s", strerror(errno));
		return NULL;
	}
	file->line++;
	if (strlen(file->text) != (size_t)length) {
		config_file_fault(file, file->line, "holds a byte of value 0");
	} else {
		file->text[strcspn(file->text, "\r\n")] = '\0';
		shown = config_file_inspect(file, to_bytes);
	}
	snprintf(to, (size_t)to_bytes, "%s\n", shown);
	return to;
}

int config_file_read(FILE *stream, const char *name, struct config *config,
		     struct config_fault_list *faults)
{
	struct config_draft draft;
	struct config_file file = { .stream = stream, .draft = &draft };
	int result;

	config_draft_init(&draft, config, name, faults);
	result = ini_parse_stream(config_file_next_line, &file, config_file_on_pair,
				  &file);
	config_file_finish_key(&file);
	free(file.text);
	if (result == -2)
		faults->incomplete = true;
	else if (result != 0 && !config_fault_is_any(faults))
		config_draft_fault(&draft, NULL, CONFIG_KEY_COUNT, NULL,
				   result > 0 ? (unsigned int)result : 0,
				   "cannot be understood");
	return config_draft_finish(&draft);
}

int config_file_load(const char *path, struct config *config,
		     struct config_fault_list *faults)
{
	FILE *stream = fopen(path, "re");
	int result;

	if (stream == NULL) {
		config_fault_add(faults, 0, "%s: %s", path, strerror(errno));
		return -EINVAL;
	}
	result = config_file_read(stream, path, config, faults);
	fclose(stream);
	return result;
}
