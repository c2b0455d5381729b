/* chase_company.h - is there another thread that might come while one waits?
 *
 * Not before the first is made, nor when all have ended: a wait would be wasted then. Threads are
 * counted as they are made and end; one that came otherwise (made by libc itself, by clone()) is
 * known when it first comes to a site, and from then on there is always company.
 * Concurrency: any thread, any time.
 */
#ifndef HEDDLE_RUNTIME_PRODUCTION_CHASE_COMPANY_H
#define HEDDLE_RUNTIME_PRODUCTION_CHASE_COMPANY_H

#include "runtime/core/rt.h"

HIDDEN bool company_is_there(void);

HIDDEN void company_made(void);  /* a thread will be */
HIDDEN void company_came(void);  /* the calling thread is at a site for the first time */
HIDDEN void company_ended(void); /* the calling thread; again by its other destructors */
HIDDEN void company_forked(void);

#endif
