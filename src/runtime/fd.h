/* fd.h - edges through file descriptors
 *
 * What goes in at one end comes out at the other: release before data is handed
 * to the kernel, acquire after data (or its end) was got from it. Only reading
 * acquires, so threads that merely write to one log are not ordered.
 *
 * Concurrency: any thread, signal handlers too; no locks.
 */
#ifndef HEDDLE_RUNTIME_FD_H
#define HEDDLE_RUNTIME_FD_H

#include "runtime/rt.h"

HIDDEN void fd_release(int fd, uint64_t where);
HIDDEN void fd_acquire(int fd, uint64_t where);

#endif
