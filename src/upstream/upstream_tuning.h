/*
 * The times and limits of an upstream in one place, so that tests can use shorter ones.
 */
#ifndef UPSTREAM_UPSTREAM_TUNING_H
#define UPSTREAM_UPSTREAM_TUNING_H

#include <stddef.h>
#include <sys/time.h>

#include "nfsgather/clock.h"
#include "upstream/upstream_libnfs.h"

/* Most calls one connection may have handed to libnfs; sizes an array. */
enum { UPSTREAM_FLIGHTS_MAX = 64 };

struct upstream_tuning {
	unsigned int connect_timeout_ms; /* from resolving to connected */
	unsigned int backoff_first_ms;
	unsigned int backoff_max_ms;
	unsigned int memory_retry_ms; /* after an allocation failed */
	unsigned int mount_idle_ms;   /* then the MOUNT connection is closed */
	unsigned int check_every_ms;  /* how often the silence below is looked at */
	mono_us silence_us;	      /* calls out and nothing heard: send NULL */
	mono_us complain_us;	      /* NULL unanswered: say so in the log */
	mono_us dead_us;	      /* NULL unanswered: break the connection */
	/*
	 * A call unanswered so long is sent again, though its connection answers others;
	 * twice as long each time that it is.
	 */
	mono_us overdue_us;
	unsigned int calls_max; /* 1..UPSTREAM_FLIGHTS_MAX handed to libnfs at once */
	size_t bytes_max;	/* payload handed to libnfs at once */
	unsigned int done_per_turn;   /* completions run in one turn of the loop */
	unsigned int bad_replies_max; /* to one call, then it fails */
	uint16_t rpcbind_port;
};

extern const struct upstream_tuning upstream_tuning_default;

static inline struct timeval upstream_timeval(unsigned int ms)
{
	return (struct timeval){ .tv_sec = ms / 1000,
				 .tv_usec = (suseconds_t)(ms % 1000) * 1000 };
}

/* upstream_libnfs_new() with other times and limits; `tuning` is copied. */
struct upstream *upstream_libnfs_new_tuned(const struct upstream_config *config,
					   const struct upstream_tuning *tuning);

#endif
