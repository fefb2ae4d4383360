/*
 * Sets up allocator and limits.
 *
 * The hard case: page faults. An allocation of a 1 MiB record that the C library serves
 * by mmap costs a mapping, 256 faults and an unmapping for every call. Nothing here is
 * needed for correctness, so nothing here fails.
 */
#include "daemon/process.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>

#include "nfsgather/log.h"

enum {
	/*
	 * Above the largest record (4 MiB + 4 KiB) and its copy in the NFS library, so
	 * that both come from the heap and stay mapped. Setting it also stops the C
	 * library from moving the threshold by itself.
	 */
	PROCESS_MMAP_THRESHOLD_BYTES = 16 << 20,
	/*
	 * How much free memory may stay at the heap's end. As much as is buffered by
	 * default: it comes and goes with each COMMIT, and each of its pages would have
	 * to be faulted in anew. Given back late is the price: a burst's memory stays.
	 */
	PROCESS_TRIM_THRESHOLD_BYTES = 1 << 30,
	/* Enough for every client we can serve; some libraries size tables by it. */
	PROCESS_DESCRIPTORS_MAX = 65536,
};

static void process_limit_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max < PROCESS_DESCRIPTORS_MAX
				 ? limit.rlim_max
				 : PROCESS_DESCRIPTORS_MAX;
	if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
		log_warn("the limit of open descriptors cannot be set: %s",
			 strerror(errno));
}

void process_tune(void)
{
	mallopt(M_MMAP_THRESHOLD, PROCESS_MMAP_THRESHOLD_BYTES);
	mallopt(M_TRIM_THRESHOLD, PROCESS_TRIM_THRESHOLD_BYTES);
	process_limit_descriptors();
}

int process_random(void *bytes, size_t count)
{
	unsigned char *to = bytes;

	while (count > 0) {
		ssize_t got = getrandom(to, count, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		to += got;
		count -= (size_t)got;
	}
	return 0;
}
