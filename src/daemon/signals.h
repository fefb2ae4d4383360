/*
 * Signals, delivered in the event loop.
 */
#ifndef DAEMON_SIGNALS_H
#define DAEMON_SIGNALS_H

struct event_base;
struct signals;

struct signals_ops {
	void (*stop)(void *owner, const char *signal_name); /* SIGTERM, SIGINT */
	void (*print_counters)(void *owner);		    /* SIGUSR2 */
	void (*check_config)(void *owner);		    /* SIGHUP */
};

/* Also ignores SIGPIPE: a write to a closed socket then fails. NULL: memory is short. */
struct signals *signals_new(struct event_base *base, const struct signals_ops *ops,
			    void *owner);
/* NULL is allowed. */
void signals_free(struct signals *signals);

#endif
