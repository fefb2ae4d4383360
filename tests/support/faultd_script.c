/*
 * Script commands: one table row each.
 *
 * The hard case is `reboot`: data, verifier, waiting calls, made replies and connections
 * change in the order in which a crash would change them, within one turn of the loop.
 */
#include "faultd.h"

#include <errno.h>
#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

struct command {
	const char *verb;
	/* words without the verb; 0 or -errno; may add to the answer after "ok" */
	int (*run)(struct faultd *f, char **w, int n, struct evbuffer *answer);
};

int script_parse_switch(const char *word, bool *on)
{
	*on = !strcasecmp(word, "on");
	return *on || !strcasecmp(word, "off") ? 0 : -EINVAL;
}

int script_parse_number(const char *word, uint64_t *v)
{
	char *end;

	errno = 0;
	*v = strtoull(word, &end, 10);
	return *word < '0' || *word > '9' || *end || errno ? -EINVAL : 0;
}

void script_new_verifier(struct faultd *f)
{
	uint64_t fresh = 0;

	while (!fresh || fresh == f->verifier) {
		if (getrandom(&fresh, sizeof(fresh), 0) != sizeof(fresh))
			abort();
	}
	f->verifier = fresh;
}

static int run_ping(struct faultd *f, char **w, int n, struct evbuffer *answer)
{
	(void)w;
	if (n)
		return -EINVAL;
	evbuffer_add_printf(answer, " port %u", f->port);
	return 0;
}

static int run_quit(struct faultd *f, char **w, int n, struct evbuffer *answer)
{
	struct timeval soon = { .tv_usec = 10000 }; /* lets the answer leave */

	(void)w;
	(void)answer;
	if (n)
		return -EINVAL;
	return event_base_loopexit(f->base, &soon) ? -EIO : 0;
}

/* reboot [quiet] [flush] [keep | some SEED] */
static int run_reboot(struct faultd *f, char **w, int n, struct evbuffer *answer)
{
	bool quiet = false, flush = false, keep = false;
	uint64_t some = 0;

	for (int i = 0; i < n; i++) {
		if (!strcasecmp(w[i], "quiet"))
			quiet = true;
		else if (!strcasecmp(w[i], "flush"))
			flush = true;
		else if (!strcasecmp(w[i], "keep"))
			keep = true;
		else if (strcasecmp(w[i], "some") != 0 || ++i == n ||
			 script_parse_number(w[i], &some) || !some)
			return -EINVAL;
	}
	if (!quiet)
		queue_drop(f, true);
	if (!keep)
		fs_reboot(&f->fs, some);
	if (!quiet)
		conn_close_all(f, flush);
	script_new_verifier(f);
	f->stats.reboots++;
	evbuffer_add_printf(answer, " %016llx", (unsigned long long)f->verifier);
	return 0;
}

/* verifier [new | HEX] */
static int run_verifier(struct faultd *f, char **w, int n, struct evbuffer *answer)
{
	char *end = NULL;
	uint64_t v;

	if (n > 1)
		return -EINVAL;
	if (n && !strcasecmp(w[0], "new")) {
		script_new_verifier(f);
	} else if (n) {
		v = strtoull(w[0], &end, 16);
		if (*end || !v)
			return -EINVAL;
		f->verifier = v;
	}
	evbuffer_add_printf(answer, " %016llx", (unsigned long long)f->verifier);
	return 0;
}

static int run_noattrs(struct faultd *f, char **w, int n, struct evbuffer *answer)
{
	(void)answer;
	return n == 1 ? script_parse_switch(w[0], &f->no_attrs) : -EINVAL;
}

static int run_nowcc(struct faultd *f, char **w, int n, struct evbuffer *answer)
{
	(void)answer;
	return n == 1 ? script_parse_switch(w[0], &f->no_wcc) : -EINVAL;
}

static int run_zeroverf(struct faultd *f, char **w, int n, struct evbuffer *answer)
{
	(void)answer;
	return n == 1 ? script_parse_switch(w[0], &f->zero_verifier) : -EINVAL;
}

static int run_mute(struct faultd *f, char **w, int n, struct evbuffer *answer)
{
	(void)answer;
	return n == 1 ? script_parse_switch(w[0], &f->mute) : -EINVAL;
}

static int run_deaf(struct faultd *f, char **w, int n, struct evbuffer *answer)
{
	(void)answer;
	if (n != 1 || script_parse_switch(w[0], &f->deaf))
		return -EINVAL;
	conn_set_deaf(f);
	return 0;
}

static int run_committed(struct faultd *f, char **w, int n, struct evbuffer *answer)
{
	static const char *const names[] = { "unstable", "data_sync", "file_sync",
					     "asked" };

	(void)answer;
	for (int i = 0; n == 1 && i < 4; i++) {
		if (!strcasecmp(w[0], names[i])) {
			f->committed_as = (enum stable_how)i;
			return 0;
		}
	}
	return -EINVAL;
}

static int run_downgrade(struct faultd *f, char **w, int n, struct evbuffer *answer)
{
	bool on;

	(void)answer;
	if (n != 1 || script_parse_switch(w[0], &on))
		return -EINVAL;
	f->committed_as = on ? UNSTABLE : STABLE_AS_ASKED;
	return 0;
}

static int run_commits(struct faultd *f, char **w, int n, struct evbuffer *answer)
{
	static const char *const names[] = { "parallel", "serial", "group" };

	(void)answer;
	for (int i = 0; n == 1 && i < 3; i++) {
		if (!strcasecmp(w[0], names[i])) {
			f->lane_default = (enum lane_mode)i;
			return 0;
		}
	}
	return -EINVAL;
}

static int run_reorder(struct faultd *f, char **w, int n, struct evbuffer *answer)
{
	uint64_t v;

	(void)answer;
	if (n != 1 || script_parse_number(w[0], &v) || v > 100000)
		return -EINVAL;
	f->reorder = (uint32_t)v;
	for (struct conn *c = f->conns; c && v < 2; c = c->next) {
		if (!c->stalled && c->waiting.first) {
			conn_flush_waiting(c, true);
			return run_reorder(f, w, n,
					   answer); /* the list may have changed */
		}
	}
	return 0;
}

/* Applies to one connection or to all there are now; false from what: gone. */
static int each_conn(struct faultd *f, const char *word, void (*what)(struct conn *c))
{
	struct conn *c, *next;
	uint64_t number;

	if (!strcasecmp(word, "all")) {
		for (c = f->conns; c; c = next) {
			next = c->next;
			what(c);
		}
		return 0;
	}
	if (script_parse_number(word, &number))
		return -EINVAL;
	c = conn_find(f, number);
	if (!c)
		return -ENOENT;
	what(c);
	return 0;
}

static void stall(struct conn *c)
{
	c->stalled = true;
}

static void unstall(struct conn *c)
{
	c->stalled = false;
	conn_flush_waiting(c, false);
}

static void close_gently(struct conn *c)
{
	conn_close(c, false);
}

static void close_reset(struct conn *c)
{
	conn_close(c, true);
}

static int run_stall(struct faultd *f, char **w, int n, struct evbuffer *answer)
{
	(void)answer;
	return n == 1 ? each_conn(f, w[0], stall) : -EINVAL;
}

static int run_unstall(struct faultd *f, char **w, int n, struct evbuffer *answer)
{
	(void)answer;
	return n == 1 ? each_conn(f, w[0], unstall) : -EINVAL;
}

static int run_close(struct faultd *f, char **w, int n, struct evbuffer *answer)
{
	(void)answer;
	if (n == 1)
		return each_conn(f, w[0], close_gently);
	return n == 2 && !strcasecmp(w[1], "reset") ? each_conn(f, w[0], close_reset)
						    : -EINVAL;
}

static int run_refuse(struct faultd *f, char **w, int n, struct evbuffer *answer)
{
	(void)w;
	(void)answer;
	if (n)
		return -EINVAL;
	conn_refuse(f);
	return 0;
}

static int run_listen(struct faultd *f, char **w, int n, struct evbuffer *answer)
{
	(void)w;
	(void)answer;
	return n ? -EINVAL : conn_listen(f);
}

static int run_stats(struct faultd *f, char **w, int n, struct evbuffer *answer)
{
	if (n > 1 || (n && strcasecmp(w[0], "reset") != 0))
		return -EINVAL;
	evbuffer_add_printf(answer, " ");
	stats_print(f, answer);
	if (n)
		f->stats = (struct stats){ .accepted = f->stats.accepted };
	return 0;
}

/* calls [clear | PROC] [N] */
static int run_calls(struct faultd *f, char **w, int n, struct evbuffer *answer)
{
	struct rule which = { .mask = UINT32_MAX };
	uint64_t last = 0;

	if (n == 1 && !strcasecmp(w[0], "clear")) {
		stats_clear_calls(f);
		return 0;
	}
	if (n && !script_parse_number(w[n - 1], &last))
		n--;
	if (n > 1 || (n && rule_parse_procs(w[0], &which)))
		return -EINVAL;
	evbuffer_add_printf(answer, " ");
	stats_print_calls(f, answer, &which, last);
	return 0;
}

static int run_conns(struct faultd *f, char **w, int n, struct evbuffer *answer)
{
	(void)w;
	if (n)
		return -EINVAL;
	evbuffer_add_printf(answer, " ");
	stats_print_conns(f, answer);
	return 0;
}

static int run_file(struct faultd *f, char **w, int n, struct evbuffer *answer)
{
	uint32_t status;
	struct node *node = n == 1 ? fs_walk(f, w[0], &status) : NULL;
	const struct content *c;

	if (!node)
		return n == 1 ? -ENOENT : -EINVAL;
	c = &node->content;
	evbuffer_add_printf(answer,
			    " {\"fileid\": %llu, \"type\": %u, \"mode\": %u, "
			    "\"uid\": %u, \"gid\": %u, \"nlink\": %u, \"size\": %llu, "
			    "\"stable_size\": %llu, \"crc\": %u, \"stable_crc\": %u, "
			    "\"dirty\": %llu}",
			    (unsigned long long)node->id, node->type, node->mode,
			    node->uid, node->gid, node->nlink,
			    (unsigned long long)c->visible.size,
			    (unsigned long long)c->stable.size,
			    image_crc32(&c->visible), image_crc32(&c->stable),
			    (unsigned long long)content_dirty_bytes(c));
	return 0;
}

/* dump PATH LOCAL [visible] */
static int run_dump(struct faultd *f, char **w, int n, struct evbuffer *answer)
{
	bool visible = n == 3 && !strcasecmp(w[2], "visible");
	uint32_t status;
	struct node *node;

	(void)answer;
	if (n != 2 && !visible)
		return -EINVAL;
	node = fs_walk(f, w[0], &status);
	if (!node || node->type != NODE_FILE)
		return -ENOENT;
	return image_dump(visible ? &node->content.visible : &node->content.stable,
			  w[1]);
}

/* space BYTES | off */
static int run_space(struct faultd *f, char **w, int n, struct evbuffer *answer)
{
	uint64_t v = (uint64_t)1 << 50;

	(void)answer;
	if (n != 1 || (strcasecmp(w[0], "off") != 0 && script_parse_number(w[0], &v)))
		return -EINVAL;
	f->fs.limit_bytes = v;
	return 0;
}

/* clock MS, may be negative */
static int run_clock(struct faultd *f, char **w, int n, struct evbuffer *answer)
{
	char *end = NULL;
	long long v = n == 1 ? strtoll(w[0], &end, 10) : 0;

	(void)answer;
	if (n != 1 || *end || end == w[0] || llabs(v) > 1000000000)
		return -EINVAL;
	f->fs.clock_offset_ms = v;
	return 0;
}

static int run_cookies(struct faultd *f, char **w, int n, struct evbuffer *answer)
{
	(void)answer;
	if (n != 1 || strcasecmp(w[0], "new") != 0)
		return -EINVAL;
	f->fs.cookie_epoch++;
	return 0;
}

static const struct command commands[] = {
	{ "calls", run_calls },		{ "clock", run_clock },
	{ "close", run_close },		{ "commits", run_commits },
	{ "committed", run_committed }, { "conns", run_conns },
	{ "cookies", run_cookies },	{ "deaf", run_deaf },
	{ "downgrade", run_downgrade }, { "dump", run_dump },
	{ "file", run_file },		{ "listen", run_listen },
	{ "mute", run_mute },		{ "noattrs", run_noattrs },
	{ "nowcc", run_nowcc },		{ "ping", run_ping },
	{ "quit", run_quit },		{ "reboot", run_reboot },
	{ "refuse", run_refuse },	{ "reorder", run_reorder },
	{ "space", run_space },		{ "stall", run_stall },
	{ "stats", run_stats },		{ "unstall", run_unstall },
	{ "verifier", run_verifier },	{ "zeroverf", run_zeroverf },
};

void script_run(struct faultd *f, char **words, int n, struct evbuffer *answer)
{
	struct evbuffer *detail;
	int rc = 1;

	if (n && script_run_rule(f, words, n, answer))
		return;
	detail = evbuffer_new();
	if (!detail)
		abort();
	for (size_t i = 0; n && i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (!strcasecmp(words[0], commands[i].verb))
			rc = commands[i].run(f, words + 1, n - 1, detail);
	}
	if (rc > 0)
		evbuffer_add_printf(answer, "error unknown command");
	else if (rc < 0)
		evbuffer_add_printf(answer, "error %s: %s", words[0], strerror(-rc));
	else
		evbuffer_add_printf(answer, "ok");
	if (!rc)
		evbuffer_add_buffer(answer, detail);
	evbuffer_free(detail);
}
