/*
 * faultd: a scripted, strict NFSv3 server in memory, for tests and as the far end of
 * benchmarks. See README.md for its commands.
 *
 * The hard case is dying with the test: with --watch-stdin it ends when its standard
 * input does. Does not promise anything to anybody outside this host: no security.
 */
#include "faultd.h"

#include <errno.h>
#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	SIZE_MIN = 1024,
	SIZE_MAX_IO = 16 * 1024 * 1024,
	HANDLE_MIN = 16,
	RING_DEFAULT = 4096,
	RING_MAX = 1000000,
	SCRATCH_MIN = 1024 * 1024,
	SCRATCH_EXTRA = 65536,
};

static const char usage[] =
	"usage: faultd [--port N] [--bind ADDRESS] [--control PATH] [--export PATH]...\n"
	"              [--rtmax BYTES] [--wtmax BYTES] [--handle-size 16..64]\n"
	"              [--ring CALLS] [--watch-stdin]\n";

static const struct option long_options[] = {
	{ "port", required_argument, NULL, 'p' },
	{ "bind", required_argument, NULL, 'b' },
	{ "control", required_argument, NULL, 'c' },
	{ "export", required_argument, NULL, 'e' },
	{ "rtmax", required_argument, NULL, 'r' },
	{ "wtmax", required_argument, NULL, 'w' },
	{ "handle-size", required_argument, NULL, 's' },
	{ "ring", required_argument, NULL, 'n' },
	{ "watch-stdin", no_argument, NULL, 'i' },
	{ NULL, 0, NULL, 0 },
};

static int add_export(struct faultd *f, const char *path)
{
	size_t len = strlen(path);
	struct export *e;
	struct node *root;

	while (len > 1 && path[len - 1] == '/')
		len--;
	if (f->n_exports == EXPORTS_MAX || path[0] != '/' || len < 2 ||
	    len >= sizeof(e->path))
		return -EINVAL;
	e = &f->exports[f->n_exports++];
	memcpy(e->path, path, len);
	e->fsid = f->n_exports;
	root = fs_new_node(&f->fs, NODE_DIR, e->fsid);
	root->mode = 0777;
	root->nlink = 2;
	e->root_id = root->id;
	return 0;
}

static int parse_range(const char *word, uint64_t low, uint64_t high, uint32_t *to)
{
	uint64_t v;

	if (script_parse_number(word, &v) || v < low || v > high)
		return -EINVAL;
	*to = (uint32_t)v;
	return 0;
}

static int parse_option(struct faultd *f, int c)
{
	struct options *o = &f->options;
	uint32_t v;

	switch (c) {
	case 'p':
		if (parse_range(optarg, 0, 65535, &v))
			return -EINVAL;
		o->port = (uint16_t)v;
		return 0;
	case 'b':
		o->bind_address = optarg;
		return 0;
	case 'c':
		o->control_path = optarg;
		return 0;
	case 'e':
		return add_export(f, optarg);
	case 'r':
		return parse_range(optarg, SIZE_MIN, SIZE_MAX_IO, &o->rtmax);
	case 'w':
		return parse_range(optarg, SIZE_MIN, SIZE_MAX_IO, &o->wtmax);
	case 's':
		return parse_range(optarg, HANDLE_MIN, FS_HANDLE_MAX, &o->handle_size);
	case 'n':
		return parse_range(optarg, 1, RING_MAX, &o->ring_size);
	case 'i':
		o->watch_stdin = true;
		return 0;
	default:
		return -EINVAL;
	}
}

static void on_stdin(evutil_socket_t fd, short what, void *arg)
{
	struct faultd *f = arg;
	char buf[256];

	(void)what;
	if (read(fd, buf, sizeof(buf)) <= 0)
		event_base_loopbreak(f->base);
}

static int faultd_init(struct faultd *f, int argc, char **argv)
{
	int c;

	f->listen_fd = -1;
	f->options = (struct options){ .bind_address = "127.0.0.1",
				       .rtmax = 1024 * 1024,
				       .wtmax = 1024 * 1024,
				       .handle_size = 32,
				       .ring_size = RING_DEFAULT };
	f->fs.limit_bytes = (uint64_t)1 << 50;
	f->committed_as = STABLE_AS_ASKED;
	call_list_init(&f->held);
	call_list_init(&f->delayed);
	call_list_init(&f->lane);
	call_list_init(&f->lane_now);
	script_new_verifier(f);
	while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (parse_option(f, c))
			return -EINVAL;
	}
	if (optind != argc || (!f->n_exports && add_export(f, "/exp")))
		return -EINVAL;
	f->port = f->options.port;
	f->scratch_cap =
		SCRATCH_EXTRA +
		(f->options.rtmax > SCRATCH_MIN ? f->options.rtmax : SCRATCH_MIN);
	f->scratch = malloc(f->scratch_cap);
	return f->scratch && stats_init(f) ? 0 : -ENOMEM;
}

static int faultd_start(struct faultd *f)
{
	struct event_config *config = event_config_new();
	int rc;

	if (!config)
		return -ENOMEM;
	event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER);
	f->base = event_base_new_with_config(config);
	event_config_free(config);
	if (!f->base)
		return -ENOMEM;
	rc = conn_listen(f);
	if (rc)
		return rc;
	if (f->options.watch_stdin) {
		f->stdin_watch = event_new(f->base, STDIN_FILENO, EV_READ | EV_PERSIST,
					   on_stdin, f);
		if (!f->stdin_watch || event_add(f->stdin_watch, NULL))
			return -EIO;
	}
	return control_start(f);
}

static void faultd_fini(struct faultd *f)
{
	control_stop(f);
	queue_drop(f, true);
	conn_close_all(f, false);
	conn_refuse(f);
	rule_clear(f, -1, UINT32_MAX);
	if (f->lane_timer)
		event_free(f->lane_timer);
	if (f->stdin_watch)
		event_free(f->stdin_watch);
	if (f->base)
		event_base_free(f->base);
	fs_fini(&f->fs);
	free(f->scratch);
	free(f->ring);
}

static void on_terminate(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	event_base_loopbreak(arg);
}

int main(int argc, char **argv)
{
	static struct faultd f;
	struct event *term;
	int rc = faultd_init(&f, argc, argv);

	if (rc) {
		fputs(usage, stderr);
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	/* Records and replies of 1 MiB come and go: keep their memory. */
	mallopt(M_MMAP_THRESHOLD, 64 * 1024 * 1024);
	mallopt(M_TRIM_THRESHOLD, 512 * 1024 * 1024);
	rc = faultd_start(&f);
	if (rc) {
		fprintf(stderr, "faultd: cannot start: %s\n", strerror(-rc));
		faultd_fini(&f);
		return 1;
	}
	term = evsignal_new(f.base, SIGTERM, on_terminate, f.base);
	if (term)
		evsignal_add(term, NULL);
	printf("listening %u control %s\n", f.port,
	       f.options.control_path ? f.options.control_path : "none");
	fflush(stdout);
	event_base_dispatch(f.base);
	if (term)
		event_free(term);
	faultd_fini(&f);
	return 0;
}
