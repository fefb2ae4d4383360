/*
 * Which WRITEs and size changes of a file may be out together (P4, I6).
 */
#ifndef COALESCE_ORDER_H
#define COALESCE_ORDER_H

#include <stdbool.h>

#include "coalesce/file.h"
#include "nfsgather/engine.h"

/* Puts the op at the end of its file's line; true when it need not wait. */
bool order_enter(struct engine_op *op);
/*
 * Takes the op, which upstream has answered, out of the line.
 */
void order_leave(struct engine_op *op);
/*
 * The next waiting op of the file with nothing overlapping before it any more, or NULL.
 * The caller moves it out of ENGINE_OP_WAITING before it asks again.
 */
struct engine_op *order_next_ready(struct engine_file *file);

#endif
