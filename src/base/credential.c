/*
 * Credentials that outlive their calls, one object for each value.
 *
 * The hard case is what equality means. Too wide, and bytes would be written as
 * somebody else: so groups are compared in their order, though no server cares for it.
 * Too narrow, and nothing of one user would ever merge: so the stamp, which some clients
 * change all the time, is left out.
 */
#include "nfsgather/credential.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* All that makes a credential, one after the other and no longer than need be. */
static uint64_t credential_hash(const struct rpc_cred *rpc)
{
	INVARIANT(rpc->gid_count <= RPC_AUTH_SYS_GIDS_MAX &&
		  rpc->machine_name_len <= RPC_MACHINE_NAME_MAX_BYTES);
	const uint32_t head[] = { rpc->flavor, rpc->uid, rpc->gid, rpc->gid_count,
				  rpc->machine_name_len };
	size_t gids_bytes = rpc->gid_count * sizeof(rpc->gids[0]);
	uint8_t key[sizeof(head) + sizeof(rpc->gids) + sizeof(rpc->machine_name)];
	uint8_t *at = key;

	memcpy(at, head, sizeof(head));
	at += sizeof(head);
	memcpy(at, rpc->gids, gids_bytes);
	at += gids_bytes;
	memcpy(at, rpc->machine_name, rpc->machine_name_len);
	at += rpc->machine_name_len;
	return hash_bytes(key, (size_t)(at - key));
}

static bool credential_matches(const struct hash_node *node, const void *key)
{
	const struct rpc_cred *a = &container_of(node, struct credential, node)->rpc;
	const struct rpc_cred *b = key;

	return a->flavor == b->flavor && a->uid == b->uid && a->gid == b->gid &&
	       a->gid_count == b->gid_count &&
	       memcmp(a->gids, b->gids, a->gid_count * sizeof(a->gids[0])) == 0 &&
	       a->machine_name_len == b->machine_name_len &&
	       memcmp(a->machine_name, b->machine_name, a->machine_name_len) == 0;
}

void credential_table_init(struct credential_table *table)
{
	hash_init(&table->by_value);
}

void credential_table_fini(struct credential_table *table)
{
	INVARIANT(table->by_value.node_count == 0);
	hash_fini(&table->by_value);
}

struct credential *credential_get(struct credential_table *table,
				  const struct rpc_cred *rpc)
{
	uint64_t hash = credential_hash(rpc);
	struct hash_node *node =
		hash_find(&table->by_value, hash, credential_matches, rpc);

	if (node != NULL)
		return credential_ref(container_of(node, struct credential, node));
	struct credential *credential = malloc(sizeof(*credential));
	if (credential == NULL)
		return NULL;
	*credential = (struct credential){ .table = table, .refs = 1, .rpc = *rpc };
	if (hash_insert(&table->by_value, hash, &credential->node) != 0) {
		free(credential);
		return NULL;
	}
	return credential;
}

struct credential *credential_ref(struct credential *credential)
{
	INVARIANT(credential->refs > 0 && credential->refs < UINT_MAX);
	credential->refs++;
	return credential;
}

void credential_unref(struct credential *credential)
{
	if (credential == NULL)
		return;
	INVARIANT(credential->refs > 0);
	if (--credential->refs > 0)
		return;
	hash_remove(&credential->table->by_value, &credential->node);
	free(credential);
}
