/* reply.h - answers the recorded process: what may the code of its images do?
 *
 * A thread of its own sleeps until the process asks (rt_ring.h, effects_wanted), reads the images'
 * machine code (symbol/effects.h), and lays the table down in the shared memory. Tables are only
 * added: the process may be looking at an old one. Without room the last one stays.
 */
#ifndef HEDDLE_RECORD_REPLY_H
#define HEDDLE_RECORD_REPLY_H

#include "record/ring.h"

struct reply;

/* NULL: no thread could be started; the process is never answered. */
struct reply *reply_start(struct ring *r);
/* Once the process is gone. */
void reply_stop(struct reply *p);

#endif
