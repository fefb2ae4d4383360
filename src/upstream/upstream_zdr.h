/*
 * Lengths in replies are checked before libnfs believes them.
 */
#ifndef UPSTREAM_UPSTREAM_ZDR_H
#define UPSTREAM_UPSTREAM_ZDR_H

/* Before the first context is made. */
void upstream_zdr_init(void);

#endif
