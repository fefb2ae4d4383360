/*
 * What tells the kinds of clients apart, as in their sources:
 * how far a verifier reaches, how they write, what a failed COMMIT means.
 *
 * Leaves out all that does not show on the wire.
 */
#include "sim/sim_client_private.h"

const struct sim_kind sim_kinds[SIM_CLIENT_KIND_COUNT] = {
	[SIM_CLIENT_LINUX] = {
		.name = "Linux",
		.scope = SIM_SCOPE_WRITE,
		.syncs_one_at_once = true,
	},
	[SIM_CLIENT_LINUX_DIRECT] = {
		.name = "Linux O_DIRECT",
		.scope = SIM_SCOPE_WRITE,
		.syncs_each_write = true,
		.syncs_one_at_once = true,
		.rewrites_file_sync = true,
	},
	[SIM_CLIENT_FREEBSD] = {
		.name = "FreeBSD",
		.scope = SIM_SCOPE_MOUNT,
		.rewrites_after_error = true,
	},
	[SIM_CLIENT_SOLARIS] = {
		.name = "Solaris",
		.scope = SIM_SCOPE_FILE,
		.rewrites_after_error = true,
	},
	[SIM_CLIENT_LIBNFS] = {
		.name = "libnfs",
		.scope = SIM_SCOPE_NONE,
	},
	[SIM_CLIENT_FILE_SYNC] = {
		.name = "FILE_SYNC only",
		.scope = SIM_SCOPE_WRITE,
		.stable = NFS3_FILE_SYNC,
		.syncs_each_write = true,
	},
	[SIM_CLIENT_DATA_SYNC] = {
		.name = "DATA_SYNC only",
		.scope = SIM_SCOPE_FILE,
		.stable = NFS3_DATA_SYNC,
		.syncs_each_write = true,
	},
};
