/* stdio_edges.c - streams: explicit locks, flushing, opening and closing */
#include <stdio.h>

#include "runtime/interpose/stdio_edges.h"

/* ---- flockfile: a recursive lock; only the outermost is an event ---- */

enum { HELD_MAX = 4 }; /* streams that a thread holds at once; more are not recorded */
static _Thread_local struct {
    FILE *f;
    unsigned depth;
} held[HELD_MAX] __attribute__((tls_model("initial-exec")));

static void locked(FILE *f, uint64_t where)
{
    int i, free = -1;

    for (i = 0; i < HELD_MAX && held[i].f != f; i++)
        if (!held[i].f)
            free = i;
    if (i == HELD_MAX && free < 0)
        return;
    if (i == HELD_MAX) {
        held[i = free].f = f;
        held[i].depth = 0;
    }
    if (held[i].depth++ == 0)
        rt_sync(OP_ACQUIRE, f, where);
}

static void unlocks(FILE *f, uint64_t where)
{
    for (int i = 0; i < HELD_MAX; i++)
        if (held[i].f == f && --held[i].depth == 0) {
            held[i].f = NULL;
            rt_sync(OP_RELEASE, f, where);
        }
}

INTERPOSE(void, flockfile, FILE *f)
{
    REAL(flockfile)(f);
    locked(f, WHERE_CALLER());
}

INTERPOSE(int, ftrylockfile, FILE *f)
{
    int r = REAL(ftrylockfile)(f);

    if (r == 0)
        locked(f, WHERE_CALLER());
    return r;
}

INTERPOSE(void, funlockfile, FILE *f)
{
    unlocks(f, WHERE_CALLER());
    REAL(funlockfile)(f);
}

/* ---- the file below ---- */

INTERPOSE(int, fflush, FILE *f)
{
    if (f)
        stdio_release(f, WHERE_CALLER());
    return REAL(fflush)(f);
}

INTERPOSE(int, fclose, FILE *f)
{
    if (f)
        stdio_release(f, WHERE_CALLER());
    if (f)
        fd_forgotten(fileno_unlocked(f));
    return REAL(fclose)(f);
}

INTERPOSE(int, pclose, FILE *f)
{
    if (f)
        stdio_release(f, WHERE_CALLER());
    return REAL(pclose)(f);
}
