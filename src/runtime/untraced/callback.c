/* callback.c - traced code that untraced code calls back (callback.h) */
#include "runtime/untraced/callback.h"

#include "runtime/untraced/hidden.h"
#include "runtime/interpose/interpose.h"
#include "runtime/steer/steer.h"

/* ---- calls ---- */

/* Calls that were left have a caller that returned, or is at the same place again. */
static void forget_left(struct rt_thread *t, uintptr_t sp)
{
    while (t->nopen) {
        const struct open_call *o = &t->open[t->nopen - 1];

        if (o->depth < tls.depth || (o->depth == tls.depth && o->sp > sp))
            return;
        t->nopen--;
    }
}

struct open_call *callback_new_call(struct rt_thread *t, uintptr_t sp)
{
    struct open_call *o;

    forget_left(t, sp);
    o = &t->open[t->nopen];
    o->sp = sp;
    return o;
}

void callback_call_begins(struct rt_thread *t, struct open_call *o, uint32_t site)
{
    if (t->nopen == OPEN_CALLS)
        return;
    o->site = site;
    o->away = false;
    o->edge = tls.edge;
    o->depth = tls.edge = tls.depth;
    t->nopen++;
}

static void come_back(struct rt_thread *t, struct open_call *o)
{
    o->away = false;
    call_comes_back(t, &o->passed);
}

void callback_call_ends(struct rt_thread *t, uint32_t site)
{
    uint32_t n = t->nopen;

    while (n && (t->open[n - 1].depth > tls.depth ||
                 (t->open[n - 1].depth == tls.depth && t->open[n - 1].site != site)))
        n--;
    if (!n || t->open[n - 1].depth != tls.depth)
        return;
    if (t->open[n - 1].away)
        come_back(t, &t->open[n - 1]);
    tls.edge = t->open[n - 1].edge;
    t->nopen = n - 1;
}

/* ---- callbacks ---- */

/* The call whose code enters traced code, or is returned to, at the present depth. */
static struct open_call *call_here(struct rt_thread *t)
{
    while (t->nopen && t->open[t->nopen - 1].depth > tls.depth)
        t->nopen--;
    return t->nopen && t->open[t->nopen - 1].depth == tls.depth ? &t->open[t->nopen - 1] : NULL;
}

/* If it is away at an entry, the callback before was left in a way that nobody saw. */
static void cross(struct rt_thread *t, struct open_call *o, bool entered)
{
    rt_busy_begin();
    if (o->away)
        come_back(t, o);
    if (entered)
        call_goes_away(t);
    o->away = entered;
    rt_busy_end();
}

__attribute__((preserve_most)) void __heddle_edge(bool entered)
{
    int saved = errno;
    struct open_call *o;

    if (!rt_recording())
        return;
    steer_leaves();
    o = call_here(tls.self);
    if (!o)
        hidden_outermost(entered);
    else if (entered || o->away)
        cross(tls.self, o, entered);
    errno = saved;
}

/* ---- left in other ways ---- */

void callback_is_left(uintptr_t sp)
{
    struct rt_thread *t = tls.self;
    int saved = errno;

    if (likely(!t || !t->nopen) || !rt_recording())
        return;
    rt_busy_begin();
    for (uint32_t n = t->nopen; n > 0; n--)
        if (t->open[n - 1].away && t->open[n - 1].sp > sp) {
            come_back(t, &t->open[n - 1]);
            break; /* those around rest as long as this one is there */
        }
    rt_busy_end();
    errno = saved;
}
