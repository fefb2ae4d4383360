/*
 * Calls that wait: held by name, delayed each for itself, or one after the other or in
 * groups in the lane of forced writes.
 *
 * The hard case is the end of the connection or of the "machine" meanwhile: a waiting
 * call outlives its connection (a server that has received a call may still run it) but
 * not a reboot. Does not promise any order between held and delayed calls.
 */
#include "faultd.h"

#include <stdlib.h>
#include <string.h>

void call_list_init(struct call_list *l)
{
	l->first = NULL;
	l->tail = &l->first;
	l->n = 0;
}

static void call_list_add(struct call_list *l, struct call *call)
{
	call->next = NULL;
	*l->tail = call;
	l->tail = &call->next;
	l->n++;
}

/* Takes *at out of the list. */
static struct call *call_list_take(struct call_list *l, struct call **at)
{
	struct call *call = *at;

	*at = call->next;
	if (!call->next)
		l->tail = at;
	l->n--;
	return call;
}

struct call *call_keep(const struct call *call)
{
	struct call *k = malloc(sizeof(*k) + call->record_len);
	uint8_t *record;

	if (!k)
		abort();
	record = (uint8_t *)(k + 1);
	memcpy(record, call->record, call->record_len);
	*k = *call;
	k->kept = true;
	k->record = record;
	k->args.p = record + (call->args.p - call->record);
	if (call->cred.machine)
		k->cred.machine = record + (call->cred.machine - call->record);
	conn_ref(k->conn);
	return k;
}

void call_free(struct faultd *f, struct call *call)
{
	if (call->snap) {
		content_finish(&call->snap_node->content, call->snap, false);
		call->snap_node->pins--;
		fs_drop(&f->fs, call->snap_node);
	}
	if (call->timer)
		event_free(call->timer);
	free(call->made);
	conn_unref(call->conn);
	free(call);
}

static struct timeval delay_time(uint64_t us)
{
	return (struct timeval){ .tv_sec = (time_t)(us / 1000000),
				 .tv_usec = (suseconds_t)(us % 1000000) };
}

static void on_delay_over(evutil_socket_t fd, short what, void *arg)
{
	struct call *call = arg;
	struct faultd *f = call->conn->f;
	struct call **at = &f->delayed.first;

	(void)fd;
	(void)what;
	while (*at != call)
		at = &(*at)->next;
	rpc_execute(f, call_list_take(&f->delayed, at));
}

static void lane_start(struct faultd *f)
{
	struct timeval tv;

	if (f->lane_now.first || !f->lane.first)
		return;
	tv = delay_time(f->lane.first->delay_us);
	do {
		call_list_add(&f->lane_now, call_list_take(&f->lane, &f->lane.first));
	} while (f->lane.first && f->lane_now.first->lane_mode == LANE_GROUP &&
		 f->lane.first->lane_mode == LANE_GROUP);
	event_add(f->lane_timer, &tv);
}

static void on_lane(evutil_socket_t fd, short what, void *arg)
{
	struct faultd *f = arg;

	(void)fd;
	(void)what;
	while (f->lane_now.first) {
		struct call *call = call_list_take(&f->lane_now, &f->lane_now.first);

		rpc_execute(f, call);
	}
	lane_start(f);
}

static bool queue_delay(struct faultd *f, struct call *call)
{
	struct rule rule;
	struct timeval tv;
	struct call *k;

	if (!rule_take(f, call, RULE_DELAY, &rule))
		return false;
	k = call->kept ? call : call_keep(call);
	k->delay_us = rule.value;
	k->lane_mode = (enum lane_mode)rule.variant;
	if (k->lane_mode == LANE_DEFAULT)
		k->lane_mode = k->forced ? f->lane_default : LANE_PARALLEL;
	if (k->lane_mode == LANE_PARALLEL) {
		tv = delay_time(k->delay_us);
		k->timer = evtimer_new(f->base, on_delay_over, k);
		if (!k->timer)
			abort();
		call_list_add(&f->delayed, k);
		evtimer_add(k->timer, &tv);
		return true;
	}
	if (!f->lane_timer)
		f->lane_timer = evtimer_new(f->base, on_lane, f);
	if (!f->lane_timer)
		abort();
	call_list_add(&f->lane, k);
	lane_start(f);
	return true;
}

bool queue_take(struct faultd *f, struct call *call)
{
	struct rule rule;

	if (!f->rules)
		return false;
	if (call->proc == PROC_COMMIT)
		nfs_commit_arrives(f, call);
	if (rule_take(f, call, RULE_HOLD_BEFORE, &rule)) {
		call_list_add(&f->held, call_keep(call));
		control_notify(f);
		return true;
	}
	return queue_delay(f, call);
}

void queue_hold_reply(struct faultd *f, const struct call *call, const uint8_t *bytes,
		      size_t len)
{
	struct call *k = call_keep(call);

	k->timer = NULL; /* stays with the call it came from */
	k->made = reply_new(bytes, len);
	call_list_add(&f->held, k);
	control_notify(f);
}

static void queue_go_on(struct faultd *f, struct call *call)
{
	if (call->made) {
		rpc_send_made(f, call, call->made->bytes, call->made->len);
		call_free(f, call);
	} else if (!queue_delay(f, call)) {
		rpc_execute(f, call);
	}
}

uint32_t queue_release(struct faultd *f, const struct rule *which, uint32_t n)
{
	struct call **at = &f->held.first;
	struct call_list out;
	uint32_t done = 0;

	call_list_init(&out);
	while (*at && out.n < n) {
		if (rule_matches(which, *at))
			call_list_add(&out, call_list_take(&f->held, at));
		else
			at = &(*at)->next;
	}
	for (; out.first; done++)
		queue_go_on(f, call_list_take(&out, &out.first));
	return done;
}

uint32_t queue_count(const struct faultd *f, const struct rule *which)
{
	uint32_t n = 0;

	for (const struct call *call = f->held.first; call; call = call->next)
		n += rule_matches(which, call);
	return n;
}

static void queue_drop_list(struct faultd *f, struct call_list *l, bool replies)
{
	struct call **at = &l->first;

	while (*at) {
		if ((*at)->made && !replies)
			at = &(*at)->next;
		else
			call_free(f, call_list_take(l, at));
	}
}

void queue_drop(struct faultd *f, bool replies)
{
	queue_drop_list(f, &f->held, replies);
	queue_drop_list(f, &f->delayed, replies);
	queue_drop_list(f, &f->lane, replies);
	queue_drop_list(f, &f->lane_now, replies);
	if (f->lane_timer)
		event_del(f->lane_timer);
}
