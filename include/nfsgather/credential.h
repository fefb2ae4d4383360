/*
 * A credential that outlives its call: buffered bytes are written with the credential of
 * the client that wrote them and with no other (P6).
 *
 * Two pointers are equal exactly when the credentials are: same flavor, machine name, uid,
 * gid and groups. The stamp does not count (Linux puts the time into it), so the bytes that
 * go upstream are those of the call that was first seen with it.
 */
#ifndef NFSGATHER_CREDENTIAL_H
#define NFSGATHER_CREDENTIAL_H

#include "nfsgather/call.h"
#include "nfsgather/hash.h"

struct credential_table {
	struct hash_table by_value;
};

struct credential {
	struct hash_node node;
	struct credential_table *table;
	unsigned int refs;
	struct rpc_cred rpc;
};

void credential_table_init(struct credential_table *table);
/* Every reference must have been given back. */
void credential_table_fini(struct credential_table *table);

/* One reference to the one credential that equals `rpc`; NULL when memory is short. */
struct credential *credential_get(struct credential_table *table,
				  const struct rpc_cred *rpc);
struct credential *credential_ref(struct credential *credential);
/* NULL is allowed. */
void credential_unref(struct credential *credential);

#endif
