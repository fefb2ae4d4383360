/*
 * What results tell beside their answer: the upstream's clock, its limits.
 */
#ifndef UPSTREAM_UPSTREAM_LEARN_H
#define UPSTREAM_UPSTREAM_LEARN_H

#include <stdint.h>

#include "nfsgather/call.h"

struct upstream_lesson {
	uint64_t newest_ctime_ns;   /* set by this very call; 0: none was */
	uint32_t wtmax_bytes;	    /* 0: not told */
	uint64_t maxfilesize_bytes; /* 0: not told */
	uint32_t read_bytes;	    /* payload of a successful READ */
};

/* Reads libnfs' result struct for an NFS call (MOUNT and NFSACL teach nothing). */
void upstream_learn(struct upstream_lesson *lesson, const struct nfs_call *call,
		    const void *results);

#endif
