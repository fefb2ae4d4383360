/*
 * Reference arguments and results of every procedure.
 */
#ifndef UNIT_CHECK_UPSTREAM_ROWS_H
#define UNIT_CHECK_UPSTREAM_ROWS_H

#include "unit/check_upstream_peer.h"

/* RFC1813-3.3.0 to 3.3.21, RFC1813-5.2.0 to 5.2.5 */
struct upstream_row {
	const char *title;
	uint32_t program;
	uint32_t version;
	uint32_t proc;
	void (*put_args)(struct bytes *args);
	void (*put_results)(struct bytes *results);
};

extern const struct upstream_row upstream_rows[];
extern const unsigned int upstream_row_count;

#endif
