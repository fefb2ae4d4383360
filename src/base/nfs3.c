/*
 * The few operations on neutral NFSv3 values.
 *
 * A status comes from the network: a number outside RFC 1813's list is as good as any.
 */
#include "nfsgather/nfs3.h"

#include <string.h>

const char *nfs3_status_name(uint32_t status)
{
	switch (status) {
#define X(number, name)                                                                \
	case number:                                                                   \
		return #name;
		NFS3_STATUS_TABLE(X)
#undef X
	default:
		return "NFS3ERR_?";
	}
}

bool nfs3_fh_equal(const struct nfs3_fh *a, const struct nfs3_fh *b)
{
	return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}
