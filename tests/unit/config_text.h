/*
 * For tests of the configuration: reads a text as the file "f" and compares the faults.
 */
#ifndef UNIT_CONFIG_TEXT_H
#define UNIT_CONFIG_TEXT_H

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/config_file.h"
#include "unit/unit.h"

static struct config config;
static struct config_fault_list faults;

static inline int load_bytes(const char *text, size_t length)
{
	FILE *stream = fmemopen((void *)text, length, "r");
	int result;

	ck_assert_ptr_nonnull(stream);
	result = config_file_read(stream, "f", &config, &faults);
	fclose(stream);
	return result;
}

static inline void expect_valid(const char *text)
{
	int result = load_bytes(text, strlen(text));

	config_fault_print(&faults, "unexpected: ", stderr);
	ck_assert_int_eq(result, 0);
	ck_assert(!config_fault_is_any(&faults));
}

/* All of the faults, one a line, in order. */
static inline void expect_faults_of(const char *text, size_t length,
				    const char *expected)
{
	char *found = NULL;
	size_t found_bytes;
	FILE *stream;

	ck_assert_int_eq(load_bytes(text, length), -EINVAL);
	ck_assert(config_fault_is_any(&faults));
	stream = open_memstream(&found, &found_bytes);
	ck_assert_ptr_nonnull(stream);
	config_fault_print(&faults, "", stream);
	fclose(stream);
	ck_assert_str_eq(found, expected);
	free(found);
	config_fault_list_fini(&faults);
	ck_assert_uint_eq(config.upstream_count, 0);
	ck_assert(TAILQ_EMPTY(&config.upstreams));
}

static inline void expect_faults(const char *text, const char *expected)
{
	expect_faults_of(text, strlen(text), expected);
}

/* A section that is good, to which one line is added: that line is the fourth. */
#define GOOD "[upstream a]\nserver = nas\nlisten = 127.0.0.1:2049\n"

static inline struct config_upstream *first_upstream(void)
{
	return TAILQ_FIRST(&config.upstreams);
}

#endif
