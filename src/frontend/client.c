/*
 * The table of clients that anything is known of: found by address and machine name,
 * forgotten with the last session, call or cached reply.
 *
 * The hard case: the machine name is any bytes the client likes, NUL included; identity
 * compares all of them, the log sees a cleaned text. And a client may be forgotten here while
 * the engine still has an error to tell it; so its id comes from its identity (a keyed hash
 * of 64 bits), and is the same when it comes back.
 *
 * Does not trust the name: two hosts behind one address with one name are one client.
 */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void client_table_init(struct client_table *table)
{
	hash_init(&table->clients);
}

void client_table_fini(struct client_table *table)
{
	INVARIANT(table->clients.node_count == 0);
	hash_fini(&table->clients);
}

static void client_key_init(struct client_key *key, const struct peer_address *address,
			    const struct rpc_cred *cred)
{
	*key = (struct client_key){ .address = *address };
	if (cred->flavor != RPC_AUTH_SYS)
		return;
	key->name_len = cred->machine_name_len;
	memcpy(key->name, cred->machine_name, cred->machine_name_len);
}

static size_t client_key_bytes(const struct client_key *key)
{
	return offsetof(struct client_key, name) + key->name_len;
}

static bool client_match(const struct hash_node *node, const void *arg)
{
	const struct client *client = container_of(node, struct client, node);
	const struct client_key *key = arg;

	return key->name_len == client->key.name_len &&
	       memcmp(key, &client->key, client_key_bytes(key)) == 0;
}

static void client_write_text(struct client *client)
{
	char address[PEER_TEXT_BYTES];
	char name[48];
	size_t i;

	snprintf(name, sizeof(name), "%.*s", (int)sizeof(name) - 1, client->key.name);
	for (i = 0; name[i] != '\0'; i++)
		if (name[i] <= ' ' || name[i] > '~')
			name[i] = '?';
	peer_address_text(address, &client->key.address);
	snprintf(client->text, sizeof(client->text), "%s@%s", name, address);
}

struct client *client_get(struct client_table *table,
			  const struct peer_address *address,
			  const struct rpc_cred *cred)
{
	struct client_key key;
	struct hash_node *node;
	struct client *client;
	uint64_t hash;
	size_t i;

	client_key_init(&key, address, cred);
	hash = hash_bytes(&key, client_key_bytes(&key));
	node = hash_find(&table->clients, hash, client_match, &key);
	if (node)
		return client_ref(container_of(node, struct client, node));
	client = calloc(1, sizeof(*client));
	if (!client)
		return NULL;
	client->table = table;
	client->refs = 1;
	/* UINT64_MAX is no client to the engine. */
	client->id = hash == UINT64_MAX ? 0 : hash;
	client->key = key;
	client_write_text(client);
	TAILQ_INIT(&client->sessions);
	for (i = 0; i < CLIENT_REPLY_AGES; i++)
		TAILQ_INIT(&client->replies[i]);
	if (hash_insert(&table->clients, hash, &client->node) < 0) {
		free(client);
		return NULL;
	}
	return client;
}

bool client_is(const struct client *client, const struct peer_address *address,
	       const struct rpc_cred *cred)
{
	uint32_t len = cred->flavor == RPC_AUTH_SYS ? cred->machine_name_len : 0;

	return client->key.name_len == len &&
	       memcmp(client->key.name, cred->machine_name, len) == 0 &&
	       peer_address_equal(&client->key.address, address);
}

struct client *client_ref(struct client *client)
{
	client->refs++;
	return client;
}

void client_unref(struct client *client)
{
	if (!client)
		return;
	INVARIANT(client->refs > 0);
	if (--client->refs > 0)
		return;
	INVARIANT(TAILQ_EMPTY(&client->sessions));
	hash_remove(&client->table->clients, &client->node);
	free(client);
}
