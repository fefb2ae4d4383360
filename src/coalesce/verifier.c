/*
 * Write verifiers: making the next one.
 *
 * The hard case is "never repeat an old one" (doc/semantics.md, I2) without a list of old
 * ones: within a life the value counts up from a random start, so it repeats after 2^64
 * rotations. That two lives of the process overlap is not excluded, only as unlikely as
 * two random 64-bit numbers being near each other.
 */
#include "coalesce/verifier.h"

#include <string.h>

static uint64_t verifier_number(struct nfs3_verifier verifier)
{
	uint64_t number;

	_Static_assert(sizeof(number) == NFS3_WRITEVERFSIZE, "a verifier is 64 bits");
	memcpy(&number, verifier.data, sizeof(number));
	return number;
}

static struct nfs3_verifier verifier_from_number(uint64_t number)
{
	struct nfs3_verifier verifier;

	if (number == 0)
		number = 1;
	memcpy(verifier.data, &number, sizeof(number));
	return verifier;
}

struct nfs3_verifier verifier_first(struct nfs3_verifier first)
{
	return verifier_from_number(verifier_number(first));
}

struct nfs3_verifier verifier_next(struct nfs3_verifier current)
{
	return verifier_from_number(verifier_number(current) + 1);
}

bool verifier_equal(const struct nfs3_verifier *a, const struct nfs3_verifier *b)
{
	return memcmp(a->data, b->data, sizeof(a->data)) == 0;
}
