/*
 * Mount paths and the `exports` list.
 */
#ifndef FRONTEND_CALL_MOUNT_H
#define FRONTEND_CALL_MOUNT_H

#include <stdbool.h>
#include <stddef.h>

#include "nfsgather/invariant.h"

/*
 * Is `path` (not terminated) one of the exports or below one, component by component?
 * Repeated slashes, trailing ones and "." components do not count. A path that is not
 * absolute, has a ".." component or a NUL byte is not.
 */
bool mount_path_is_inside(const char *path, size_t path_bytes,
			  const char *const *exports, size_t export_count);

#endif
