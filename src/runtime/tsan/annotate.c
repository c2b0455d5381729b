/* annotate.c - annotations in the program's source
 *
 * The Annotate* functions of dynamic_annotations.h (also Valgrind's and
 * WebKit's spelling), and __heddle_annotate_*, which <heddle.h> calls. All weak: a
 * program may bring definitions of its own.
 *
 * What has no meaning here (flushing shadow state, tracing an address,
 * expecting a race) is accepted and does nothing.
 */
#include "runtime/core/benign.h"
#include "runtime/core/ignore.h"
#include "runtime/core/state.h"

/* ---- benign races ---- */

static struct {
    uintptr_t address;
    uint64_t bytes;
} benign[BENIGN_MAX];
static uint32_t benign_claimed;
uint32_t benign_used;

/* The writer leaves them out of full recordings, whose code appends without asking. Of two threads
 * that tell at the same time the one that stores last looks again. */
void benign_tell(struct ring_header *r)
{
    uint32_t told, n;

    do {
        told = __atomic_load_n(&benign_used, __ATOMIC_SEQ_CST);
        n = told < RING_BENIGN_MAX ? told : RING_BENIGN_MAX;
        for (uint32_t i = 0; i < n; i++)
            r->benign[i] = (struct ring_benign){ benign[i].address, benign[i].bytes };
        __atomic_store_n(&r->nbenign, n, __ATOMIC_SEQ_CST);
    } while (__atomic_load_n(&benign_used, __ATOMIC_SEQ_CST) != told);
}

/* A slot is claimed, filled, and then let readers see it, in the order of claiming. */
void benign_add(const volatile void *address, uint64_t bytes)
{
    uint32_t i, wait;

    if (!address || !bytes)
        return;
    rt_busy_begin();
    i = __atomic_fetch_add(&benign_claimed, 1, __ATOMIC_RELAXED);
    if (i < BENIGN_MAX) {
        benign[i].address = (uintptr_t)address;
        benign[i].bytes = bytes;
        rt.picky = true;
        do
            wait = i;
        while (!__atomic_compare_exchange_n(&benign_used, &wait, i + 1, true, __ATOMIC_RELEASE,
                                            __ATOMIC_RELAXED));
        if (rt.full && rt.ring)
            benign_tell(rt.ring);
    } else {
        rt_say("more than %d benign ranges: 0x%lx is not kept", BENIGN_MAX, (unsigned long)address);
    }
    rt_busy_end();
}

bool benign_find(uintptr_t address, uint64_t bytes)
{
    for (uint32_t i = 0, n = __atomic_load_n(&benign_used, __ATOMIC_ACQUIRE); i < n; i++)
        if (address >= benign[i].address && address + bytes <= benign[i].address + benign[i].bytes)
            return true;
    return false;
}

/* ---- dynamic_annotations.h ---- */

#define ANNOTATE(name, ...)                                                                        \
    EXPORT __attribute__((weak)) void name(const char *file, int line, ##__VA_ARGS__);             \
    EXPORT __attribute__((weak)) void name(const char *file __attribute__((unused)),               \
                                           int line __attribute__((unused)), ##__VA_ARGS__)
#define ANNOTATE_NOTHING(name, ...)                                                                \
    ANNOTATE(name, ##__VA_ARGS__)                                                                  \
    {                                                                                              \
    }
#define UNUSED __attribute__((unused))

typedef const volatile void *address;

ANNOTATE(AnnotateHappensBefore, address p)
{
    rt_sync(OP_BEFORE, (const void *)p, WHERE_CALLER());
}

ANNOTATE(AnnotateHappensAfter, address p)
{
    rt_sync(OP_AFTER, (const void *)p, WHERE_CALLER());
}

ANNOTATE(WTFAnnotateHappensBefore, address p)
{
    rt_sync(OP_BEFORE, (const void *)p, WHERE_CALLER());
}

ANNOTATE(WTFAnnotateHappensAfter, address p)
{
    rt_sync(OP_AFTER, (const void *)p, WHERE_CALLER());
}

/* A condition variable of the program's own. */
ANNOTATE(AnnotateCondVarSignal, address p)
{
    rt_sync(OP_BEFORE, (const void *)p, WHERE_CALLER());
}

ANNOTATE(AnnotateCondVarSignalAll, address p)
{
    rt_sync(OP_BEFORE, (const void *)p, WHERE_CALLER());
}

ANNOTATE(AnnotateCondVarWait, address p, address lock UNUSED)
{
    rt_sync(OP_AFTER, (const void *)p, WHERE_CALLER());
}

/* A queue: what is put happens before what is got. */
ANNOTATE(AnnotatePCQPut, address p)
{
    rt_sync(OP_BEFORE, (const void *)p, WHERE_CALLER());
}

ANNOTATE(AnnotatePCQGet, address p)
{
    rt_sync(OP_AFTER, (const void *)p, WHERE_CALLER());
}

ANNOTATE(AnnotateRWLockAcquired, address p, long writer)
{
    rt_sync(writer ? OP_ACQUIRE : OP_ACQUIRE_SHARED, (const void *)p, WHERE_CALLER());
}

ANNOTATE(AnnotateRWLockReleased, address p, long writer)
{
    rt_sync(writer ? OP_RELEASE : OP_RELEASE_SHARED, (const void *)p, WHERE_CALLER());
}

ANNOTATE(AnnotateBenignRace, address p, const char *why UNUSED)
{
    benign_add(p, 8);
}

ANNOTATE(AnnotateBenignRaceSized, address p, long bytes, const char *why UNUSED)
{
    benign_add(p, bytes > 0 ? (uint64_t)bytes : 0);
}

ANNOTATE(WTFAnnotateBenignRaceSized, address p, long bytes, const char *why UNUSED)
{
    benign_add(p, bytes > 0 ? (uint64_t)bytes : 0);
}

/* Memory that an allocator of the program's own hands out. */
ANNOTATE(AnnotateNewMemory, address p, long bytes)
{
    if (bytes > 0)
        rt_alloc((const void *)p, (uint64_t)bytes, WHERE_CALLER());
}

ANNOTATE(AnnotateThreadName, const char *name)
{
    if (name)
        rt_thread_name(name);
}

/* Reads and writes are not told apart, as in ThreadSanitizer. */
ANNOTATE(AnnotateIgnoreReadsBegin)
{
    ignore_begin();
}

ANNOTATE(AnnotateIgnoreReadsEnd)
{
    ignore_end();
}

ANNOTATE(AnnotateIgnoreWritesBegin)
{
    ignore_begin();
}

ANNOTATE(AnnotateIgnoreWritesEnd)
{
    ignore_end();
}

ANNOTATE_NOTHING(AnnotateIgnoreSyncBegin)
ANNOTATE_NOTHING(AnnotateIgnoreSyncEnd)
ANNOTATE_NOTHING(AnnotateRWLockCreate, address p UNUSED)
ANNOTATE_NOTHING(AnnotateRWLockCreateStatic, address p UNUSED)
ANNOTATE_NOTHING(AnnotateRWLockDestroy, address p UNUSED)
ANNOTATE_NOTHING(AnnotatePCQCreate, address p UNUSED)
ANNOTATE_NOTHING(AnnotatePCQDestroy, address p UNUSED)
ANNOTATE_NOTHING(AnnotatePublishMemoryRange, address p UNUSED, long bytes UNUSED)
ANNOTATE_NOTHING(AnnotateUnpublishMemoryRange, address p UNUSED, long bytes UNUSED)
ANNOTATE_NOTHING(AnnotateMutexIsNotPHB, address p UNUSED)
ANNOTATE_NOTHING(AnnotateMutexIsUsedAsCondVar, address p UNUSED)
ANNOTATE_NOTHING(AnnotateExpectRace, address p UNUSED, const char *why UNUSED)
ANNOTATE_NOTHING(AnnotateFlushExpectedRaces)
ANNOTATE_NOTHING(AnnotateTraceMemory, address p UNUSED)
ANNOTATE_NOTHING(AnnotateFlushState)
ANNOTATE_NOTHING(AnnotateEnableRaceDetection, int enable UNUSED)
ANNOTATE_NOTHING(AnnotateMemoryIsInitialized, address p UNUSED, long bytes UNUSED)
ANNOTATE_NOTHING(AnnotateMemoryIsUninitialized, address p UNUSED, long bytes UNUSED)
ANNOTATE_NOTHING(AnnotateNoOp, address p UNUSED)

/* ---- <heddle.h> ---- */

#define HEDDLE(name, ...)                                                                          \
    EXPORT void __heddle_annotate_##name(__VA_ARGS__);                                             \
    EXPORT void __heddle_annotate_##name(__VA_ARGS__)

HEDDLE(happens_before, address p)
{
    rt_sync(OP_BEFORE, (const void *)p, WHERE_CALLER());
}

HEDDLE(happens_after, address p)
{
    rt_sync(OP_AFTER, (const void *)p, WHERE_CALLER());
}

HEDDLE(locked, address p, int shared)
{
    rt_sync(shared ? OP_ACQUIRE_SHARED : OP_ACQUIRE, (const void *)p, WHERE_CALLER());
}

HEDDLE(unlocking, address p, int shared)
{
    rt_sync(shared ? OP_RELEASE_SHARED : OP_RELEASE, (const void *)p, WHERE_CALLER());
}

HEDDLE(allocated, address p, size_t bytes)
{
    rt_alloc((const void *)p, bytes, WHERE_CALLER());
}

HEDDLE(freeing, address p, size_t bytes)
{
    rt_free((const void *)p, bytes, WHERE_CALLER());
}

HEDDLE(ignore_begin, void)
{
    ignore_begin();
}

HEDDLE(ignore_end, void)
{
    ignore_end();
}

HEDDLE(benign, address p, size_t bytes)
{
    benign_add(p, bytes);
}

HEDDLE(thread_name, const char *name)
{
    if (name)
        rt_thread_name(name);
}
