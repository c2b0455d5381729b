/* sshb_values.c - do recorded values contradict the recorded order?
 *
 * Only edges that nothing else removes are looked at, and only where both
 * accesses are of the same bytes.
 */
#include "engines/streaming/sshb_values.h"
#include "base/alloc.h"
#include "engines/whole.h"

#include <stdlib.h>

/* One end of an observed edge. */
struct place {
    uint32_t position;
    struct event event;
};

struct values {
    struct place *places; /* sorted by position, each once */
    size_t count, next;
};

static int compare_places(const void *a, const void *b)
{
    uint32_t x = ((const struct place *)a)->position, y = ((const struct place *)b)->position;

    return x < y ? -1 : x > y;
}

static void list_places(struct values *v, const struct sshb_facts *f)
{
    size_t kept = 0;

    v->places = xcalloc(2 * f->nobserved + 1, sizeof(*v->places));
    for (size_t i = 0; i < f->nobserved; i++) {
        if (f->observed[i].removable)
            continue;
        v->places[v->count++].position = f->observed[i].from.position;
        v->places[v->count++].position = f->observed[i].to.position;
    }
    qsort(v->places, v->count, sizeof(*v->places), compare_places);
    for (size_t i = 0; i < v->count; i++)
        if (!kept || v->places[kept - 1].position != v->places[i].position)
            v->places[kept++] = v->places[i];
    v->count = kept;
}

static int sshb_values_collect(struct values *v, struct trace *t, struct error *err)
{
    struct batch b;
    int r = 0;

    while (v->next < v->count && (r = trace_next(t, &b, err)) > 0)
        for (; v->next < v->count && v->places[v->next].position < b.first + b.count; v->next++)
            v->places[v->next].event = b.events[v->places[v->next].position - b.first];
    return r < 0 ? -1 : 0;
}

static const struct event *event_at(const struct values *v, uint32_t position)
{
    struct place key = { .position = position };

    return &((const struct place *)bsearch(&key, v->places, v->count, sizeof(key), compare_places))
                ->event;
}

static bool contradict(const struct event *w, const struct event *r)
{
    uint64_t saw;

    return w->target == r->target && w->size == r->size && w->flags & EV_VALUE &&
           op_is_access(w->op) && event_saw(r, &saw) && w->value != saw;
}

int sshb_look_at_values(struct sshb_facts *f, struct whole *whole, struct error *err)
{
    struct values v = { 0 };
    struct trace *t;
    int r = 0;

    list_places(&v, f);
    if (v.count) {
        t = whole_stream(whole, err);
        r = t ? sshb_values_collect(&v, t, err) : -1;
    }
    for (size_t i = 0; r == 0 && i < f->nobserved; i++) {
        struct sshb_observed *o = &f->observed[i];

        if (!o->removable)
            o->removable = contradict(event_at(&v, o->from.position), event_at(&v, o->to.position));
    }
    free(v.places);
    return r;
}
