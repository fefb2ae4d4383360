/*
 * Collects the faults of a configuration, so that one run shows all of them.
 *
 * The hard case: the texts quote what somebody wrote, so what is not printable ASCII is
 * replaced before it reaches a terminal or a log. Running out of memory must not turn a
 * bad configuration into a good one: the list then says that it is incomplete.
 */
#include "daemon/config_fault.h"

#include <stdarg.h>
#include <stdlib.h>

static void config_fault_make_printable(char *text)
{
	for (; *text != '\0'; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte < 0x20 || byte >= 0x7f)
			*text = '?';
	}
}

static int config_fault_append(struct config_fault_list *list, unsigned int line,
			       char *text)
{
	struct config_fault *grown =
		realloc(list->fault, (list->count + 1) * sizeof(*grown));

	if (grown == NULL)
		return -1;
	list->fault = grown;
	list->fault[list->count].line = line;
	list->fault[list->count].text = text;
	list->count++;
	return 0;
}

void config_fault_add(struct config_fault_list *list, unsigned int line,
		      const char *format, ...)
{
	char *text = NULL;
	va_list args;
	int length;

	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0) {
		list->incomplete = true;
		return;
	}
	config_fault_make_printable(text);
	if (config_fault_append(list, line, text) != 0) {
		free(text);
		list->incomplete = true;
	}
}

bool config_fault_is_any(const struct config_fault_list *list)
{
	return list->count > 0 || list->incomplete;
}

void config_fault_sort(struct config_fault_list *list)
{
	/* Insertion: stable, and the list is short and nearly sorted. */
	for (size_t i = 1; i < list->count; i++) {
		struct config_fault moved = list->fault[i];
		size_t place = i;

		for (; place > 0 && list->fault[place - 1].line > moved.line; place--)
			list->fault[place] = list->fault[place - 1];
		list->fault[place] = moved;
	}
}

void config_fault_print(const struct config_fault_list *list, const char *prefix,
			FILE *stream)
{
	for (size_t i = 0; i < list->count; i++)
		fprintf(stream, "%s%s\n", prefix, list->fault[i].text);
	if (list->incomplete)
		fprintf(stream, "%sout of memory\n", prefix);
}

void config_fault_list_fini(struct config_fault_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->fault[i].text);
	free(list->fault);
	*list = (struct config_fault_list){ 0 };
}
