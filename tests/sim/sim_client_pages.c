/*
 * Pages of a client: sent, remembered until they are known to be stable, sent again when
 * the verifier says so, given up when an error says so.
 *
 * The hard case is a page that is written again while its COMMIT is out: the reply speaks of
 * the old bytes. So a COMMIT remembers the pages it covers as they were, and what it
 * proves is promised of those.
 *
 * This is where the clients' own rules have to suffice: what they take for stable is
 * handed to the oracle as a promise, and nothing else is.
 */
#include <string.h>

#include "sim/sim_client_private.h"
#include "sim/sim_proxy.h"

enum { SIM_JUKEBOX_US = 5 * SIM_S };

static bool sim_pages_same(struct nfs3_verifier a, struct nfs3_verifier b)
{
	return memcmp(a.data, b.data, sizeof(a.data)) == 0;
}

unsigned int sim_pages_count(const struct sim_client *client, uint32_t file,
			     enum sim_page_state state)
{
	unsigned int count = 0;
	uint32_t i;

	for (i = 0; i < SIM_BLOCKS_MAX; i++)
		if (client->file[file].page[i].state == state)
			count++;
	return count;
}

void sim_pages_dirty(struct sim_client *client, uint32_t file, uint32_t first,
		     uint32_t count, uint32_t uid)
{
	uint32_t i;

	for (i = first; i < first + count; i++) {
		struct sim_page *page = &client->file[file].page[i];

		/* Another user's page has to go first; one on its way is locked. */
		if (page->state == SIM_PAGE_WRITING ||
		    (page->state != SIM_PAGE_CLEAN && page->uid != uid))
			continue;
		page->state = SIM_PAGE_DIRTY;
		page->uid = uid;
	}
}

void sim_pages_drop_from(struct sim_client *client, uint32_t file, uint32_t first)
{
	uint32_t i;

	for (i = first; i < SIM_BLOCKS_MAX; i++)
		client->file[file].page[i].state = SIM_PAGE_CLEAN;
}

/* The next run of dirty pages from `from` on that fits one WRITE; count 0: none. */
static struct sim_args sim_pages_next_run(const struct sim_client *client,
					  uint32_t file, uint32_t from)
{
	const struct sim_page *page = client->file[file].page;
	struct sim_args args;
	uint32_t i = from;

	memset(&args, 0, sizeof(args));
	args.proc = NFS3_PROC_WRITE;
	args.file = file;
	while (i < SIM_BLOCKS_MAX && page[i].state != SIM_PAGE_DIRTY)
		i++;
	if (i == SIM_BLOCKS_MAX)
		return args;
	args.first = i;
	args.uid = page[i].uid;
	while (i < SIM_BLOCKS_MAX && page[i].state == SIM_PAGE_DIRTY &&
	       page[i].uid == args.uid &&
	       page[i].needs_file_sync == page[args.first].needs_file_sync &&
	       args.count < client->sim->plan.wsize_blocks) {
		args.count++;
		i++;
	}
	return args;
}

bool sim_pages_fit_one_write(const struct sim_client *client, uint32_t file)
{
	struct sim_args run = sim_pages_next_run(client, file, 0);

	return run.count > 0 &&
	       sim_pages_count(client, file, SIM_PAGE_DIRTY) == run.count &&
	       sim_pages_count(client, file, SIM_PAGE_UNSTABLE) == 0 &&
	       sim_pages_count(client, file, SIM_PAGE_WRITING) == 0;
}

void sim_pages_flush(struct sim_client *client, uint32_t file, enum nfs3_stable stable)
{
	struct sim_client_file *f = &client->file[file];
	struct sim_args args;
	uint32_t i;

	if (f->cut_out || client->sim->now_us < f->held_until_us)
		return;
	while (sim_client_may_call(client)) {
		args = sim_pages_next_run(client, file, 0);
		if (args.count == 0)
			return;
		args.stable = stable;
		if (client->kind->stable > args.stable)
			args.stable = client->kind->stable;
		if (f->page[args.first].needs_file_sync)
			args.stable = NFS3_FILE_SYNC;
		args.id = sim_client_issue(client, &args)->args.id;
		f->writes_out++;
		for (i = args.first; i < args.first + args.count; i++) {
			f->page[i].state = SIM_PAGE_WRITING;
			f->page[i].id = args.id;
			f->page[i].needs_file_sync = false;
		}
	}
}

void sim_pages_commit(struct sim_client *client, uint32_t file)
{
	struct sim_client_file *f = &client->file[file];
	struct sim_client_call *call;
	struct sim_args args;
	uint32_t i;

	memset(&args, 0, sizeof(args));
	args.proc = NFS3_PROC_COMMIT;
	args.file = file;
	args.uid = SIM_FIRST_UID;
	for (i = 0; i < SIM_BLOCKS_MAX; i++)
		if (f->page[i].state == SIM_PAGE_UNSTABLE)
			args.uid = f->page[i].uid;
	call = sim_client_issue(client, &args);
	f->commits_out++;
	call->covered = sim_alloc(client->sim, SIM_BLOCKS_MAX * sizeof(*call->covered));
	for (i = 0; i < SIM_BLOCKS_MAX; i++)
		if (f->page[i].state == SIM_PAGE_UNSTABLE)
			call->covered[call->covered_count++] =
				(struct sim_covered){ .block = i, .page = f->page[i] };
}

static void sim_pages_redirty_file(struct sim_client *client, uint32_t file)
{
	uint32_t i;

	for (i = 0; i < SIM_BLOCKS_MAX; i++)
		if (client->file[file].page[i].state == SIM_PAGE_UNSTABLE)
			client->file[file].page[i].state = SIM_PAGE_DIRTY;
}

/* A verifier in any reply, for those that keep one for a file or for the mount. */
static void sim_pages_note_verifier(struct sim_client *client, uint32_t file,
				    struct nfs3_verifier verifier)
{
	struct sim_client_file *f = &client->file[file];
	uint32_t i;

	if (client->kind->scope == SIM_SCOPE_FILE) {
		if (f->has_verifier && !sim_pages_same(f->verifier, verifier))
			sim_pages_redirty_file(client, file);
		f->has_verifier = true;
		f->verifier = verifier;
	} else if (client->kind->scope == SIM_SCOPE_MOUNT) {
		if (client->has_verifier && !sim_pages_same(client->verifier, verifier))
			for (i = 0; i < SIM_FILES_MAX; i++)
				sim_pages_redirty_file(client, i);
		client->has_verifier = true;
		client->verifier = verifier;
	}
}

static void sim_pages_hold(struct sim_client *client, uint32_t file)
{
	client->file[file].held_until_us = client->sim->now_us + SIM_JUKEBOX_US;
	sim_set_event(client->sim, &client->kick, SIM_JUKEBOX_US);
}

static void sim_pages_check_write_reply(const struct sim_client *client,
					const struct sim_client_call *call,
					const struct sim_reply *reply)
{
	if (reply->committed < call->args.stable)
		sim_fail(client->sim, "P2",
			 "client %u asked for stable %d and is told %d", client->number,
			 (int)call->args.stable, (int)reply->committed);
	if (reply->count != call->args.count)
		sim_fail(client->sim, "P2", "client %u wrote %u blocks and is told %u",
			 client->number, call->args.count, reply->count);
}

static void sim_pages_written(struct sim_client *client, struct sim_page *page,
			      const struct sim_reply *reply)
{
	page->state = SIM_PAGE_UNSTABLE;
	page->verifier = reply->verifier;
	page->life = sim_oracle_life(client->sim->oracle, page->id);
	page->acked_us = sim_oracle_done_us(client->sim->oracle, page->id);
}

void sim_pages_on_write_reply(struct sim_client *client,
			      const struct sim_client_call *call,
			      const struct sim_reply *reply)
{
	const struct sim_args *args = &call->args;
	bool is_ok = reply->status == NFS3_OK;
	uint32_t i;

	if (is_ok) {
		sim_pages_check_write_reply(client, call, reply);
		sim_pages_note_verifier(client, args->file, reply->verifier);
	} else if (reply->status == NFS3ERR_JUKEBOX) {
		sim_pages_hold(client, args->file);
	}
	for (i = args->first; i < args->first + args->count; i++) {
		struct sim_page *page = &client->file[args->file].page[i];
		bool is_this = page->state == SIM_PAGE_WRITING && page->id == args->id;

		if (is_ok && reply->committed != NFS3_UNSTABLE)
			sim_oracle_promise(client->sim->oracle, args->id, i, "WRITE");
		if (!is_this)
			continue;
		if (is_ok && reply->committed == NFS3_UNSTABLE)
			sim_pages_written(client, page, reply);
		else if (reply->status == NFS3ERR_JUKEBOX)
			page->state = SIM_PAGE_DIRTY;
		else
			page->state = SIM_PAGE_CLEAN; /* stable, or told of an error */
	}
}

/* Does this reply to a COMMIT tell the client that the page is stable? */
static bool sim_pages_takes_for_stable(const struct sim_client *client,
				       const struct sim_page *covered,
				       const struct sim_reply *reply)
{
	return client->kind->scope == SIM_SCOPE_NONE ||
	       sim_pages_same(covered->verifier, reply->verifier);
}

/*
 * Who never looks at verifiers cannot hear of a restart of the proxy, nor of an error that
 * waited for it in vain: its loss, and nobody's fault. And an error is told once: it is
 * about all that was answered before it came, and another COMMIT that is out may bring it.
 */
static bool sim_pages_is_deaf(const struct sim_client *client, uint32_t file,
			      const struct sim_page *covered)
{
	const struct sim_proxy *proxy = client->sim->proxy;

	return client->kind->scope == SIM_SCOPE_NONE &&
	       (client->file[file].commits_out > 0 ||
		sim_oracle_is_told_error(client->sim->oracle, covered->id) ||
		covered->life != sim_proxy_life(proxy) ||
		client->sim->now_us - covered->acked_us >= sim_proxy_sticky_us(proxy));
}

static void sim_pages_committed(struct sim_client *client, uint32_t file,
				const struct sim_covered *covered,
				const struct sim_reply *reply)
{
	struct sim_page *page = &client->file[file].page[covered->block];
	bool is_same = page->state == SIM_PAGE_UNSTABLE && page->id == covered->page.id;

	if (!sim_pages_takes_for_stable(client, &covered->page, reply)) {
		if (!is_same)
			return;
		page->state = SIM_PAGE_DIRTY;
		page->needs_file_sync = client->kind->rewrites_file_sync;
		return;
	}
	if (!sim_pages_is_deaf(client, file, &covered->page))
		sim_oracle_promise(client->sim->oracle, covered->page.id,
				   covered->block, "COMMIT");
	if (is_same)
		page->state = SIM_PAGE_CLEAN;
}

static void sim_pages_commit_failed(struct sim_client *client, uint32_t file,
				    const struct sim_covered *covered)
{
	struct sim_page *page = &client->file[file].page[covered->block];

	if (page->state != SIM_PAGE_UNSTABLE || page->id != covered->page.id)
		return;
	page->state = client->kind->rewrites_after_error ? SIM_PAGE_DIRTY
							 : SIM_PAGE_CLEAN;
}

void sim_pages_on_commit_reply(struct sim_client *client,
			       const struct sim_client_call *call,
			       const struct sim_reply *reply)
{
	uint32_t file = call->args.file;
	unsigned int i;

	if (reply->status == NFS3ERR_JUKEBOX) {
		sim_pages_hold(client, file);
		return;
	}
	if (reply->status != NFS3_OK)
		sim_oracle_tell_error(client->sim->oracle, client->number, file);
	for (i = 0; i < call->covered_count; i++) {
		if (reply->status == NFS3_OK)
			sim_pages_committed(client, file, &call->covered[i], reply);
		else
			sim_pages_commit_failed(client, file, &call->covered[i]);
	}
	if (reply->status == NFS3_OK)
		sim_pages_note_verifier(client, file, reply->verifier);
}
