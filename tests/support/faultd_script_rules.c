/*
 * Script commands that make, use and end rules.
 *
 * The hard case is `release` without a number: it ends the hold first, so that what is
 * let go cannot be caught again. Every command that cannot be understood changes nothing.
 */
#include "faultd.h"

#include <errno.h>
#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Words after the procedure, without the key=value ones (see rule_parse_filters). */
struct words {
	char **w;
	int n;
};

static int parse_choice(const char *word, const char *const *names, int *choice)
{
	for (int i = 0; names[i]; i++) {
		if (!strcasecmp(word, names[i])) {
			*choice = i;
			return 0;
		}
	}
	return -EINVAL;
}

/* Milliseconds with decimals to microseconds. */
static int parse_ms(const char *word, uint64_t *us)
{
	char *end;
	double ms = strtod(word, &end);

	if (*end || end == word || ms < 0 || ms > 1e9)
		return -EINVAL;
	*us = (uint64_t)(ms * 1000);
	return 0;
}

static int rule_parse_filter(struct faultd *f, const char *word, struct rule *r)
{
	uint64_t v = 0;
	uint32_t status;

	if (!strncmp(word, "file=", 5)) {
		struct node *n = fs_walk(f, word + 5, &status);

		r->node_id = n ? n->id : 0;
		return n ? 0 : -ENOENT;
	}
	if (script_parse_number(strchr(word, '=') + 1, &v))
		return -EINVAL;
	if (!strncmp(word, "conn=", 5))
		r->conn = v;
	else if (!strncmp(word, "uid=", 4))
		r->uid = (int64_t)v;
	else if (!strncmp(word, "skip=", 5))
		r->skip = v;
	else if (!strncmp(word, "count=", 6))
		r->count = (int64_t)v;
	else
		return -EINVAL;
	return 0;
}

static int rule_parse_filters(struct faultd *f, struct words *words, struct rule *r)
{
	int kept = 0;

	for (int i = 0; i < words->n; i++) {
		int rc = 0;

		if (strchr(words->w[i], '='))
			rc = rule_parse_filter(f, words->w[i], r);
		else
			words->w[kept++] = words->w[i];
		if (rc)
			return rc;
	}
	words->n = kept;
	return 0;
}

static int rule_parse_count(const struct words *words, int at, struct rule *r)
{
	uint64_t v;

	if (words->n <= at)
		return 0;
	if (words->n > at + 1 || script_parse_number(words->w[at], &v) || !v)
		return -EINVAL;
	r->count = (int64_t)v;
	return 0;
}

static int rule_parse_error(const struct words *words, struct rule *r)
{
	uint32_t status;

	if (nfs_status_parse(words->w[0], &status))
		return -EINVAL;
	r->kind = RULE_ERROR;
	r->value = status;
	return 0;
}

static int rule_parse_bytes(enum rule_kind kind, const struct words *words,
			    struct rule *r)
{
	r->kind = kind;
	return script_parse_number(words->w[0], &r->value);
}

static int rule_parse_delay(struct words *words, struct rule *r)
{
	static const char *const modes[] = { "parallel", "serial", "group", NULL };

	r->kind = RULE_DELAY;
	r->variant = LANE_DEFAULT;
	if (parse_ms(words->w[0], &r->value))
		return -EINVAL;
	if (words->n > 1 && !parse_choice(words->w[1], modes, &r->variant)) {
		words->w++;
		words->n--;
	}
	return 0;
}

/* before or after; kind is the one of before, the next enum value that of after. */
static int rule_parse_stage(enum rule_kind kind, const struct words *words,
			    struct rule *r)
{
	static const char *const stages[] = { "before", "after", NULL };
	int stage;

	if (parse_choice(words->w[0], stages, &stage))
		return -EINVAL;
	r->kind = (enum rule_kind)((int)kind + stage);
	return 0;
}

static int rule_parse_garbage(const struct words *words, struct rule *r)
{
	static const char *const kinds[] = { "body", "record", "mark",
					     "xid",  "short",  NULL };

	r->kind = RULE_GARBAGE;
	return parse_choice(words->w[0], kinds, &r->variant);
}

/* 1: not a rule; 0 or -errno. */
static int rule_parse(struct faultd *f, char **w, int n, struct rule *r)
{
	static char default_stage[] = "before";
	static const char *const verbs[] = { "delay", "hold", "error",	 "short",
					     "cut",   "drop", "garbage", NULL };
	struct words words = { w + 2, n - 2 };
	char *hold_words[] = { default_stage, NULL };
	int verb, rc;

	*r = (struct rule){ .count = -1, .uid = -1 };
	if (n < 1 || parse_choice(w[0], verbs, &verb))
		return 1;
	if (n < 2 || rule_parse_procs(w[1], r))
		return -EINVAL;
	rc = rule_parse_filters(f, &words, r);
	if (rc)
		return rc;
	if (verb == 1 && !words.n)
		words = (struct words){ hold_words, 1 };
	if (!words.n)
		return -EINVAL;
	if ((verb == 4 || verb == 5 || verb == 6) && r->count < 0)
		r->count = 1; /* one spoiled reply unless told otherwise */
	switch (verb) {
	case 0:
		rc = rule_parse_delay(&words, r);
		break;
	case 1:
		rc = rule_parse_stage(RULE_HOLD_BEFORE, &words, r);
		break;
	case 2:
		rc = rule_parse_error(&words, r);
		break;
	case 3:
		rc = rule_parse_bytes(RULE_SHORT, &words, r);
		break;
	case 4:
		rc = rule_parse_bytes(RULE_CUT, &words, r);
		break;
	case 5:
		rc = rule_parse_stage(RULE_DROP_BEFORE, &words, r);
		break;
	default:
		rc = rule_parse_garbage(&words, r);
		break;
	}
	return rc ? rc : rule_parse_count(&words, 1, r);
}

static bool is_hold(const struct rule *r)
{
	return r->kind == RULE_HOLD_BEFORE || r->kind == RULE_HOLD_AFTER;
}

/* release, waiting, clear */
static int rule_command(struct faultd *f, char **w, int n, uint64_t *value)
{
	struct words words = { w + 2, n - 2 };
	struct rule r = { .mask = UINT32_MAX, .uid = -1 };
	bool release = !strcasecmp(w[0], "release");

	if (n > 1 && rule_parse_procs(w[1], &r))
		return -EINVAL;
	if (n > 1 && rule_parse_filters(f, &words, &r))
		return -EINVAL;
	if (words.n > 1 || (words.n == 1 && !release))
		return -EINVAL;
	*value = UINT32_MAX;
	if (!strcasecmp(w[0], "waiting")) {
		*value = queue_count(f, &r);
		return 0;
	}
	if (words.n > 0 && script_parse_number(words.w[0], value))
		return -EINVAL;
	if (!release)
		rule_clear(f, -1, r.mask);
	if (release && words.n <= 0) {
		rule_clear(f, RULE_HOLD_BEFORE, r.mask);
		rule_clear(f, RULE_HOLD_AFTER, r.mask);
	}
	*value = queue_release(f, &r, (uint32_t)*value);
	return 0;
}

static bool is_rule_command(const char *verb)
{
	return !strcasecmp(verb, "release") || !strcasecmp(verb, "waiting") ||
	       !strcasecmp(verb, "clear");
}

bool script_run_rule(struct faultd *f, char **words, int n, struct evbuffer *answer)
{
	struct rule r;
	uint64_t value = 0;
	int rc;

	if (n && is_rule_command(words[0])) {
		rc = rule_command(f, words, n, &value);
	} else {
		rc = rule_parse(f, words, n, &r);
		if (rc > 0)
			return false;
		if (!rc && is_hold(&r))
			value = queue_count(f, &r);
		if (!rc)
			rule_add(f, &r);
	}
	if (rc)
		evbuffer_add_printf(answer, "error bad %s", words[0]);
	else
		evbuffer_add_printf(answer, "ok %llu", (unsigned long long)value);
	return true;
}
