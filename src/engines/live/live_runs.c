/* live_runs.c - two levels of sorted arrays */
#include "engines/live/live_runs.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static void run_free(struct live_run *run)
{
    free(run->open);
    free(run->touches);
    free(run);
}

void live_runs_release(struct live_runs *r)
{
    for (size_t p = 0; p < r->npages; p++) {
        for (uint32_t i = 0; i < r->pages[p]->count; i++)
            run_free(r->pages[p]->runs[i]);
        free(r->pages[p]);
    }
    free(r->pages);
    *r = (struct live_runs){ 0 };
}

/* The first page whose last run ends behind `at`. */
static size_t page_of(const struct live_runs *r, uint64_t at)
{
    size_t low = 0, high = r->npages;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct live_runs_page *p = r->pages[middle];

        if (p->runs[p->count - 1]->hi > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static uint32_t index_of(const struct live_runs_page *p, uint64_t at)
{
    uint32_t low = 0, high = p->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (p->runs[middle]->hi > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

struct live_run *live_runs_next(const struct live_runs *r, uint64_t at)
{
    size_t p = page_of(r, at);

    return p < r->npages ? r->pages[p]->runs[index_of(r->pages[p], at)] : NULL;
}

static struct live_runs_page *new_page(struct live_runs *r, size_t at)
{
    GROW(r->pages, r->pages_cap, r->npages + 1);
    memmove(r->pages + at + 1, r->pages + at, (r->npages - at) * sizeof(*r->pages));
    r->npages++;
    return r->pages[at] = xcalloc(1, sizeof(struct live_runs_page));
}

/* The upper half of a full page becomes one of its own. */
static void split_page(struct live_runs *r, size_t at)
{
    struct live_runs_page *from = r->pages[at], *to = new_page(r, at + 1);

    to->count = from->count / 2;
    from->count -= to->count;
    memcpy(to->runs, from->runs + from->count, to->count * sizeof(to->runs[0]));
}

struct live_run *live_runs_add(struct live_runs *r, uint64_t lo, uint64_t hi)
{
    struct live_run *run = xcalloc(1, sizeof(*run));
    size_t at = page_of(r, lo);
    struct live_runs_page *p;
    uint32_t i;

    at -= at && at == r->npages; /* behind the last one */
    if (!r->npages)
        new_page(r, 0);
    if (r->pages[at]->count == LIVE_RUNS_PAGE) {
        split_page(r, at);
        p = r->pages[at];
        at += p->runs[p->count - 1]->hi <= lo;
    }
    p = r->pages[at];
    i = index_of(p, lo);
    memmove(p->runs + i + 1, p->runs + i, (p->count - i) * sizeof(p->runs[0]));
    p->count++;
    r->count++;
    run->lo = lo;
    run->hi = hi;
    run->returned = CLOCK_EMPTY;
    return p->runs[i] = run;
}

void live_runs_remove(struct live_runs *r, struct live_run *run)
{
    size_t at = page_of(r, run->lo);
    struct live_runs_page *p = r->pages[at];
    uint32_t i = index_of(p, run->lo);

    memmove(p->runs + i, p->runs + i + 1, (--p->count - i) * sizeof(p->runs[0]));
    r->count--;
    if (!p->count) {
        free(p);
        memmove(r->pages + at, r->pages + at + 1, (--r->npages - at) * sizeof(*r->pages));
    }
    run_free(run);
}
