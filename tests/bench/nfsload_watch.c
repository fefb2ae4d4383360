/*
 * What a process has used, from proc(5).
 *
 * The hard case: processor time in /proc/PID/stat comes in ticks of 10 ms; schedstat of each
 * thread has it in nanoseconds where the kernel keeps it, and is taken then.
 *
 * Not promised: threads that have ended are missed by schedstat.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/nfsload.h"

static bool file_read(char *text, size_t size, const char *path)
{
	FILE *file = fopen(path, "r");
	size_t got;

	if (file == NULL)
		return false;
	got = fread(text, 1, size - 1, file);
	text[got] = '\0';
	fclose(file);
	return got > 0;
}

static bool stat_read(int pid, struct watch *watch)
{
	char path[64];
	char text[1024];
	const char *fields;
	uint64_t user, system;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (!file_read(text, sizeof(text), path))
		return false;
	/* the name before it may have blanks and brackets */
	fields = strrchr(text, ')');
	if (fields == NULL || sscanf(fields,
				     ") %*c %*d %*d %*d %*d %*d %*u %" SCNu64
				     " %*u %*u %*u %" SCNu64 " %" SCNu64,
				     &watch->faults, &user, &system) != 3)
		return false;
	watch->cpu_s = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
	return true;
}

static void schedstat_read(int pid, struct watch *watch)
{
	char path[320];
	char text[256];
	uint64_t sum_ns = 0;
	struct dirent *entry;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	if (tasks == NULL)
		return;
	while ((entry = readdir(tasks)) != NULL) {
		uint64_t ns;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/schedstat", pid,
			 entry->d_name);
		if (file_read(text, sizeof(text), path) &&
		    sscanf(text, "%" SCNu64, &ns) == 1)
			sum_ns += ns;
	}
	closedir(tasks);
	if (sum_ns > 0)
		watch->cpu_s = (double)sum_ns / 1e9;
}

static uint64_t status_bytes(const char *text, const char *key)
{
	const char *line = strstr(text, key);
	uint64_t kib;

	return line != NULL && sscanf(line + strlen(key), " %" SCNu64, &kib) == 1
		       ? kib * 1024
		       : 0;
}

bool watch_read(int pid, struct watch *watch)
{
	char path[64];
	char text[4096];

	*watch = (struct watch){ 0 };
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (!stat_read(pid, watch) || !file_read(text, sizeof(text), path))
		return false;
	schedstat_read(pid, watch);
	watch->resident_bytes = status_bytes(text, "VmRSS:");
	watch->peak_bytes = status_bytes(text, "VmHWM:");
	return true;
}
