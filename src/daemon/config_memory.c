/*
 * Finds out how much memory there is to use.
 *
 * The hard case: in a container the machine's memory is not ours; the limit that counts
 * is the smallest of all the cgroups we are in, of either version. Files that cannot be
 * read count as "no limit": then the machine's memory decides.
 */
#include "daemon/config_memory.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/config_value.h"
#include "nfsgather/config.h"

/* The part of an upstream's own memory that only small records may take. */
enum { CONFIG_MEMORY_RESERVE_PART = 8 };
#define CONFIG_MEMORY_DEFAULT_MAX_BYTES ((uint64_t)1 << 30)

uint64_t config_memory_needed_bytes(size_t upstreams)
{
	uint64_t records = (uint64_t)upstreams * CONFIG_MEMORY_RECORDS *
			   CONFIG_MEMORY_COPIES * CONFIG_MEMORY_RECORD_BYTES;

	return records > CONFIG_MEMORY_MIN_BYTES ? records : CONFIG_MEMORY_MIN_BYTES;
}

uint64_t config_memory_room_bytes(uint64_t memory_bytes, size_t upstreams)
{
	uint64_t own = memory_bytes / (2 * (uint64_t)upstreams);
	uint64_t general = own - own / CONFIG_MEMORY_RESERVE_PART;
	uint64_t room = general - CONFIG_MEMORY_COPIES * CONFIG_MEMORY_RECORD_BYTES;

	return room >> 20 << 20;
}

/* A file with one number; UINT64_MAX for "max" and whatever else is no number. */
static uint64_t config_memory_read_limit(const char *path)
{
	FILE *file = fopen(path, "re");
	char line[32];
	uint64_t limit = UINT64_MAX;

	if (file == NULL)
		return UINT64_MAX;
	if (fgets(line, sizeof(line), file) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (config_value_number(line, 0, UINT64_MAX, &limit) != 0)
			limit = UINT64_MAX;
	}
	fclose(file);
	return limit;
}

/* Cuts `group` ("/a/b") shorter step by step, so the caller's copy is used up. */
static uint64_t config_memory_limit_upwards(const char *mount_point, char *group,
					    const char *file_name)
{
	uint64_t smallest = UINT64_MAX;

	for (;;) {
		char path[PATH_MAX];
		uint64_t limit;
		char *slash;

		if (snprintf(path, sizeof(path), "%s%s/%s", mount_point, group,
			     file_name) < (int)sizeof(path)) {
			limit = config_memory_read_limit(path);
			if (limit < smallest)
				smallest = limit;
		}
		slash = strrchr(group, '/');
		if (slash == NULL)
			return smallest;
		*slash = '\0';
	}
}

static bool config_memory_has_controller(const char *list, const char *name)
{
	size_t length = strlen(name);

	while (*list != '\0') {
		size_t word = strcspn(list, ",");

		if (word == length && strncmp(list, name, length) == 0)
			return true;
		list += word;
		list += strspn(list, ",");
	}
	return false;
}

/* One line "0::/group" (version 2) or "7:cpu,memory:/group" (version 1). */
static uint64_t config_memory_line_limit(char *line, const char *mount_point)
{
	char *controllers = strchr(line, ':');
	char memory_mount[PATH_MAX];
	char *group;

	line[strcspn(line, "\n")] = '\0';
	if (controllers == NULL)
		return UINT64_MAX;
	controllers++;
	group = strchr(controllers, ':');
	if (group == NULL)
		return UINT64_MAX;
	*group++ = '\0';
	if (*controllers == '\0')
		return config_memory_limit_upwards(mount_point, group, "memory.max");
	if (!config_memory_has_controller(controllers, "memory"))
		return UINT64_MAX;
	if (snprintf(memory_mount, sizeof(memory_mount), "%s/memory", mount_point) >=
	    (int)sizeof(memory_mount))
		return UINT64_MAX;
	return config_memory_limit_upwards(memory_mount, group,
					   "memory.limit_in_bytes");
}

uint64_t config_memory_cgroup_bytes(const char *membership, const char *mount_point)
{
	FILE *file = fopen(membership, "re");
	uint64_t smallest = UINT64_MAX;
	char *line = NULL;
	size_t line_bytes = 0;

	if (file == NULL)
		return UINT64_MAX;
	while (getline(&line, &line_bytes, file) != -1) {
		uint64_t limit = config_memory_line_limit(line, mount_point);

		if (limit < smallest)
			smallest = limit;
	}
	free(line);
	fclose(file);
	return smallest;
}

uint64_t config_memory_default_bytes(void)
{
	long pages = sysconf(_SC_PHYS_PAGES);
	long page_bytes = sysconf(_SC_PAGESIZE);
	uint64_t there =
		config_memory_cgroup_bytes("/proc/self/cgroup", "/sys/fs/cgroup");

	if (pages > 0 && page_bytes > 0 &&
	    (uint64_t)pages * (uint64_t)page_bytes < there)
		there = (uint64_t)pages * (uint64_t)page_bytes;
	if (there / 4 < CONFIG_MEMORY_DEFAULT_MAX_BYTES)
		return there / 4;
	return CONFIG_MEMORY_DEFAULT_MAX_BYTES;
}
