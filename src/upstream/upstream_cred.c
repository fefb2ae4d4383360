/*
 * Sets the client's own credential bytes on a libnfs context.
 *
 * The hard case: libnfs would re-encode an AUTH_SYS credential with its own stamp and
 * without what it does not know, so its struct AUTH is filled by hand. libnfs copies it
 * into each call when the call is made, which makes one setting per call safe.
 */
#include "upstream/upstream_cred.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "upstream/libnfs_raw.h"

static bool cred_is_set(const struct upstream_cred *now, const struct rpc_cred *cred)
{
	return now->known && now->flavor == cred->flavor &&
	       now->body_len == cred->body_len &&
	       memcmp(now->body, cred->body, cred->body_len) == 0;
}

int upstream_cred_apply(struct upstream_cred *now, struct rpc_context *rpc,
			const struct rpc_cred *cred)
{
	struct AUTH *auth;

	INVARIANT(cred->body_len <= sizeof(cred->body));
	if (cred_is_set(now, cred))
		return 0;
	auth = calloc(1, sizeof(*auth));
	if (auth == NULL)
		return -ENOMEM;
	auth->ah_cred.oa_flavor = cred->flavor;
	auth->ah_cred.oa_length = cred->body_len;
	if (cred->body_len > 0) {
		/* freed by libnfs, with free(), when the next one is set */
		auth->ah_cred.oa_base = malloc(cred->body_len);
		if (auth->ah_cred.oa_base == NULL) {
			free(auth);
			return -ENOMEM;
		}
		memcpy(auth->ah_cred.oa_base, cred->body, cred->body_len);
	}
	rpc_set_auth(rpc, auth); /* libnfs owns it from here on */
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): see above */
	now->known = true;
	now->flavor = cred->flavor;
	now->body_len = cred->body_len;
	memcpy(now->body, cred->body, cred->body_len);
	return 0;
}
