/* steps.c - chosen events of a trace as readable text */
#include "report/steps.h"
#include "base/alloc.h"
#include "trace/text/event_text.h"

#include <stdlib.h>

void steps_init(struct steps *s, struct findings *home)
{
    *s = (struct steps){ .home = home };
}

void steps_release(struct steps *s)
{
    free(s->list);
    *s = (struct steps){ 0 };
}

static int compare_steps(const void *a, const void *b)
{
    const struct step_text *x = a, *y = b;

    return x->position < y->position ? -1 : x->position > y->position;
}

const struct step_text *steps_get(const struct steps *s, uint64_t position)
{
    struct step_text key = { .position = position };
    const struct step_text *found = NULL;

    if (s->next)
        found = bsearch(&key, s->list, s->next, sizeof(key), compare_steps);
    return found;
}

bool steps_done(const struct steps *s)
{
    return s->next == s->count;
}

void steps_want(struct steps *s, uint64_t position)
{
    GROW(s->list, s->cap, s->count + 1);
    s->list[s->count++] = (struct step_text){ .position = position };
}

void steps_seal(struct steps *s)
{
    size_t kept = 0;

    if (s->count)
        qsort(s->list, s->count, sizeof(*s->list), compare_steps);
    for (size_t i = 0; i < s->count; i++)
        if (kept == 0 || s->list[kept - 1].position != s->list[i].position)
            s->list[kept++] = s->list[i];
    s->count = kept;
    s->next = 0;
}

/* "w(counter)", "acq(q.lock)" where the address has a name; else as the text format says it. */
static void operation_text(struct steps *s, struct buf *to, const struct event *ev,
                           const struct batch *b, const struct tables *t)
{
    bool is_lock = op_is_on_lock(ev->op);
    const char *name = NULL;

    if (s->naming && s->naming->symbols && !is_named(ev->target)) {
        if (op_is_access(ev->op))
            name = naming_global(s->naming, ev->target, ev->size);
        else if (is_lock)
            name = naming_object(s->naming, ev->target);
    }
    if (name)
        buf_addf(to, "%s(%s)", op_table[ev->op].text, name);
    else
        text_operation(to, ev, b->extra, t);
}

static void fill_step(struct steps *s, struct step_text *to, const struct event *ev,
                      const struct batch *b, const struct tables *t)
{
    struct buf text = { 0 };

    operation_text(s, &text, ev, b, t);
    buf_addch(&text, 0);
    to->operation = findings_string(s->home, text.data);
    to->thread = findings_string(s->home, intern_get(&t->threads, ev->thread));
    to->location = findings_string(s->home, tables_location(t, ev->site));
    buf_release(&text);
}

void steps_put(struct steps *s, const struct schedule_step *step)
{
    struct step_text key = { .position = step->event }, *to = NULL;

    if (s->count)
        to = bsearch(&key, s->list, s->count, sizeof(key), compare_steps);
    if (!to)
        return;
    to->thread = step->thread;
    to->operation = step->operation;
    to->location = step->location;
}

void steps_feed(struct steps *s, const struct batch *b, const struct tables *t)
{
    for (; s->next < s->count; s->next++) {
        struct step_text *to = &s->list[s->next];

        if (to->position >= b->first + b->count)
            break;
        fill_step(s, to, &b->events[to->position - b->first], b, t);
    }
}

static int read_steps(struct steps *s, struct trace *t, struct error *err)
{
    struct batch b;
    int r = trace_rewind(t, err);

    while (r >= 0 && !steps_done(s) && (r = trace_next(t, &b, err)) > 0)
        steps_feed(s, &b, trace_tables(t));
    if (r < 0)
        return -1;
    while (!steps_done(s) && s->list[s->next].operation) /* steps_put() */
        s->next++;
    if (!steps_done(s))
        return error_set(err, "there is no event %llu",
                         (unsigned long long)s->list[s->next].position);
    return 0;
}

int steps_collect(struct steps *s, struct trace *t, struct error *err)
{
    struct naming naming;
    int r;

    naming_init(&naming, s->home, trace_tables(t));
    s->naming = &naming;
    r = read_steps(s, t, err);
    s->naming = NULL;
    naming_release(&naming);
    return r;
}
