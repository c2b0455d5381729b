/* aio.c - requests that threads of libc carry out: aio_*, lio_listio(), getaddrinfo_a()
 *
 * These threads, and those that call the program's functions (SIGEV_THREAD),
 * are made inside libc, and libc reads the request when it is done, so the
 * function cannot be replaced as in notify.c. One object stands for all
 * requests: who makes one releases it; a thread that comes from nowhere, and
 * whoever learns that a request is done, acquires it.
 *
 * Limit: what the request itself reads and writes (its buffer) is not recorded.
 */
#include "runtime/interpose/interpose.h"

#include <aio.h>
#include <netdb.h>

static void requested(const struct sigevent *e, uint64_t where)
{
    if (e && e->sigev_notify == SIGEV_SIGNAL)
        signal_to_process(e->sigev_signo, where);
    rt_sync_number(OP_BEFORE, OBJECT_REQUESTS, where);
}

static void done(uint64_t where)
{
    rt_sync_number(OP_AFTER, OBJECT_REQUESTS, where);
}

#define SUBMIT(name, aiocb)                                                                        \
    INTERPOSE(int, name, struct aiocb *request)                                                    \
    {                                                                                              \
        requested(&request->aio_sigevent, WHERE_CALLER());                                         \
        return REAL(name)(request);                                                                \
    }
#define SYNC(name, aiocb)                                                                          \
    INTERPOSE(int, name, int operation, struct aiocb *request)                                     \
    {                                                                                              \
        requested(&request->aio_sigevent, WHERE_CALLER());                                         \
        return REAL(name)(operation, request);                                                     \
    }
#define LIST(name, aiocb)                                                                          \
    INTERPOSE(int, name, int mode, struct aiocb *const list[restrict], int n,                      \
              struct sigevent *restrict event)                                                     \
    {                                                                                              \
        for (int i = 0; i < n; i++)                                                                \
            if (list[i])                                                                           \
                requested(&list[i]->aio_sigevent, WHERE_CALLER());                                 \
        requested(mode == LIO_NOWAIT ? event : NULL, WHERE_CALLER());                              \
        return REAL(name)(mode, list, n, event);                                                   \
    }
#define ERROR(name, aiocb)                                                                         \
    INTERPOSE(int, name, const struct aiocb *request)                                              \
    {                                                                                              \
        int r = REAL(name)(request);                                                               \
                                                                                                   \
        if (r != EINPROGRESS)                                                                      \
            done(WHERE_CALLER());                                                                  \
        return r;                                                                                  \
    }
#define SUSPEND(name, aiocb)                                                                       \
    INTERPOSE(int, name, const struct aiocb *const list[], int n,                                  \
              const struct timespec *restrict limit)                                               \
    {                                                                                              \
        int r = REAL(name)(list, n, limit);                                                        \
                                                                                                   \
        if (r == 0)                                                                                \
            done(WHERE_CALLER());                                                                  \
        return r;                                                                                  \
    }
/* Programs with 64 bits for file offsets call functions of other names. */
#define BOTH(what, name) what(name, aiocb) what(name##64, aiocb64)

BOTH(SUBMIT, aio_read)
BOTH(SUBMIT, aio_write)
BOTH(SYNC, aio_fsync)
BOTH(LIST, lio_listio)
BOTH(ERROR, aio_error)
BOTH(SUSPEND, aio_suspend)

#ifndef HEDDLE_STATIC /* else every program that has the ones above would get a resolver */
INTERPOSE(int, getaddrinfo_a, int mode, struct gaicb *list[restrict], int n,
          struct sigevent *restrict event)
{
    requested(event, WHERE_CALLER());
    return REAL(getaddrinfo_a)(mode, list, n, event);
}

INTERPOSE(int, gai_error, struct gaicb *request)
{
    int r = REAL(gai_error)(request);

    if (r != EAI_INPROGRESS)
        done(WHERE_CALLER());
    return r;
}

INTERPOSE(int, gai_suspend, const struct gaicb *const list[], int n, const struct timespec *limit)
{
    int r = REAL(gai_suspend)(list, n, limit);

    if (r == 0)
        done(WHERE_CALLER());
    return r;
}
#endif
