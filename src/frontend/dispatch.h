/*
 * From a complete record to a call on its way.
 */
#ifndef FRONTEND_DISPATCH_H
#define FRONTEND_DISPATCH_H

#include "call.h"

/*
 * Takes the record and its admission charge. Whatever is wrong with it is answered or
 * closes the session (which the caller must expect). The session may be paused on return
 * with the call parked, to be handed to dispatch_resume() once its reply has room.
 */
void dispatch_record(struct session *session, struct buf *record, size_t charge_bytes);
/* A parked call whose reply_charge_bytes has been reserved. */
void dispatch_resume(struct call *call);

#endif
