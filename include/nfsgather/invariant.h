/*
 * INVARIANT: a bug in nfsgather, on in release builds, ends the process: with data
 * in doubt, dying is safe (clients re-send) and going on is not.
 * Nothing that arrives from a network or a file may reach one.
 */
#ifndef NFSGATHER_INVARIANT_H
#define NFSGATHER_INVARIANT_H

_Noreturn void invariant_failed(const char *expr, const char *file, int line);

#define INVARIANT(expr) ((expr) ? (void)0 : invariant_failed(#expr, __FILE__, __LINE__))
#define UNREACHABLE() invariant_failed("unreachable", __FILE__, __LINE__)

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(nth, first) __attribute__((format(printf, nth, first)))

#endif
