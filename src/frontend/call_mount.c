/*
 * MOUNT: relayed, after our own rules on who may mount what; its answers name only what
 * works through the proxy.
 *
 * The hard case: `exports` limits paths, while the upstream gets the path as the client
 * wrote it; so a path that the two might read differently ("..", NUL) is refused
 * rather than understood.
 *
 * Does not keep anybody from a handle it has already: `exports` limits mounting, the
 * client rules limit use.
 */
#include "call_mount.h"

#include <string.h>

#include "call_class.h"
#include "frontend_private.h"
#include "reply.h"
#include "session.h"
#include "wire/nfs3_result.h"

/* The next component; false at the end. Skips slashes and ".". */
static bool mount_path_next(const char **at, const char *end, const char **component,
			    size_t *component_bytes)
{
	for (;;) {
		const char *slash;

		while (*at < end && **at == '/')
			(*at)++;
		if (*at == end)
			return false;
		slash = memchr(*at, '/', (size_t)(end - *at));
		*component = *at;
		*component_bytes = (size_t)((slash ? slash : end) - *at);
		*at += *component_bytes;
		if (*component_bytes != 1 || **component != '.')
			return true;
	}
}

static bool mount_path_has_prefix(const char *path, size_t path_bytes,
				  const char *prefix)
{
	const char *path_end = path + path_bytes;
	const char *prefix_end = prefix + strlen(prefix);
	const char *ours;
	const char *theirs;
	size_t ours_bytes;
	size_t theirs_bytes;

	while (mount_path_next(&prefix, prefix_end, &ours, &ours_bytes)) {
		if (!mount_path_next(&path, path_end, &theirs, &theirs_bytes) ||
		    ours_bytes != theirs_bytes || memcmp(ours, theirs, ours_bytes) != 0)
			return false;
	}
	return true;
}

static bool mount_path_is_plain(const char *path, size_t path_bytes)
{
	const char *end = path + path_bytes;
	const char *component;
	size_t component_bytes;

	if (path_bytes == 0 || path[0] != '/' || memchr(path, '\0', path_bytes))
		return false;
	while (mount_path_next(&path, end, &component, &component_bytes))
		if (component_bytes == 2 && memcmp(component, "..", 2) == 0)
			return false;
	return true;
}

bool mount_path_is_inside(const char *path, size_t path_bytes,
			  const char *const *exports, size_t export_count)
{
	size_t i;

	if (!mount_path_is_plain(path, path_bytes))
		return false;
	for (i = 0; i < export_count; i++)
		if (mount_path_has_prefix(path, path_bytes, exports[i]))
			return true;
	return false;
}

static bool call_mount_keeps_export(void *arg, const char *path)
{
	const struct frontend *frontend = arg;

	return mount_path_is_inside(path, strlen(path),
				    (const char *const *)frontend->exports,
				    frontend->export_count);
}

/* Takes the reference to `results`, gives one to what the client shall see, or NULL. */
static struct buf *call_mount_adjust(const struct call *call, struct buf *results)
{
	struct frontend *frontend = call->frontend;
	struct buf *changed = NULL;

	if (call->nfs.proc == MOUNT_PROC_MNT && call->nfs.version == 3 &&
	    nfs3_result_status(results) == MNT3_OK)
		changed = mount3_mnt_result_sys_only(results);
	else if (call->nfs.proc == MOUNT_PROC_EXPORT && frontend->export_count > 0)
		changed = mount3_export_filter(results, call_mount_keeps_export,
					       frontend);
	else
		return results;
	buf_unref(results);
	return changed;
}

static void call_mount_done(struct upstream_request *request)
{
	struct call *call = call_of_request(request);

	if (request->outcome == UPSTREAM_ANSWERED)
		reply_results(call, call_mount_adjust(call, request->results));
	else
		reply_outcome(call, request->outcome);
}

static void call_mount_refuse(struct call *call, const char *why)
{
	struct frontend *frontend = call->frontend;
	const struct nfs3_bytes *path = &call->nfs.args.mount_path;

	stats_count(frontend->stats, STAT_CALLS_DENIED);
	if (frontend_peer_may_log(frontend, (const void *)&call->session->addr))
		log_warn("upstream %s: session %s client %s may not mount: %s",
			 frontend_name(frontend), call->session->peer,
			 call->client->text, why);
	log_debug("upstream %s: refused mount path \"%.*s\"", frontend_name(frontend),
		  (int)path->len, (const char *)path->data);
	reply_failure(call, MNT3ERR_ACCES);
}

void call_mount_start(struct call *call)
{
	const struct frontend *frontend = call->frontend;
	const struct nfs3_bytes *path = &call->nfs.args.mount_path;

	if (call->nfs.proc == MOUNT_PROC_MNT) {
		if (!access_rule_port_ok(call->rule,
					 (const void *)&call->session->addr)) {
			call_mount_refuse(call,
					  "its port is not below 1024; \"insecure\" "
					  "in its rule would allow that");
			return;
		}
		if (frontend->export_count > 0 &&
		    !mount_path_is_inside((const char *)path->data, path->len,
					  (const char *const *)frontend->exports,
					  frontend->export_count)) {
			call_mount_refuse(call, "the path is not inside `exports`");
			return;
		}
	}
	call_submit(call, call_mount_done);
}
