/*
 * Calls whose reply may never come although their connection answers others.
 */
#ifndef UPSTREAM_UPSTREAM_OVERDUE_H
#define UPSTREAM_UPSTREAM_OVERDUE_H

#include "nfsgather/clock.h"

struct upstream_conn;

/* In state UP: sets conn->broken if a call is out for longer than it may be. */
void upstream_overdue_check(struct upstream_conn *conn, mono_us now);

#endif
