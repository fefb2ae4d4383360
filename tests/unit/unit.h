/*
 * What every unit test program starts with: check, and a main() around one suite:
 *
 *	int main(void)
 *	{
 *		Suite *suite = suite_create("buf");
 *		TCase *tcase = unit_case(suite, "counts");
 *
 *		tcase_add_test(tcase, last_unref_gives_memory_back);
 *		return unit_run(suite);
 *	}
 */
#ifndef UNIT_UNIT_H
#define UNIT_UNIT_H

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static inline TCase *unit_case(Suite *suite, const char *name)
{
	TCase *tcase = tcase_create(name);

	suite_add_tcase(suite, tcase);
	return tcase;
}

/*
 * Runs the suite, frees it and gives the exit status of the program; a suite without
 * tests fails. check runs each test in a child of its own; CK_FORK=no keeps all in this
 * process, for a debugger.
 */
static inline int unit_run(Suite *suite)
{
	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	int ran = srunner_ntests_run(runner);
	srunner_free(runner);
	return failed == 0 && ran > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Does the function end its process by abort(), as a failed INVARIANT does? */
static inline bool unit_aborts(void (*function)(void))
{
	pid_t child = fork();
	int status;

	ck_assert_int_ge(child, 0);
	if (child == 0) {
		const struct rlimit no_core = { 0 };
		int null = open("/dev/null", O_WRONLY);

		if (null < 0 || dup2(null, STDERR_FILENO) < 0 ||
		    setrlimit(RLIMIT_CORE, &no_core) != 0)
			_exit(2);
		signal(SIGABRT, SIG_DFL);
		function();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

#endif
