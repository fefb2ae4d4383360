/*
 * The write verifier that clients see (P3): one for the whole upstream, never zero, never
 * the same twice in one life of the process.
 */
#ifndef COALESCE_VERIFIER_H
#define COALESCE_VERIFIER_H

#include <stdbool.h>

#include "nfsgather/nfs3.h"

/* `first` as it is, or 1 if it is zero (some clients take zero for "none seen yet"). */
struct nfs3_verifier verifier_first(struct nfs3_verifier first);
/* The one after `current`. */
struct nfs3_verifier verifier_next(struct nfs3_verifier current);
bool verifier_equal(const struct nfs3_verifier *a, const struct nfs3_verifier *b);

#endif
