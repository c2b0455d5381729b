/* gen_options.c - which traces to generate when nobody says, and which from a seed */
#include "gen.h"

#include <string.h>

#include "rng.h"

void gen_small_defaults(struct gen_small_options *o)
{
    static const uint8_t weight[OP_COUNT] = {
        [OP_READ] = 30,          [OP_WRITE] = 30,    [OP_LOAD] = 6,
        [OP_STORE] = 6,          [OP_RMW] = 4,       [OP_FENCE] = 3,
        [OP_ACQUIRE] = 20,       [OP_RELEASE] = 25,  [OP_ACQUIRE_SHARED] = 6,
        [OP_RELEASE_SHARED] = 9, [OP_FORK] = 8,      [OP_JOIN] = 8,
        [OP_BEGIN] = 20,         [OP_END] = 4,       [OP_WAIT] = 4,
        [OP_SIGNAL] = 3,         [OP_BROADCAST] = 2, [OP_BARRIER_ENTER] = 2,
        [OP_SEM_POST] = 2,       [OP_SEM_WAIT] = 3,  [OP_ONCE] = 2,
        [OP_BEFORE] = 2,         [OP_AFTER] = 2,     [OP_ALLOC] = 4,
        [OP_FREE] = 4,           [OP_CALL] = 3,      [OP_RETURN] = 4,
        [OP_BRANCH] = 6,         [OP_ENTER] = 1,     [OP_EXIT] = 1,
    };

    *o = (struct gen_small_options){ .seed = 1,
                                     .events = 12,
                                     .threads = 3,
                                     .variables = 2,
                                     .locks = 2,
                                     .burst = 40,
                                     .addresses = 30,
                                     .recursive = 50,
                                     .roots = 50 };
    memcpy(o->weight, weight, sizeof(weight));
}

/* Each group of operations is off, on, or the main thing, so that rare ones meet each other. */
static void draw_weights(struct gen_small_options *o, struct rng *r)
{
    static const uint8_t groups[][5] = {
        { OP_LOAD, OP_STORE, OP_RMW, OP_FENCE },
        { OP_ACQUIRE_SHARED, OP_RELEASE_SHARED },
        { OP_FORK, OP_JOIN, OP_END, OP_BEGIN },
        { OP_WAIT, OP_SIGNAL, OP_BROADCAST },
        { OP_BARRIER_ENTER },
        { OP_SEM_POST, OP_SEM_WAIT },
        { OP_ONCE, OP_BEFORE, OP_AFTER },
        { OP_ALLOC, OP_FREE },
        { OP_CALL, OP_RETURN },
        { OP_BRANCH },
        { OP_ENTER, OP_EXIT },
    };
    /* in every third trace locks and accesses are nearly alone: that is where reorderings
     * find races that happens-before does not */
    uint32_t off = rng_percent(r, 35) ? 90 : 55;

    for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++) {
        uint32_t factor = rng_percent(r, off) ? 0 : rng_percent(r, 50) ? 4 : 1;

        for (int i = 0; groups[g][i]; i++)
            o->weight[groups[g][i]] = (uint8_t)(o->weight[groups[g][i]] * factor);
    }
    if (rng_percent(r, 50)) {
        o->weight[OP_ACQUIRE] *= 2;
        o->weight[OP_RELEASE] *= 3;
    }
}

/* A third of the traces has loose reads and writes; most of these no branches, with which they do
 * not count. */
static void draw_marks(struct gen_small_options *o, uint64_t seed)
{
    struct rng r;

    rng_init(&r, seed ^ 0x6c6f6f7365u);
    if (!rng_percent(&r, 33))
        return;
    o->loose = rng_between(&r, 20, 90);
    if (rng_percent(&r, 85))
        o->weight[OP_BRANCH] = 0;
}

void gen_small_random(struct gen_small_options *o, uint64_t seed, uint32_t max_events)
{
    struct rng r;

    rng_init(&r, seed ^ 0x6f7074696f6e73u);
    gen_small_defaults(o);
    draw_weights(o, &r);
    o->seed = seed;
    o->events = rng_between(&r, max_events < 12 ? 4 : max_events / 3, max_events);
    o->threads = rng_between(&r, 2, 4);
    o->variables = rng_between(&r, 1, 3);
    o->locks = rng_between(&r, 1, 3);
    o->burst = rng_below(&r, 90);
    o->values = rng_percent(&r, 60) ? (rng_percent(&r, 70) ? 100 : 80) : 0;
    o->addresses = rng_percent(&r, 50) ? 0 : rng_between(&r, 20, 100);
    o->recursive = rng_percent(&r, 30) ? 50 : 0;
    o->abandon = rng_percent(&r, 30) ? 60 : 0;
    o->roots = rng_percent(&r, 50) ? 0 : 60;
    o->use_after_free = rng_percent(&r, 20) ? 40 : 0;
    draw_marks(o, seed);
}

void gen_small_heap(struct gen_small_options *o)
{
    struct rng r;

    rng_init(&r, o->seed ^ 0x68656170u);
    o->weight[OP_ALLOC] = o->weight[OP_FREE] = 40;
    o->addresses = 100;
    o->use_after_free = rng_percent(&r, 50) ? 40 : 0;
    o->odd_blocks = rng_percent(&r, 50) ? 40 : 0;
}

void gen_small_locks(struct gen_small_options *o)
{
    struct rng r;

    rng_init(&r, o->seed ^ 0x6c6f636b73u);
    if (rng_percent(&r, 80))
        memset(o->weight, 0, sizeof(o->weight));
    o->weight[OP_ACQUIRE] = 90;
    o->weight[OP_RELEASE] = (uint8_t)rng_between(&r, 90, 200);
    if (rng_percent(&r, 40)) {
        o->weight[OP_ACQUIRE_SHARED] = 60;
        o->weight[OP_RELEASE_SHARED] = 90;
    }
    o->weight[OP_READ] = o->weight[OP_WRITE] = rng_percent(&r, 60) ? 4 : 20;
    o->locks = rng_between(&r, 2, 3);
    o->threads = rng_percent(&r, 60) ? 2 : rng_between(&r, 3, 4);
    o->burst = rng_between(&r, 60, 95); /* sections that another thread waits for end soon */
    o->roots = 100;
    o->recursive = rng_percent(&r, 20) ? 50 : 0;
    if (rng_percent(&r, 40)) {
        o->weight[OP_REQUEST] = 10;
        o->weight[OP_REQUEST_SHARED] = o->weight[OP_ACQUIRE_SHARED] / 6;
    }
}

void gen_small_sections(struct gen_small_options *o, uint64_t seed, uint32_t events)
{
    struct rng r;

    rng_init(&r, seed ^ 0x73656374u);
    gen_small_defaults(o);
    memset(o->weight, 0, sizeof(o->weight));
    o->seed = seed;
    o->events = events;
    o->threads = rng_between(&r, 3, 6);
    o->variables = rng_between(&r, 2, 8);
    o->locks = rng_between(&r, 2, 6);
    o->burst = rng_between(&r, 50, 97);
    o->roots = rng_percent(&r, 80) ? 100 : 50;
    o->addresses = rng_percent(&r, 20) ? 30 : 0;
    o->abandon = rng_percent(&r, 20) ? 60 : 0;
    o->weight[OP_ACQUIRE] = 40;
    o->weight[OP_RELEASE] = (uint8_t)rng_between(&r, 35, 60);
    o->weight[OP_READ] = (uint8_t)rng_between(&r, 2, 25);
    o->weight[OP_WRITE] = (uint8_t)rng_between(&r, 2, 15);
    if (rng_percent(&r, 40))
        o->weight[OP_ACQUIRE_SHARED] = o->weight[OP_RELEASE_SHARED] = 35;
    if (rng_percent(&r, 20))
        o->weight[OP_LOAD] = o->weight[OP_STORE] = o->weight[OP_RMW] = 4;
    if (rng_percent(&r, 20))
        o->weight[OP_SEM_POST] = o->weight[OP_SEM_WAIT] = 4;
    if (o->roots < 100 || rng_percent(&r, 20))
        o->weight[OP_FORK] = o->weight[OP_JOIN] = o->weight[OP_END] = 5;
}

void gen_large_defaults(struct gen_large_options *o)
{
    *o = (struct gen_large_options){
        .seed = 1,
        .events = 10000000,
        .threads = 8,
        .locks = 256,
        .variables = 50000,
        .functions = 200,
        .racy = 10,
        .racy_ppm = 10000,
        .burst = 40,
        .lock_percent = 11,
        .write_percent = 35,
        .nested_percent = 5,
    };
}
