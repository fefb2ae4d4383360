/*
 * Turns signals into calls from the event loop.
 *
 * The hard case: a signal that comes before the loop runs. It waits in libevent and is
 * delivered when the loop starts. Several of one kind may count as one.
 */
#include "daemon/signals.h"

#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>

enum { SIGNALS_COUNT = 4 };
static const int signals_handled[SIGNALS_COUNT] = { SIGTERM, SIGINT, SIGUSR2, SIGHUP };

struct signals {
	const struct signals_ops *ops;
	void *owner;
	struct event *event[SIGNALS_COUNT];
};

static void signals_on_signal(evutil_socket_t number, short what, void *opaque)
{
	struct signals *signals = opaque;

	(void)what;
	switch (number) {
	case SIGTERM:
		signals->ops->stop(signals->owner, "SIGTERM");
		break;
	case SIGINT:
		signals->ops->stop(signals->owner, "SIGINT");
		break;
	case SIGUSR2:
		signals->ops->print_counters(signals->owner);
		break;
	default:
		signals->ops->check_config(signals->owner);
		break;
	}
}

struct signals *signals_new(struct event_base *base, const struct signals_ops *ops,
			    void *owner)
{
	struct signals *signals = calloc(1, sizeof(*signals));

	if (signals == NULL)
		return NULL;
	signals->ops = ops;
	signals->owner = owner;
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < SIGNALS_COUNT; i++) {
		signals->event[i] = evsignal_new(base, signals_handled[i],
						 signals_on_signal, signals);
		if (signals->event[i] == NULL ||
		    event_add(signals->event[i], NULL) != 0) {
			signals_free(signals);
			return NULL;
		}
	}
	return signals;
}

void signals_free(struct signals *signals)
{
	if (signals == NULL)
		return;
	for (size_t i = 0; i < SIGNALS_COUNT; i++) {
		if (signals->event[i] != NULL)
			event_free(signals->event[i]);
	}
	free(signals);
}
