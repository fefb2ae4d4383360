/*
 * Clients: who is behind the sessions. A client is an address without port and the
 * AUTH_SYS machine name; all its connections are one client. Calls without AUTH_SYS
 * count as the client with the empty name.
 */
#ifndef FRONTEND_CLIENT_H
#define FRONTEND_CLIENT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "nfsgather/call.h"
#include "nfsgather/hash.h"
#include "nfsgather/invariant.h"

#include "peer.h"

struct session;
struct reply_entry;
TAILQ_HEAD(client_session_list, session);
TAILQ_HEAD(reply_entry_list, reply_entry);

enum { CLIENT_REPLY_AGES = 3, CLIENT_TEXT_BYTES = 128 };

struct client_key {
	struct peer_address address;
	uint32_t name_len;
	char name[RPC_MACHINE_NAME_MAX_BYTES + 1];
};

struct client {
	struct hash_node node;
	struct client_table *table;
	unsigned int refs; /* one for each session, call and reply entry */
	uint64_t id;	   /* the same whenever it comes back; not UINT64_MAX */
	struct client_key key;
	char text[CLIENT_TEXT_BYTES]; /* "name@address", safe for the log */
	struct client_session_list
		sessions; /* session.c: whose last call was this client's */
	/* reply_cache.c: answered entries, oldest first, by enum reply_keep */
	struct reply_entry_list replies[CLIENT_REPLY_AGES];
	size_t reply_count[CLIENT_REPLY_AGES];
};

struct client_table {
	struct hash_table clients;
};

void client_table_init(struct client_table *table);
/* Every reference must have been given back. */
void client_table_fini(struct client_table *table);

/* The client of this address and credential, with a reference; NULL when memory is short. */
struct client *client_get(struct client_table *table,
			  const struct peer_address *address,
			  const struct rpc_cred *cred);
/* Would client_get() find this one? */
bool client_is(const struct client *client, const struct peer_address *address,
	       const struct rpc_cred *cred);
struct client *client_ref(struct client *client);
/* The last one forgets the client. NULL is allowed. */
void client_unref(struct client *client);

#endif
