/*
 * Who may use a listener: rules in the terms of exports(5), found by address.
 *
 * The hard case is a rule that is almost right: a word we do not understand must never
 * become a wider rule than its author meant, so anything odd refuses the whole text and
 * the message names the word. "10.0.0.0/24 (ro)", with its space, is such a word; exports(5)
 * reads it as two rules, the second for the whole world.
 *
 * Does not know host names, netgroups or "*".
 */
#include "nfsgather/access.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"
#include "wire/rpc_msg.h"

#define ACCESS_WORD_HELP                                                               \
	"allowed: ADDRESS, ADDRESS/PREFIX or either with (OPTION,...) directly behind"
#define ACCESS_OPTION_HELP                                                             \
	"allowed: ro, rw, secure, insecure, root_squash, no_root_squash, all_squash"

enum {
	ACCESS_WORD_MAX_BYTES = 256,
	ACCESS_PRIVILEGED_PORTS = 1024,
};

struct access_option {
	const char *name;
	void (*apply)(struct access_rule *rule);
};

static void access_set_ro(struct access_rule *rule)
{
	rule->read_write = false;
}

static void access_set_rw(struct access_rule *rule)
{
	rule->read_write = true;
}

static void access_set_secure(struct access_rule *rule)
{
	rule->secure = true;
}

static void access_set_insecure(struct access_rule *rule)
{
	rule->secure = false;
}

static void access_set_root_squash(struct access_rule *rule)
{
	rule->squash = ACCESS_ROOT_SQUASH;
}

static void access_set_no_root_squash(struct access_rule *rule)
{
	rule->squash = ACCESS_NO_ROOT_SQUASH;
}

static void access_set_all_squash(struct access_rule *rule)
{
	rule->squash = ACCESS_ALL_SQUASH;
}

static const struct access_option access_options[] = {
	{ "ro", access_set_ro },
	{ "rw", access_set_rw },
	{ "secure", access_set_secure },
	{ "insecure", access_set_insecure },
	{ "root_squash", access_set_root_squash },
	{ "no_root_squash", access_set_no_root_squash },
	{ "all_squash", access_set_all_squash },
};

/* One word being parsed and where to complain. */
struct access_parse {
	const char *word;
	char *error;
	size_t error_bytes;
};

static int access_refuse(const struct access_parse *parse, const char *what,
			 const char *part, const char *help)
{
	snprintf(parse->error, parse->error_bytes, "\"%s\": %s%s%s%s; %s", parse->word,
		 what, part ? " \"" : "", part ? part : "", part ? "\"" : "", help);
	return -EINVAL;
}

static int access_parse_options(const struct access_parse *parse, char *options,
				struct access_rule *rule)
{
	size_t len = strlen(options);
	char *at = options;

	if (len == 0 || options[len - 1] != ')')
		return access_refuse(
			parse,
			"the option list is not closed by \")\" at the word's end",
			NULL, "no spaces are allowed inside it");
	options[len - 1] = '\0';
	for (;;) {
		char *name = strsep(&at, ",");
		size_t i;

		if (!name)
			return 0;
		for (i = 0; i < sizeof(access_options) / sizeof(access_options[0]); i++)
			if (strcmp(name, access_options[i].name) == 0)
				break;
		if (i == sizeof(access_options) / sizeof(access_options[0]))
			return access_refuse(parse, "unknown option", name,
					     ACCESS_OPTION_HELP);
		access_options[i].apply(rule);
	}
}

static void access_mask(struct access_rule *rule)
{
	unsigned int bits = rule->prefix_bits;
	size_t i;

	for (i = 0; i < sizeof(rule->network); i++) {
		unsigned int keep = bits >= 8 ? 8 : bits;

		rule->network[i] &= (uint8_t)(0xff00U >> keep);
		bits -= keep;
	}
}

/* Rules are compared with addresses in peer_address form. */
static void access_unmap(struct access_rule *rule)
{
	static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

	if (rule->family != AF_INET6 || rule->prefix_bits < 96 ||
	    memcmp(rule->network, mapped, sizeof(mapped)) != 0)
		return;
	rule->family = AF_INET;
	rule->prefix_bits -= 96;
	memmove(rule->network, rule->network + 12, 4);
	memset(rule->network + 4, 0, 12);
}

static int access_parse_network(const struct access_parse *parse, char *text,
				struct access_rule *rule)
{
	char *prefix = strchr(text, '/');
	unsigned int max_bits;
	unsigned long bits;
	char *end;

	if (prefix)
		*prefix++ = '\0';
	if (inet_pton(AF_INET, text, rule->network) == 1)
		rule->family = AF_INET;
	else if (inet_pton(AF_INET6, text, rule->network) == 1)
		rule->family = AF_INET6;
	else
		return access_refuse(parse, "not an IPv4 or IPv6 address:", text,
				     ACCESS_WORD_HELP);
	max_bits = rule->family == AF_INET ? 32 : 128;
	rule->prefix_bits = max_bits;
	if (prefix) {
		size_t len = strlen(prefix);

		bits = strtoul(prefix, &end, 10);
		if (len == 0 || len > 3 || strspn(prefix, "0123456789") != len ||
		    bits > max_bits)
			return access_refuse(parse, "bad prefix length", prefix,
					     max_bits == 32 ? "allowed: 0 to 32"
							    : "allowed: 0 to 128");
		rule->prefix_bits = (unsigned int)bits;
	}
	access_mask(rule);
	access_unmap(rule);
	return 0;
}

static int access_parse_word(const struct access_parse *parse, struct access_rule *rule)
{
	char text[ACCESS_WORD_MAX_BYTES];
	char *options;
	int err;

	*rule = (struct access_rule){ .read_write = true,
				      .secure = true,
				      .squash = ACCESS_NO_ROOT_SQUASH };
	snprintf(text, sizeof(text), "%s", parse->word);
	options = strchr(text, '(');
	if (options)
		*options++ = '\0';
	if (text[0] == '\0')
		return access_refuse(parse, "options without an address", NULL,
				     ACCESS_WORD_HELP);
	err = access_parse_network(parse, text, rule);
	if (err < 0)
		return err;
	return options ? access_parse_options(parse, options, rule) : 0;
}

static int access_rules_add(struct access_rules *rules, const struct access_rule *rule)
{
	struct access_rule *grown =
		realloc(rules->rule, (rules->count + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	grown[rules->count++] = *rule;
	rules->rule = grown;
	return 0;
}

int access_rules_parse(const char *text, struct access_rules *rules, char *error,
		       size_t error_bytes)
{
	struct access_rules parsed = { 0 };
	const char *blanks = " \t\r\n";
	int err = 0;

	text += strspn(text, blanks);
	if (*text == '\0') {
		snprintf(error, error_bytes, "no rule; " ACCESS_WORD_HELP);
		return -EINVAL;
	}
	while (*text != '\0' && err == 0) {
		char word[ACCESS_WORD_MAX_BYTES];
		struct access_parse parse = { word, error, error_bytes };
		struct access_rule rule;
		size_t len = strcspn(text, blanks);

		snprintf(word, sizeof(word), "%.*s", (int)(len > 255 ? 255 : len),
			 text);
		err = len >= sizeof(word) ? access_refuse(&parse, "word too long", NULL,
							  ACCESS_WORD_HELP)
					  : access_parse_word(&parse, &rule);
		if (err == 0)
			err = access_rules_add(&parsed, &rule);
		text += len;
		text += strspn(text, blanks);
	}
	if (err < 0) {
		access_rules_fini(&parsed);
		return err;
	}
	*rules = parsed;
	return 0;
}

int access_rules_loopback(struct access_rules *rules)
{
	char error[128];

	return access_rules_parse("127.0.0.0/8 ::1", rules, error, sizeof(error));
}

void access_rules_fini(struct access_rules *rules)
{
	free(rules->rule);
	*rules = (struct access_rules){ 0 };
}

static bool access_rule_holds(const struct access_rule *rule,
			      const struct peer_address *address)
{
	unsigned int whole = rule->prefix_bits / 8;
	unsigned int rest = rule->prefix_bits % 8;
	uint8_t mask = (uint8_t)(0xff00U >> rest);

	if ((int)address->family != rule->family ||
	    memcmp(address->bytes, rule->network, whole) != 0)
		return false;
	return rest == 0 || (address->bytes[whole] & mask) == rule->network[whole];
}

const struct access_rule *access_rules_find(const struct access_rules *rules,
					    const struct sockaddr *addr)
{
	struct peer_address address;
	size_t i;

	peer_address_init(&address, addr);
	for (i = 0; i < rules->count; i++)
		if (access_rule_holds(&rules->rule[i], &address))
			return &rules->rule[i];
	return NULL;
}

bool access_rule_port_ok(const struct access_rule *rule, const struct sockaddr *addr)
{
	return !rule->secure || peer_port(addr) < ACCESS_PRIVILEGED_PORTS;
}

static bool access_squash_root_id(uint32_t *id)
{
	if (*id != 0)
		return false;
	*id = ACCESS_SQUASH_ID;
	return true;
}

void access_rule_squash(const struct access_rule *rule, struct rpc_cred *cred)
{
	bool changed = false;
	uint32_t i;

	if (cred->flavor != RPC_AUTH_SYS)
		return;
	switch (rule->squash) {
	case ACCESS_NO_ROOT_SQUASH:
		return;
	case ACCESS_ALL_SQUASH:
		cred->uid = ACCESS_SQUASH_ID;
		cred->gid = ACCESS_SQUASH_ID;
		cred->gid_count = 0;
		changed = true;
		break;
	case ACCESS_ROOT_SQUASH:
		changed = access_squash_root_id(&cred->uid);
		changed = access_squash_root_id(&cred->gid) || changed;
		for (i = 0; i < cred->gid_count; i++)
			changed = access_squash_root_id(&cred->gids[i]) || changed;
		break;
	}
	if (changed)
		rpc_cred_encode(cred);
}
