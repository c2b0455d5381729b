/* heddle.h - what a program can tell Heddle about itself
 *
 * Include it anywhere: in a program that Heddle did not build (__HEDDLE__ is not
 * defined) all of it is nothing. Built with heddle-cc, but linked without the
 * runtime, the calls are to weak functions that are not there, and are not made.
 *
 *     HEDDLE_HAPPENS_BEFORE(p)     what this thread did so far happens before what
 *     HEDDLE_HAPPENS_AFTER(p)      another does after its HAPPENS_AFTER of the same p
 *     HEDDLE_LOCKED(p)             a lock of your own making was taken
 *     HEDDLE_UNLOCKING(p)          it is about to be given back
 *     HEDDLE_LOCKED_SHARED(p), HEDDLE_UNLOCKING_SHARED(p)     by one of several readers
 *     HEDDLE_ALLOCATED(p, n)       n bytes at p come fresh from an allocator of your own
 *     HEDDLE_FREEING(p, n)         and are about to go back to it
 *     HEDDLE_IGNORE_BEGIN()        accesses of this thread are not recorded
 *     HEDDLE_IGNORE_END()          until here; the two nest
 *     HEDDLE_BENIGN(p, n)          races on these n bytes are intended
 *     HEDDLE_THREAD_NAME(s)        how reports call this thread
 *     HEDDLE_GLOBAL(p)             the next call of untraced code in this thread also touches
 *                                  the object at p, which it does not get as an argument
 *
 * The annotations of ThreadSanitizer (<sanitizer/tsan_interface.h>) and
 * dynamic_annotations.h work as well.
 */
#ifndef HEDDLE_H
#define HEDDLE_H

#ifdef __HEDDLE__

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEDDLE_WEAK __attribute__((weak, visibility("default")))

HEDDLE_WEAK void __heddle_annotate_happens_before(const volatile void *p);
HEDDLE_WEAK void __heddle_annotate_happens_after(const volatile void *p);
HEDDLE_WEAK void __heddle_annotate_locked(const volatile void *p, int shared);
HEDDLE_WEAK void __heddle_annotate_unlocking(const volatile void *p, int shared);
HEDDLE_WEAK void __heddle_annotate_allocated(const volatile void *p, size_t bytes);
HEDDLE_WEAK void __heddle_annotate_freeing(const volatile void *p, size_t bytes);
HEDDLE_WEAK void __heddle_annotate_ignore_begin(void);
HEDDLE_WEAK void __heddle_annotate_ignore_end(void);
HEDDLE_WEAK void __heddle_annotate_benign(const volatile void *p, size_t bytes);
HEDDLE_WEAK void __heddle_annotate_thread_name(const char *name);
HEDDLE_WEAK void __heddle_annotate_global(const volatile void *p);

#ifdef __cplusplus
}
#endif

#define HEDDLE_CALL(name, ...)                                                                     \
    do {                                                                                           \
        if (__heddle_annotate_##name)                                                              \
            __heddle_annotate_##name(__VA_ARGS__);                                                 \
    } while (0)

#define HEDDLE_HAPPENS_BEFORE(p)   HEDDLE_CALL(happens_before, p)
#define HEDDLE_HAPPENS_AFTER(p)    HEDDLE_CALL(happens_after, p)
#define HEDDLE_LOCKED(p)           HEDDLE_CALL(locked, p, 0)
#define HEDDLE_UNLOCKING(p)        HEDDLE_CALL(unlocking, p, 0)
#define HEDDLE_LOCKED_SHARED(p)    HEDDLE_CALL(locked, p, 1)
#define HEDDLE_UNLOCKING_SHARED(p) HEDDLE_CALL(unlocking, p, 1)
#define HEDDLE_ALLOCATED(p, n)     HEDDLE_CALL(allocated, p, n)
#define HEDDLE_FREEING(p, n)       HEDDLE_CALL(freeing, p, n)
#define HEDDLE_IGNORE_BEGIN()      HEDDLE_CALL(ignore_begin)
#define HEDDLE_IGNORE_END()        HEDDLE_CALL(ignore_end)
#define HEDDLE_BENIGN(p, n)        HEDDLE_CALL(benign, p, n)
#define HEDDLE_THREAD_NAME(s)      HEDDLE_CALL(thread_name, s)
#define HEDDLE_GLOBAL(p)           HEDDLE_CALL(global, p)

#else /* not built by Heddle */

#define HEDDLE_HAPPENS_BEFORE(p)   ((void)0)
#define HEDDLE_HAPPENS_AFTER(p)    ((void)0)
#define HEDDLE_LOCKED(p)           ((void)0)
#define HEDDLE_UNLOCKING(p)        ((void)0)
#define HEDDLE_LOCKED_SHARED(p)    ((void)0)
#define HEDDLE_UNLOCKING_SHARED(p) ((void)0)
#define HEDDLE_ALLOCATED(p, n)     ((void)0)
#define HEDDLE_FREEING(p, n)       ((void)0)
#define HEDDLE_IGNORE_BEGIN()      ((void)0)
#define HEDDLE_IGNORE_END()        ((void)0)
#define HEDDLE_BENIGN(p, n)        ((void)0)
#define HEDDLE_THREAD_NAME(s)      ((void)0)
#define HEDDLE_GLOBAL(p)           ((void)0)

#endif
#endif
