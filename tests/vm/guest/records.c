/*
 * Writes checksummed records and says which of them fsync() has promised; checks later
 * that every promised record is there.
 *
 * The hard case: a check must tell lost bytes (zeroes, an older record, a short file)
 * from bytes that were never promised. So a record carries its own number, place and
 * checksum, a "synced" line is printed only after fsync() returned 0, and a check is
 * given the last number promised for the file.
 *
 * Does not promise anything about records after the last "synced" line.
 *
 *   records write DIR FIRST FILES RECORD_BYTES BATCH STOP_FILE
 *       One process per file DIR/records.N, N from FIRST on. Each appends BATCH records,
 *       calls fsync(), prints "synced N COUNT" (COUNT records are promised), and goes on
 *       until STOP_FILE exists. After the first half of a batch it also rewrites a
 *       record that was promised before, under a higher generation; not if BATCH is 1,
 *       so that each fsync() then is about one record alone.
 *   records check DIR N RECORD_BYTES BATCH COUNT
 *       Checks the first COUNT records of DIR/records.N.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RECORD_MAGIC 0x4e46534752454331ULL

struct record_head {
	uint64_t magic;
	uint64_t file;
	uint64_t number;
	uint64_t generation; /* how many times this place was written before */
	uint64_t checksum;   /* of the body */
};

static void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

static uint64_t number_parse(const char *text)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end || end == text)
		fail("not a number: %s", text);
	return value;
}

/* FNV-1a over 64-bit words; any lost or stale page changes it. */
static uint64_t body_checksum(const uint64_t *body, size_t words)
{
	uint64_t sum = 0xcbf29ce484222325ULL;

	for (size_t i = 0; i < words; i++)
		sum = (sum ^ body[i]) * 0x100000001b3ULL;
	return sum;
}

static void record_fill(uint64_t *record, size_t bytes, uint64_t file, uint64_t number,
			uint64_t generation)
{
	struct record_head head = { .magic = RECORD_MAGIC,
				    .file = file,
				    .number = number,
				    .generation = generation };
	size_t first = sizeof(head) / sizeof(*record);
	size_t words = bytes / sizeof(*record);
	uint64_t x = (file << 48 ^ number << 8 ^ generation) * 0x9e3779b97f4a7c15ULL |
		     1;

	for (size_t i = first; i < words; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		record[i] = x;
	}
	head.checksum = body_checksum(record + first, words - first);
	memcpy(record, &head, sizeof(head));
}

static void record_write(int fd, const uint64_t *record, size_t bytes, uint64_t number)
{
	const char *from = (const char *)record;
	size_t done = 0;

	while (done < bytes) {
		ssize_t n = pwrite(fd, from + done, bytes - done,
				   (off_t)(number * bytes + done));

		if (n < 0)
			fail("write of record %" PRIu64 ": %s", number,
			     strerror(errno));
		done += (size_t)n;
	}
}

static int file_open(const char *dir, uint64_t file, int flags)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/records.%" PRIu64, dir, file);
	fd = open(path, flags, 0644);
	if (fd < 0)
		fail("%s: %s", path, strerror(errno));
	return fd;
}

/* The generation a place has once COUNT records are promised: rewrites follow a rule
 * that writer and checker both know. Batch k rewrites record k / 2. */
static uint64_t generation_after(uint64_t number, uint64_t count, uint64_t batch)
{
	uint64_t batches = count / batch;

	if (batch == 1)
		return 0;
	/* Batches 2 * number and 2 * number + 1 rewrite it, the first batch nothing. */
	return (uint64_t)(batches > 2 * number && number > 0) +
	       (uint64_t)(batches > 2 * number + 1);
}

static void file_write(const char *dir, uint64_t file, size_t bytes, uint64_t batch,
		       const char *stop_path)
{
	int fd = file_open(dir, file, O_RDWR | O_CREAT | O_TRUNC);
	uint64_t *record = calloc(1, bytes);

	if (!record)
		fail("no memory");
	for (uint64_t k = 0; access(stop_path, F_OK); k++) {
		for (uint64_t i = 0; i < batch; i++) {
			if (k && batch > 1 && i == batch / 2) {
				uint64_t old = k / 2;
				uint64_t was = generation_after(old, k * batch, batch);

				record_fill(record, bytes, file, old, was + 1);
				record_write(fd, record, bytes, old);
			}
			record_fill(record, bytes, file, k * batch + i, 0);
			record_write(fd, record, bytes, k * batch + i);
		}
		if (fsync(fd))
			fail("fsync of file %" PRIu64 ": %s", file, strerror(errno));
		printf("synced %" PRIu64 " %" PRIu64 "\n", file, (k + 1) * batch);
		fflush(stdout);
	}
	if (close(fd))
		fail("close of file %" PRIu64 ": %s", file, strerror(errno));
	free(record);
}

static void files_write(const char *dir, uint64_t first, uint64_t files, size_t bytes,
			uint64_t batch, const char *stop_path)
{
	bool bad = false;

	for (uint64_t file = first; file < first + files; file++) {
		pid_t pid = fork();

		if (pid < 0)
			fail("fork: %s", strerror(errno));
		if (!pid) {
			file_write(dir, file, bytes, batch, stop_path);
			exit(0);
		}
	}
	for (int status; wait(&status) > 0;)
		bad |= status != 0;
	if (bad)
		exit(1);
}

/* Rewrites that were never promised may show, so only a lower generation is a loss. */
static void file_check(const char *dir, uint64_t file, size_t bytes, uint64_t batch,
		       uint64_t count)
{
	int fd = file_open(dir, file, O_RDONLY);
	uint64_t *record = calloc(1, bytes);
	size_t first = sizeof(struct record_head) / sizeof(*record);
	uint64_t bad = 0;

	if (!record)
		fail("no memory");
	for (uint64_t number = 0; number < count; number++) {
		uint64_t due = generation_after(number, count, batch);
		struct record_head head = { 0 };
		ssize_t n = pread(fd, record, bytes, (off_t)(number * bytes));
		const char *why = NULL;

		if (n > (ssize_t)sizeof(head))
			memcpy(&head, record, sizeof(head));
		if (n != (ssize_t)bytes)
			why = n < 0 ? strerror(errno) : "file is too short";
		else if (head.magic != RECORD_MAGIC)
			why = "no record there";
		else if (head.file != file || head.number != number)
			why = "another record is there";
		else if (head.generation < due)
			why = "an older version is there";
		else if (head.checksum !=
			 body_checksum(record + first, bytes / sizeof(*record) - first))
			why = "wrong checksum";
		if (why && bad++ < 10)
			printf("file %" PRIu64 " record %" PRIu64 ": %s\n", file,
			       number, why);
	}
	printf("file %" PRIu64 ": %" PRIu64 " of %" PRIu64 " promised records bad\n",
	       file, bad, count);
	free(record);
	close(fd);
	if (bad)
		exit(1);
}

static size_t record_bytes_parse(const char *text)
{
	size_t bytes = number_parse(text);

	if (bytes % sizeof(uint64_t) || bytes < 2 * sizeof(struct record_head))
		fail("a record needs a multiple of 8 bytes, at least %zu",
		     2 * sizeof(struct record_head));
	return bytes;
}

int main(int argc, char **argv)
{
	if (argc == 8 && !strcmp(argv[1], "write"))
		files_write(argv[2], number_parse(argv[3]), number_parse(argv[4]),
			    record_bytes_parse(argv[5]), number_parse(argv[6]),
			    argv[7]);
	else if (argc == 7 && !strcmp(argv[1], "check"))
		file_check(argv[2], number_parse(argv[3]), record_bytes_parse(argv[4]),
			   number_parse(argv[5]), number_parse(argv[6]));
	else
		fail("usage: records write DIR FIRST FILES BYTES BATCH STOP_FILE\n"
		     "       records check DIR N BYTES BATCH COUNT");
	return 0;
}
