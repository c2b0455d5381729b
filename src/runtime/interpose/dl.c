/* dl.c - libraries that come and go
 *
 * dlopen() is NOT interposed: it resolves $ORIGIN and RUNPATH of the library
 * that calls it, which it knows by its return address; a dlopen() called from
 * here would look in the wrong places. Traced libraries register themselves
 * from a constructor, which tells the trace what is mapped where; libraries that
 * are not traced are seen when the next one registers, when one is closed, or at
 * the end. What is missed: that the constructors of a library happen before the
 * return of another thread's dlopen() of the same library.
 *
 * dlclose() does not ask who calls: what was mapped is noted before it goes.
 */
#include "runtime/interpose/interpose.h"
#include "runtime/production/unwind.h"

#include <dlfcn.h>

INTERPOSE(int, dlclose, void *handle)
{
    int r;

    rt_images_update();
    r = REAL(dlclose)(handle);
    unwind_images();
    rt_images_closed();
    return r;
}
