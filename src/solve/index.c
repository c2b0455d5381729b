/* index.c - the problem's writers and sections by thread
 *
 * Within a thread the order of events is fixed, so questions like "its last
 * write before" or "its first section after" are binary searches.
 */
#include "base/alloc.h"
#include "solve/must.h"

#include <stdlib.h>
#include <string.h>

struct indexer {
    const struct problem *p;
    uint32_t *count; /* thread -> entries of the present key */
    uint32_t *start; /* thread -> where the next one goes */
    uint32_t *used;  /* threads with entries */
    uint32_t nused;
};

/* Sort items of one key by thread, keeping their order, and append the groups. */
static void index_group(struct indexer *x, const uint32_t *items, const uint32_t *threads,
                        uint32_t n, uint32_t at, uint32_t *sorted, struct problem_group **groups,
                        size_t *cap, uint32_t *ngroups)
{
    x->nused = 0;
    for (uint32_t i = 0; i < n; i++)
        if (!x->count[threads[i]]++)
            x->used[x->nused++] = threads[i];
    for (uint32_t i = 0; i < x->nused; i++) {
        uint32_t t = x->used[i];

        GROW(*groups, *cap, (size_t)*ngroups + 1);
        (*groups)[(*ngroups)++] = (struct problem_group){ t, at, x->count[t] };
        x->start[t] = at;
        at += x->count[t];
        x->count[t] = 0;
    }
    for (uint32_t i = 0; i < n; i++)
        sorted[x->start[threads[i]]++] = items[i];
}

static void group_writers(struct problem *p, struct indexer *x)
{
    uint32_t total = p->writer_first[p->ncells], n = 0;
    uint32_t *threads = xmalloc(((size_t)total + 1) * sizeof(*threads));
    size_t cap = 0;

    p->cell_group_first = xcalloc((size_t)p->ncells + 1, sizeof(uint32_t));
    p->group_touch = xmalloc(((size_t)total + 1) * sizeof(uint32_t));
    for (uint32_t k = 0; k < total; k++)
        threads[k] = p->thread[p->touches[p->writer[k]].node];
    for (uint32_t c = 0; c < p->ncells; c++) {
        uint32_t from = p->writer_first[c];

        index_group(x, p->writer + from, threads + from, p->writer_first[c + 1] - from, from,
                    p->group_touch, &p->cell_groups, &cap, &n);
        p->cell_group_first[c + 1] = n;
    }
    free(threads);
}

/* Sections by lock, in trace order. */
static uint32_t *sections_by_lock(const struct problem *p, uint32_t *first)
{
    uint32_t *list = xmalloc(((size_t)p->nsections + 1) * sizeof(*list));

    for (uint32_t s = 0; s < p->nsections; s++)
        first[p->sections[s].lock + 1]++;
    for (uint32_t l = 0; l < p->nlocks; l++)
        first[l + 1] += first[l];
    for (uint32_t s = 0; s < p->nsections; s++)
        list[first[p->sections[s].lock]++] = s;
    for (uint32_t l = p->nlocks; l > 0; l--)
        first[l] = first[l - 1];
    first[0] = 0;
    return list;
}

static void group_sections(struct problem *p, struct indexer *x)
{
    uint32_t *first = xcalloc((size_t)p->nlocks + 2, sizeof(*first)), n = 0;
    uint32_t *list = sections_by_lock(p, first);
    uint32_t *threads = xmalloc(((size_t)p->nsections + 1) * sizeof(*threads));
    size_t cap = 0;

    p->lock_group_first = xcalloc((size_t)p->nlocks + 1, sizeof(uint32_t));
    p->group_section = xmalloc(((size_t)p->nsections + 1) * sizeof(uint32_t));
    for (uint32_t k = 0; k < p->nsections; k++)
        threads[k] = p->sections[list[k]].thread;
    for (uint32_t l = 0; l < p->nlocks; l++) {
        index_group(x, list + first[l], threads + first[l], first[l + 1] - first[l], first[l],
                    p->group_section, &p->lock_groups, &cap, &n);
        p->lock_group_first[l + 1] = n;
    }
    free(first);
    free(list);
    free(threads);
}

void problem_prepare(struct problem *p)
{
    size_t threads = (size_t)p->nthreads + 1;
    struct indexer x = { .p = p };

    x.count = xcalloc(threads, sizeof(*x.count));
    x.start = xcalloc(threads, sizeof(*x.start));
    x.used = xcalloc(threads, sizeof(*x.used));
    group_writers(p, &x);
    group_sections(p, &x);
    free(x.count);
    free(x.start);
    free(x.used);
    must_make(p);
}

void problem_unprepare(struct problem *p)
{
    free(p->cell_group_first);
    free(p->lock_group_first);
    free(p->cell_groups);
    free(p->lock_groups);
    free(p->group_touch);
    free(p->group_section);
    if (p->must_con != p->must)
        free(p->must_con);
    free(p->must);
}
