/* stacks.c - call stacks of a report */
#include "report/stacks.h"

#include <string.h>

struct maker {
    struct naming *naming;
    const struct tables *tables;
    struct frame frames[STACK_KEEP];
    size_t count;
    uint64_t omitted;
};

static void stacks_push(struct maker *m, struct frame frame)
{
    if (m->count < STACK_KEEP)
        m->frames[m->count++] = frame;
    else
        m->omitted++;
}

/* The function and location of a site. Of code without debug information the recorder knows the
 * function alone, or only an offset in an image ("libz.so.1+0x1f0"), and says that for both. */
static void site_parts(struct maker *m, uint32_t site, const char **in, const char **at)
{
    const char *function = tables_site_function(m->tables, site);
    const char *location = site == SITE_NONE ? NULL : tables_location(m->tables, site);

    if (m->tables->process.known && function && strcmp(function, location) == 0) {
        if (strstr(location, "+0x"))
            function = NULL;
        else
            location = NULL;
    }
    *in = naming_function(m->naming, function);
    *at = location ? naming_location(m->naming, location) : NULL;
}

static const char *function_name(struct maker *m, uint32_t function)
{
    return naming_function(m->naming, intern_get(&m->tables->functions, function));
}

/* The frames of a site that lies in `function` (NULL: not known): those that were inlined, then
 * the function itself. Code of a function that is not known to be the site's own, nor inlined
 * from it, gets a frame without a place. */
static void push_site(struct maker *m, uint32_t site, const char *function)
{
    const char *in, *at;
    uint32_t parent;

    for (;; site = parent) {
        parent = tables_site_parent(m->tables, site);
        site_parts(m, site, &in, &at);
        if (parent == SITE_NONE)
            break;
        stacks_push(m, (struct frame){ in, at, true });
    }
    if (!in || in == function || !function) {
        in = in ? in : function;
        if (in || at)
            stacks_push(m, (struct frame){ in, at, false });
        return;
    }
    stacks_push(m, (struct frame){ in, at, false });
    stacks_push(m, (struct frame){ function, NULL, false });
}

/* Where a call was made: the site of its enter event, unless that lies in the callee (some
 * recorders name the first line of the function entered). */
static uint32_t call_site(struct maker *m, const struct history_call *call)
{
    const char *in = tables_site_function(m->tables, call->site);

    if (!m->tables->process.known && in &&
        strcmp(in, intern_get(&m->tables->functions, call->function)) == 0)
        return SITE_NONE;
    return call->site;
}

/* The runtime notes that a handler begins, and where; then the handler itself does, called from
 * the runtime, which is no place. */
static bool is_noted_before(const struct history_call *call)
{
    return call->site == SITE_NONE && call[-1].function == call->function;
}

struct stack stack_make(struct naming *n, uint32_t site, const struct history_call *calls,
                        size_t ncalls, uint64_t missing)
{
    struct maker m = { .naming = n, .tables = n->tables, .omitted = missing };
    struct stack s;
    size_t i = ncalls;

    push_site(&m, site, i ? function_name(&m, calls[i - 1].function) : NULL);
    for (; i > 1; i--)
        if (!is_noted_before(&calls[i - 1]))
            push_site(&m, call_site(&m, &calls[i - 1]), function_name(&m, calls[i - 2].function));
    s = (struct stack){ .count = m.count, .omitted = m.omitted };
    s.frames = memcpy(arena_alloc(&n->home->memory, m.count * sizeof(*m.frames) + 1), m.frames,
                      m.count * sizeof(*m.frames));
    return s;
}

const char *stack_own_location(const struct stack *s)
{
    const char *first = NULL;

    for (size_t i = 0; i < s->count; i++) {
        const char *at = s->frames[i].location;

        if (at && !location_is_system(at))
            return at;
        first = first ? first : at;
    }
    return first;
}
