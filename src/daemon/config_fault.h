/*
 * What is wrong with a configuration: every fault, each with the line it is about.
 */
#ifndef DAEMON_CONFIG_FAULT_H
#define DAEMON_CONFIG_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "nfsgather/invariant.h"

struct config_fault {
	unsigned int line; /* 0: about no single line */
	char *text;	   /* one line, printable, without newline */
};

/* Zero-initialise. */
struct config_fault_list {
	struct config_fault *fault;
	size_t count;
	bool incomplete; /* memory was short, at least one fault could not be kept */
};

void config_fault_add(struct config_fault_list *list, unsigned int line,
		      const char *format, ...) PRINTF_LIKE(3, 4);
/* True also when the only fault could not be kept. */
bool config_fault_is_any(const struct config_fault_list *list);
/* By line; faults of one line stay in the order in which they were found. */
void config_fault_sort(struct config_fault_list *list);
/* One fault a line, each after `prefix`. */
void config_fault_print(const struct config_fault_list *list, const char *prefix,
			FILE *stream);
void config_fault_list_fini(struct config_fault_list *list);

#endif
