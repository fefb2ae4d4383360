/*
 * nfsload: one workload against one NFS server, its result as one line of JSON.
 *
 * The hard case: only the workload itself is to be measured, so clients connect, mount and
 * make their files before the clock starts, and small files are removed after it stopped. The
 * COMMIT that ends a sequence of WRITEs is part of the work.
 *
 * Does not choose what to compare: tests/bench/relay does.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/nfsload.h"

static const enum load_kind mount_only[] = { LOAD_MOUNT, LOAD_END };
static const enum load_kind mount_and_file[] = { LOAD_MOUNT, LOAD_MAKE_FILE, LOAD_END };
static const enum load_kind removal[] = { LOAD_REMOVE, LOAD_END };
static const enum load_kind final_commit[] = { LOAD_COMMIT, LOAD_END };

static const struct workload {
	const char *name;
	const char *help;
	enum load_kind calls[LOAD_CALLS_MAX + 1];
	bool has_file;
	bool is_shared;
	bool has_final_commit;
	bool is_removed;
	bool has_payload;
} workloads[] = {
	{ .name = "null", .help = "NULL round trips", .calls = { LOAD_NULL } },
	{ .name = "getattr",
	  .help = "GETATTR round trips, of the export",
	  .calls = { LOAD_GETATTR } },
	{ .name = "write",
	  .help = "UNSTABLE WRITEs in sequence, then a COMMIT",
	  .calls = { LOAD_WRITE },
	  .has_file = true,
	  .has_final_commit = true,
	  .has_payload = true },
	{ .name = "read",
	  .help = "READs in sequence of what `write` with the same options wrote",
	  .calls = { LOAD_READ },
	  .has_file = true,
	  .has_payload = true },
	{ .name = "sync",
	  .help = "FILE_SYNC WRITEs of all clients into one file",
	  .calls = { LOAD_WRITE_SYNC },
	  .has_file = true,
	  .is_shared = true,
	  .has_payload = true },
	{ .name = "create",
	  .help = "small files: CREATE, WRITE, COMMIT",
	  .calls = { LOAD_CREATE, LOAD_WRITE, LOAD_COMMIT },
	  .has_payload = true,
	  .is_removed = true },
	{ .name = "create-sync",
	  .help = "small files: CREATE, FILE_SYNC WRITE",
	  .calls = { LOAD_CREATE, LOAD_WRITE_SYNC },
	  .has_payload = true,
	  .is_removed = true },
};

struct options {
	const struct workload *workload;
	uint64_t ops;
	int watched_pid;
};

static void usage(FILE *to)
{
	size_t i;

	fprintf(to, "usage: nfsload [OPTION]... WORKLOAD\n"
		    "  --address A   of the server (127.0.0.1)\n"
		    "  --port N      for NFS and MOUNT\n"
		    "  --export P    what to mount (/exp)\n"
		    "  --prefix P    of file names (load)\n"
		    "  --clients N   each with a connection of its own (1)\n"
		    "  --depth N     operations of a client under way at once (1)\n"
		    "  --size BYTES  of a READ or WRITE (1048576)\n"
		    "  --ops N       operations of each client (1000)\n"
		    "  --watch PID   tell what this process used meanwhile\n"
		    "workloads:\n");
	for (i = 0; i < sizeof(workloads) / sizeof(workloads[0]); i++)
		fprintf(to, "  %-13s %s\n", workloads[i].name, workloads[i].help);
}

static uint64_t number_parse(const char *text, const char *what, uint64_t low,
			     uint64_t high)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	if (*text == '\0' || *end != '\0' || value < low || value > high) {
		fprintf(stderr, "nfsload: --%s %s: %" PRIu64 " to %" PRIu64 "\n", what,
			text, low, high);
		exit(2);
	}
	return value;
}

static const struct workload *workload_find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(workloads) / sizeof(workloads[0]); i++)
		if (strcmp(workloads[i].name, name) == 0)
			return &workloads[i];
	usage(stderr);
	exit(2);
}

static void option_take(struct load *load, struct options *options, int option,
			const char *value)
{
	switch (option) {
	case 'a':
		load->address = value;
		return;
	case 'p':
		load->port = (int)number_parse(value, "port", 1, 65535);
		return;
	case 'e':
		load->export_path = value;
		return;
	case 'f':
		load->prefix = value;
		return;
	case 'c':
		load->client_count = (unsigned int)number_parse(value, "clients", 1,
								LOAD_CLIENTS_MAX);
		return;
	case 'd':
		load->depth =
			(unsigned int)number_parse(value, "depth", 1, LOAD_DEPTH_MAX);
		return;
	case 's':
		load->size_bytes =
			(uint32_t)number_parse(value, "size", 8, LOAD_SIZE_MAX);
		return;
	case 'o':
		options->ops = number_parse(value, "ops", 1, UINT32_MAX);
		return;
	case 'w':
		options->watched_pid = (int)number_parse(value, "watch", 1, INT32_MAX);
		return;
	case 'h':
		usage(stdout);
		exit(0);
	default:
		usage(stderr);
		exit(2);
	}
}

static void options_parse(struct load *load, struct options *options, int argc,
			  char **argv)
{
	static const struct option table[] = {
		{ "address", required_argument, NULL, 'a' },
		{ "port", required_argument, NULL, 'p' },
		{ "export", required_argument, NULL, 'e' },
		{ "prefix", required_argument, NULL, 'f' },
		{ "clients", required_argument, NULL, 'c' },
		{ "depth", required_argument, NULL, 'd' },
		{ "size", required_argument, NULL, 's' },
		{ "ops", required_argument, NULL, 'o' },
		{ "watch", required_argument, NULL, 'w' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int option;

	load->address = "127.0.0.1";
	load->export_path = "/exp";
	load->prefix = "load";
	load->client_count = 1;
	load->depth = 1;
	load->size_bytes = LOAD_SIZE_MAX;
	options->ops = 1000;
	while ((option = getopt_long(argc, argv, "", table, NULL)) != -1)
		option_take(load, options, option, optarg);
	if (optind != argc - 1 || load->port == 0) {
		usage(stderr);
		exit(2);
	}
	options->workload = workload_find(argv[optind]);
	load->is_shared = options->workload->is_shared;
}

static int latency_compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left;
	uint64_t b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

static double latency_us(const struct load *load, unsigned int percent)
{
	return (double)load->latency_ns[(load->latency_count - 1) * percent / 100] /
	       1e3;
}

static void report(struct load *load, const struct options *options, double seconds,
		   const struct watch *before, const struct watch *after)
{
	uint64_t bytes = options->workload->has_payload
				 ? load->latency_count * load->size_bytes
				 : 0;

	qsort(load->latency_ns, load->latency_count, sizeof(load->latency_ns[0]),
	      latency_compare);
	printf("{\"workload\": \"%s\", \"clients\": %u, \"depth\": %u, \"size\": %u, "
	       "\"ops\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"seconds\": %.6f, "
	       "\"p50_us\": %.2f, \"p99_us\": %.2f",
	       options->workload->name, load->client_count, load->depth,
	       load->size_bytes, load->latency_count, bytes, seconds,
	       latency_us(load, 50), latency_us(load, 99));
	if (options->watched_pid != 0)
		printf(", \"cpu_s\": %.6f, \"faults\": %" PRIu64
		       ", \"resident_bytes\": %" PRIu64 ", \"peak_bytes\": %" PRIu64,
		       after->cpu_s - before->cpu_s, after->faults - before->faults,
		       after->resident_bytes, after->peak_bytes);
	printf("}\n");
}

static bool watch_take(const struct options *options, struct load *load,
		       struct watch *watch)
{
	if (options->watched_pid == 0 || watch_read(options->watched_pid, watch))
		return true;
	load_fail(load, "process %d: nothing to watch", options->watched_pid);
	return false;
}

static bool run_measured(struct load *load, const struct options *options)
{
	const struct workload *workload = options->workload;
	struct watch before = { 0 };
	struct watch after = { 0 };
	uint64_t *latency_ns =
		calloc(options->ops * load->client_count, sizeof(*latency_ns));
	uint64_t started_ns;
	uint64_t ended_ns;
	bool ok;

	if (latency_ns == NULL || !watch_take(options, load, &before)) {
		free(latency_ns);
		return false;
	}
	started_ns = load_now_ns();
	load->latency_ns = latency_ns;
	ok = load_run_phase(load, workload->calls, options->ops);
	load->latency_ns = NULL;
	if (ok && workload->has_final_commit)
		ok = load_run_phase(load, final_commit, 1);
	ended_ns = load_now_ns();
	if (ok && watch_take(options, load, &after)) {
		load->latency_ns = latency_ns;
		report(load, options, (double)(ended_ns - started_ns) / 1e9, &before,
		       &after);
	}
	load->latency_ns = NULL;
	free(latency_ns);
	return load->failure[0] == '\0';
}

int main(int argc, char **argv)
{
	static struct load load; /* its payload is too large for a stack */
	struct options options = { 0 };
	bool ok;

	options_parse(&load, &options, argc, argv);
	memset(load.payload, 0x5a, sizeof(load.payload));
	ok = load_connect(&load) &&
	     load_run_phase(&load,
			    options.workload->has_file ? mount_and_file : mount_only,
			    1) &&
	     run_measured(&load, &options);
	if (ok && options.workload->is_removed)
		ok = load_run_phase(&load, removal, options.ops);
	if (!ok)
		fprintf(stderr, "nfsload: %s\n",
			load.failure[0] != '\0' ? load.failure : "out of memory");
	load_disconnect(&load);
	return ok ? 0 : 1;
}
