/*
 * Reads a configuration file.
 */
#ifndef DAEMON_CONFIG_FILE_H
#define DAEMON_CONFIG_FILE_H

#include <stdio.h>

#include "daemon/config_fault.h"
#include "nfsgather/config.h"
#include "nfsgather/invariant.h"

/* 0: free *config with config_free(). -EINVAL: *faults says all that is wrong. */
MUST_CHECK int config_file_load(const char *path, struct config *config,
				struct config_fault_list *faults);
/* The same from an open stream; `name` stands for the path in faults. */
MUST_CHECK int config_file_read(FILE *stream, const char *name, struct config *config,
				struct config_fault_list *faults);

#endif
