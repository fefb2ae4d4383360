/*
 * How much memory this process may count on: the machine's, or its cgroup's limit.
 */
#ifndef DAEMON_CONFIG_MEMORY_H
#define DAEMON_CONFIG_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* The largest record: wtmax is not known before the upstream is. */
#define CONFIG_MEMORY_RECORD_BYTES ((uint64_t)(4 << 20) + 4096)
enum {
	CONFIG_MEMORY_RECORDS = 4,
	CONFIG_MEMORY_COPIES =
		2, /* ours, and the one the NFS library makes to send it */
};

/* What `upstreams` upstreams need at least. */
uint64_t config_memory_needed_bytes(size_t upstreams);
/*
 * What each upstream can have for bytes that are not stable yet, whatever the others
 * do, in whole MiB: of what admission always lets it have (admission.h), all but one of
 * the largest records. More would make clients wait for memory before the thresholds
 * that free it are reached. `memory_bytes` is at least what is needed.
 */
uint64_t config_memory_room_bytes(uint64_t memory_bytes, size_t upstreams);
/* The smaller of 1 GiB and a quarter of what there is. */
uint64_t config_memory_default_bytes(void);

/*
 * The smallest limit on the way from our cgroup to the root, UINT64_MAX when there is
 * none. `membership` is /proc/self/cgroup, `mount_point` where the cgroups are.
 */
uint64_t config_memory_cgroup_bytes(const char *membership, const char *mount_point);

#endif
