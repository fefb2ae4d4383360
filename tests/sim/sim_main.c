/*
 * check_sim: runs the engine under many seeds.
 *
 *   SIM_SEED=N    this one, with a trace of everything that happens
 *   SIM_SEEDS=N   how many (2000), from SIM_FIRST=N on (1)
 *   SIM_FAILURES=N  ends after so many (10)
 *
 * Before those, the seeds of $SRCDIR/tests/sim/regress.txt are run; make sets SRCDIR.
 *
 * The hard case is an engine that ends the process (INVARIANT): the seed is told even so.
 */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim/sim_run.h"

enum { SIM_SEEDS_DEFAULT = 2000, SIM_FAILURES_DEFAULT = 10, SIM_LINE_BYTES = 256 };

static char sim_aborted_text[128];

static void sim_main_on_abort(int number)
{
	ssize_t written =
		write(STDERR_FILENO, sim_aborted_text, strlen(sim_aborted_text));

	(void)written;
	signal(number, SIG_DFL);
	raise(number);
}

static uint64_t sim_main_number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);
	char *end;
	uint64_t number;

	if (text == NULL || *text == '\0')
		return otherwise;
	number = strtoull(text, &end, 10);
	if (*end != '\0') {
		fprintf(stderr, "check_sim: %s=%s is no number\n", name, text);
		exit(2);
	}
	return number;
}

/* 0, or 1 when a rule was broken. */
static int sim_main_run(uint64_t seed, bool is_tracing, uint64_t *events)
{
	struct sim sim;
	int failed;

	snprintf(sim_aborted_text, sizeof(sim_aborted_text),
		 "seed %llu: the engine ended the process\n"
		 "  replay: SIM_SEED=%llu tests/sim/check_sim\n",
		 (unsigned long long)seed, (unsigned long long)seed);
	sim_run(&sim, seed, is_tracing);
	*events += sim.events_run;
	failed = sim_has_failed(&sim);
	if (failed)
		printf("seed %llu broke %s: %s\n"
		       "  replay: SIM_SEED=%llu tests/sim/check_sim\n",
		       (unsigned long long)seed, sim.failed_rule, sim.failed_text,
		       (unsigned long long)seed);
	sim_fini(&sim);
	return failed;
}

/* Each line: a seed, then what it is there for. */
static int sim_main_regress(const char *tree, uint64_t *events)
{
	char path[PATH_MAX];
	char line[SIM_LINE_BYTES];
	FILE *file;
	int failed = 0;

	snprintf(path, sizeof(path), "%s/tests/sim/regress.txt", tree);
	file = fopen(path, "r");
	if (file == NULL) {
		perror(path);
		return 1;
	}
	while (fgets(line, sizeof(line), file) != NULL) {
		char *end;
		uint64_t seed = strtoull(line, &end, 10);

		if (end != line)
			failed |= sim_main_run(seed, false, events);
	}
	fclose(file);
	return failed;
}

/* Seeds go on after a failure: how many fail says something too. */
static int sim_main_many(uint64_t first, uint64_t count, uint64_t *events)
{
	uint64_t most = sim_main_number("SIM_FAILURES", SIM_FAILURES_DEFAULT);
	uint64_t failures = 0;
	uint64_t seed;

	for (seed = first; seed < first + count && failures < most; seed++)
		failures += (uint64_t)sim_main_run(seed, false, events);
	return failures > 0;
}

int main(void)
{
	uint64_t one = sim_main_number("SIM_SEED", UINT64_MAX);
	uint64_t first = sim_main_number("SIM_FIRST", 1);
	uint64_t count = sim_main_number("SIM_SEEDS", SIM_SEEDS_DEFAULT);
	const char *tree = getenv("SRCDIR");
	uint64_t events = 0;
	clock_t began = clock();
	double seconds;
	int failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGABRT, sim_main_on_abort);
	signal(SIGSEGV, sim_main_on_abort);
	if (one != UINT64_MAX)
		return sim_main_run(one, true, &events);
	if (tree != NULL)
		failed = sim_main_regress(tree, &events);
	failed |= sim_main_many(first, count, &events);
	seconds = (double)(clock() - began) / CLOCKS_PER_SEC;
	printf("%llu seeds from %llu on, %llu events, %.1f s: %s\n",
	       (unsigned long long)count, (unsigned long long)first,
	       (unsigned long long)events, seconds, failed ? "FAILED" : "ok");
	return failed;
}
