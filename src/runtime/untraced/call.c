/* call.c - calls of untraced code: call pairs (docs/design/calls.md)
 *
 * A call is recorded if it passes a pointer into an object, a thread's handle, or was annotated;
 * in full builds always, since its result counts. Both records carry the time, so that all calls
 * and returns are in the order in which they happened, and start a new epoch of the filter: the
 * code may synchronise. After a return that is only needed if the thread recorded something since
 * the call (a callback).
 *
 * Annotations: HEDDLE_GLOBAL(p) adds p to the thread's next call; `globals=FILE` adds variables to
 * calls by the function's name, lines "FUNCTION-GLOB: VARIABLE".
 */
#include "abi/rt_globals.h"
#include "runtime/untraced/reach_log.h"

#include "runtime/untraced/callback.h"
#include "runtime/interpose/fd.h"
#include "runtime/untraced/hidden.h"
#include "runtime/steer/steer.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { KEYS = 32 }; /* of thread-specific data: later ones are rare */

/* ---- records ---- */

/* Later than any other thread's synchronisation or call that came before, and known to be there:
 * what another thread does after it has a later one, also within the same tick of the clock. */
static uint64_t next_stamp(struct rt_thread *t)
{
    uint64_t newest = __atomic_load_n(&__heddle_newest.stamp, __ATOMIC_ACQUIRE),
             now = clock_stamp();

    do
        now = now > newest ? now : newest + 1;
    while (!__atomic_compare_exchange_n(&__heddle_newest.stamp, &newest, now, true,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
    tls.seen_stamp = now;
    t->stamp = now;
    t->since_stamp = 0;
    return now;
}

void call_stamp(struct rt_thread *t)
{
    uint64_t *w;

    frames_flush(t);
    w = room(t, true);
    if (!w)
        return;
    w[0] = RING_WORD(R_STAMP, 0, next_stamp(t));
    commit(1);
}

/* The object that has the pieces of untraced data that the call may touch; NULL: none. */
static const uint64_t *set_of(const struct callee *c)
{
    bool *told;

    return c->count && !(c->does & EFFECTS_ALL) ? effects_slots(c, &told) : NULL;
}

void call_record(struct rt_thread *t, const struct call *c, unsigned flags)
{
    const uint64_t *set = set_of(&c->callee);
    unsigned n = c->nroots + !!set;
    uint64_t *w;

    frames_flush(t);
    w = room(t, true);
    if (!w)
        return;
    w[0] = RING_WORD(R_STAMP, 0, next_stamp(t));
    w[1] = RING_WORD(R_CALL, flags | c->flags | CALL_KNOWN, n);
    w[2] = c->where;
    for (unsigned i = 0; i < c->nroots; i++)
        w[3 + i] = c->roots[i].pointer;
    if (set)
        w[2 + n] = (uintptr_t)set;
    commit(3 + n);
    if (flags & CALL_ALL)
        __atomic_fetch_add(&rt.ring->calls_all, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&rt.ring->calls, 1, __ATOMIC_RELAXED);
    epoch_next(t);
    t->call_serial = tls.chunk->serial;
    t->call_cursor = tls.chunk->cursor;
}

static void record_return(struct rt_thread *t, unsigned flags, uint32_t site, uint64_t value)
{
    uint64_t *w;

    if (t->call_cursor != tls.chunk->cursor || t->call_serial != tls.chunk->serial)
        epoch_next(t);
    frames_flush(t);
    w = room(t, true);
    if (w) {
        w[0] = RING_WORD(R_STAMP, 0, next_stamp(t));
        w[1] = RING_WORD(R_RETURN, flags, 0);
        w[2] = site;
        w[3] = value;
        commit(4);
    }
}

EXPORT void __heddle_return(uint32_t site, uint64_t value);
EXPORT void __heddle_return(uint32_t site, uint64_t value)
{
    int saved = errno;

    if (!rt_recording())
        return;
    rt_busy_begin();
    hidden_call_ends();
    callback_call_ends(tls.self, site);
    record_return(tls.self, 0, site, value);
    if (tls.self->nsuspects)
        reach_returned(tls.self);
    rt_busy_end();
    errno = saved;
}

/* ---- things that are no memory of the program ---- */

static uint64_t kernel_thing; /* what system calls do that the runtime does not see */

static uint64_t disguised_thing; /* memory by pointers that only the code knows how to compute */

static void add_thing(struct call *c, const uint64_t *thing)
{
    struct object o = {
        .kind = OBJECT_LOOSE, .low = (uintptr_t)thing, .high = (uintptr_t)(thing + 1), .plain = true
    };

    if (c->nroots < ROOTS_MAX)
        c->roots[c->nroots++] = (struct root){ o.low, o, true };
}

void call_hidden(void)
{
    struct call c = { .where = CALL_HIDDEN };

    add_thing(&c, &hidden_thing);
    reach_call(tls.self, &c);
}

void return_hidden(void)
{
    record_return(tls.self, 0, CALL_HIDDEN, 0);
}

/* Full builds: what a function returned that the runtime stands for. */
EXPORT void __heddle_result(uint32_t site, uint64_t value);
EXPORT void __heddle_result(uint32_t site, uint64_t value)
{
    int saved = errno;
    uint64_t *w;

    if (!rt_recording())
        return;
    rt_busy_begin();
    w = room(tls.self, true);
    if (w) {
        w[0] = RING_WORD(R_RETURN, 0, 0);
        w[1] = site;
        w[2] = value;
        commit(3);
    }
    rt_busy_end();
    errno = saved;
}

/* ---- roots ---- */

static void add_root(struct call *c, uintptr_t a, const struct object *o, bool own)
{
    if (c->nroots < ROOTS_MAX)
        c->roots[c->nroots++] = (struct root){ a, *o, own };
}

/* Memory of which nothing is known: the bytes around, in two blocks. */
static void add_loose(struct call *c, uintptr_t a, const struct object *first)
{
    struct object o = *first;
    uintptr_t end = a + LOOSE_BYTES - 1;

    if (first->kind == OBJECT_LOOSE) {
        add_root(c, a, &o, false);
        if (object_at(end, &o) && o.kind == OBJECT_LOOSE && o.low != first->low)
            add_root(c, end, &o, false);
        return;
    }
    o = (struct object){ .kind = OBJECT_LOOSE, .low = a & ~(uintptr_t)(LOOSE_BYTES - 1) };
    o.high = o.low + LOOSE_BYTES;
    add_root(c, a, &o, false);
}

static void add_word(struct call *c, uintptr_t a, uint64_t extent)
{
    uint64_t bytes = extent & ~(EXTENT_PLAIN | EXTENT_NUMBER | EXTENT_LOCAL);
    struct object o = { .kind = OBJECT_NONE };

    if (a < 1 << 16 || a >> 47 || statics_is_code(a))
        return;
    if (!(extent & EXTENT_LOCAL))
        object_at(a, &o);
    if (o.kind == OBJECT_HEAP || o.kind == OBJECT_VARIABLE) {
        add_root(c, a, &o, false);
    } else if (bytes) { /* a variable that the compiler sees, and so can be read */
        o = (struct object){ OBJECT_LOOSE, a, a + bytes, NULL, extent & EXTENT_PLAIN, false, 0 };
        add_root(c, a, &o, true);
    } else if (reach_is_thread(a)) {
        o.kind = OBJECT_NONE;
        add_root(c, a, &o, false);
    } else if (o.kind == OBJECT_LOOSE || !(extent & EXTENT_NUMBER)) {
        add_loose(c, a, &o);
    }
}

/* ---- annotations ---- */

static struct rule {
    const char *glob, *name;
    uintptr_t address; /* 0: not known yet */
    bool told;         /* that it is not there */
} rules[GLOBALS_RULES];
static unsigned nrules;

static bool matches(const char *glob, const char *s)
{
    for (; *glob; glob++, s++) {
        if (*glob == '*') {
            for (; *s; s++)
                if (matches(glob + 1, s))
                    return true;
            return matches(glob + 1, s);
        }
        if (!*s || (*glob != '?' && *glob != *s))
            return false;
    }
    return !*s;
}

static char *trim(char *s)
{
    char *end;

    while (*s == ' ' || *s == '\t')
        s++;
    end = s + strlen(s);
    while (end > s && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
        *--end = 0;
    return s;
}

static void add_rule(char *line)
{
    char *colon = strrchr(line, ':'), *name;

    if (*trim(line) == '#' || !*trim(line))
        return;
    if (!colon || nrules == GLOBALS_RULES) {
        rt_say("globals: cannot use the line '%s'", line);
        return;
    }
    *colon = 0;
    name = trim(colon + 1);
    name += *name == '?'; /* it may come later */
    rules[nrules++] = (struct rule){ .glob = trim(line), .name = name };
}

/* Once, when the options are read. */
void calls_read_globals(const char *path)
{
    static char text[GLOBALS_BYTES];
    long fd = syscall(SYS_open, path, O_RDONLY | O_CLOEXEC), n;
    size_t used = 0;
    char *line, *end;

    if (fd < 0) {
        rt_say("globals: cannot read '%s'", path);
        return;
    }
    while ((n = syscall(SYS_read, fd, text + used, sizeof(text) - 1 - used)) > 0)
        used += (size_t)n;
    syscall(SYS_close, fd);
    for (line = text; *line; line = end) {
        end = strchrnul(line, '\n');
        if (*end)
            *end++ = 0;
        add_rule(line);
    }
}

static void add_rules(struct call *c, const char *name)
{
    for (unsigned i = 0; i < nrules; i++) {
        struct rule *r = &rules[i];

        if (!matches(r->glob, name ? name : ""))
            continue;
        if (!r->address)
            r->address = statics_named(r->name);
#ifndef HEDDLE_STATIC
        if (!r->address)
            r->address = (uintptr_t)dlsym(RTLD_DEFAULT, r->name);
#endif
        if (r->address)
            add_word(c, r->address, 0);
        else if (!r->told)
            rt_say("globals: there is no variable '%s'", r->name);
        r->told = true;
    }
}

EXPORT void __heddle_annotate_global(const volatile void *p);
EXPORT void __heddle_annotate_global(const volatile void *p)
{
    struct rt_thread *t;

    if (!rt_recording())
        return;
    t = tls.self;
    if (t->nannotated < ANNOTATED_MAX)
        t->annotated[t->nannotated++] = (uintptr_t)p;
}

/* ---- what a call passes ---- */

static void note_word(struct passed *p, uint64_t word, uint64_t extent)
{
    p->words[2 * p->pairs] = word;
    p->words[2 * p->pairs++ + 1] = extent;
}

static void note_passed(struct passed *p, struct rt_thread *t, uint32_t pairs,
                        const uint64_t *words)
{
    p->pairs = 0;
    for (uint32_t i = 0; i < pairs; i++)
        note_word(p, words[2 * i], words[2 * i + 1]);
    for (unsigned i = 0; i < t->nannotated; i++)
        note_word(p, t->annotated[i], 0);
    t->nannotated = 0;
}

/* System calls that nobody sees: among themselves one thing, and whatever the program does by
 * descriptors, whose keys are the lowest numbers (fd.h). */
static void add_kernel(struct call *c)
{
    struct object none = { .kind = OBJECT_NONE };

    add_thing(c, &kernel_thing);
    if (c->nroots < ROOTS_MAX)
        c->roots[c->nroots++] = (struct root){ KEY_SOCKETS, none, false };
}

/* Memory of the calling thread alone, which may lead to other memory. */
static void add_own(struct call *c, uint32_t does)
{
    struct object o = { .kind = OBJECT_LOOSE };

    if (does & EFFECTS_LOCAL && images_local(&o.low, &o.high) && c->nroots < ROOTS_MAX)
        c->roots[c->nroots++] = (struct root){ o.low, o, true };
    for (pthread_key_t k = 0; does & EFFECTS_KEYS && k < KEYS; k++)
        if (pthread_getspecific(k))
            add_word(c, (uintptr_t)pthread_getspecific(k), EXTENT_NUMBER);
}

static void add_passed(struct call *c, const struct passed *p)
{
    c->callee = p->callee;
    if (hidden_threads && (p->pairs || !callee_does_nothing(&c->callee)))
        add_thing(c, &hidden_thing);
    if (p->callee.does & EFFECTS_KERNEL)
        add_kernel(c);
    if (p->callee.does & EFFECTS_DISGUISES)
        add_thing(c, &disguised_thing);
    for (uint32_t i = 0; i < p->pairs; i++)
        add_word(c, p->words[2 * i], p->words[2 * i + 1]);
    add_rules(c, p->name);
    add_own(c, p->callee.does);
}

/* Does it order anything? */
static bool may_order(const struct call *c)
{
    return c->nroots || c->callee.count || c->callee.does & EFFECTS_ALL;
}

/* ---- callbacks ---- */

void call_goes_away(struct rt_thread *t)
{
    record_return(t, RETURN_AWAY, CALL_HIDDEN, 0);
    if (t->nsuspects)
        reach_returned(t);
}

void call_comes_back(struct rt_thread *t, const struct passed *p)
{
    struct call c = { .where = CALL_HIDDEN, .flags = CALL_BACK };

    add_passed(&c, p);
    reach_call(t, &c);
}

/* ---- entry points ---- */

/* Where the address is known, it says more than a name that only traced functions have: the
 * function is not one of those. */
static struct callee find_callee(const char *name, uintptr_t target)
{
    struct callee c = name ? effects_named(name) : effects_at(target);

    return c.does & EFFECTS_TRACED && target ? effects_at(target) : c;
}

/* `target`: where the function is, if that is known. */
static uint32_t begin(uint32_t site, const char *name, uintptr_t target, uint32_t pairs,
                      const uint64_t *words, void *frame)
{
    int saved = errno;
    struct call c = { .where = site };
    struct callee callee;
    struct open_call *o;
    bool recorded;

    if (rt_options.calls == CALLS_NONE) /* the result counts in full builds */
        return rt.full && rt_recording();
    if (!rt_recording())
        return 0;
    callee = find_callee(name, target);
    if (callee.does & EFFECTS_TRACED)
        return 0;
    hidden_call_begins(name);
    if (!pairs && !nrules && !tls.self->nannotated && !rt.full && callee_does_nothing(&callee))
        return 0;
    steer_leaves();
    if (callee.does & EFFECTS_CLONES && !hidden_threads)
        hidden_begins();
    if (callee.does & EFFECTS_KERNEL) /* the object is there, for readers */
        rt_sync_number(OP_BEFORE, KEY_KERNEL, site);
    rt_busy_begin();
    o = callback_new_call(tls.self, (uintptr_t)frame);
    o->passed.name = name;
    o->passed.callee = callee;
    note_passed(&o->passed, tls.self, pairs, words);
    add_passed(&c, &o->passed);
    recorded = may_order(&c) || rt.full;
    if (recorded) {
        reach_call(tls.self, &c);
        hidden_calls++;
    }
    if (may_order(&c))
        callback_call_begins(tls.self, o, site);
    rt_busy_end();
    errno = saved;
    return recorded;
}

EXPORT uint32_t __heddle_call(uint32_t site, const char *name, uint32_t pairs,
                              const uint64_t *words);
EXPORT uint32_t __heddle_call(uint32_t site, const char *name, uint32_t pairs,
                              const uint64_t *words)
{
    return begin(site, name, 0, pairs, words, __builtin_frame_address(0));
}

/* As __heddle_call(), where the linker knows no mark of f: its module may hide it. A function that
 * is in no module's list is looked up in all of them, so the last answer is kept for each address.
 */
EXPORT uint32_t __heddle_call_function(uint32_t site, const char *name, uint32_t pairs,
                                       const uint64_t *words, void *f);
EXPORT uint32_t __heddle_call_function(uint32_t site, const char *name, uint32_t pairs,
                                       const uint64_t *words, void *f)
{
    uintptr_t a = (uintptr_t)f, at = a >> TARGET_SHIFT & (TARGETS - 1);
    uint64_t *others = statics_others.called;

    if (__atomic_load_n(&others[at], __ATOMIC_RELAXED) != a) {
        if (statics_is_listed(a))
            return 0;
        if (!statics_is_plt(a))
            __atomic_store_n(&others[at], a, __ATOMIC_RELAXED);
    }
    return begin(site, name, a, pairs, words, __builtin_frame_address(0));
}

extern EXPORT uint64_t __heddle_targets[TARGETS];

EXPORT uint32_t __heddle_call_pointer(uint32_t site, void *target, uint32_t pairs,
                                      const uint64_t *words);
EXPORT uint32_t __heddle_call_pointer(uint32_t site, void *target, uint32_t pairs,
                                      const uint64_t *words)
{
    uintptr_t f = (uintptr_t)target, at = f >> TARGET_SHIFT & (TARGETS - 1);
    uint64_t *untraced = statics_others.pointed;

    if (__atomic_load_n(&untraced[at], __ATOMIC_RELAXED) != f) {
        if (!target || statics_is_known(f)) {
            __atomic_store_n(&__heddle_targets[at], f, __ATOMIC_RELAXED);
            return 0;
        }
        if (!statics_is_plt(f))
            __atomic_store_n(&untraced[at], f, __ATOMIC_RELAXED);
    }
    return begin(site, NULL, f, pairs, words, __builtin_frame_address(0));
}
