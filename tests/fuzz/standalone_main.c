/*
 * main() for fuzz targets where there is no libFuzzer: runs the target on the files
 * given, and on all files of the folders given. Options of libFuzzer are ignored.
 *
 * The hard case is a run that tests nothing: no file found is a failure.
 *
 * Not promised: anything about subfolders; they are not looked into.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"

static unsigned int files_run;

/* In memory of exactly its size, so that a sanitizer sees a read too far. */
static int standalone_run_file(const char *path, size_t len_bytes)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes = malloc(len_bytes == 0 ? 1 : len_bytes);
	int err = 0;

	if (file == NULL || bytes == NULL ||
	    fread(bytes, 1, len_bytes, file) != len_bytes) {
		fprintf(stderr, "%s: cannot be read: %s\n", path, strerror(errno));
		err = -EIO;
	} else {
		(void)LLVMFuzzerTestOneInput(bytes, len_bytes);
		files_run++;
	}
	free(bytes);
	if (file != NULL)
		(void)fclose(file);
	return err;
}

static int standalone_run_folder(const char *path)
{
	DIR *folder = opendir(path);
	int err = 0;

	if (folder == NULL) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -EIO;
	}
	for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
		char file[PATH_MAX];
		struct stat status;
		int len = snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);

		if (len < 0 || (size_t)len >= sizeof(file) || stat(file, &status) != 0)
			err = -EIO;
		else if (S_ISREG(status.st_mode) &&
			 standalone_run_file(file, (size_t)status.st_size) != 0)
			err = -EIO;
	}
	(void)closedir(folder);
	return err;
}

int main(int argc, char **argv)
{
	int err = 0;

	for (int i = 1; i < argc; i++) {
		struct stat status;

		if (argv[i][0] == '-')
			continue;
		if (stat(argv[i], &status) != 0) {
			fprintf(stderr, "%s: %s\n", argv[i], strerror(errno));
			err = -EIO;
		} else if (S_ISDIR(status.st_mode)) {
			err = standalone_run_folder(argv[i]) != 0 ? -EIO : err;
		} else if (standalone_run_file(argv[i], (size_t)status.st_size) != 0) {
			err = -EIO;
		}
	}
	printf("%u inputs replayed\n", files_run);
	return err == 0 && files_run > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
