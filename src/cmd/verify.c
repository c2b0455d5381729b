/* verify.c - heddle verify: the independent witness checker, alone
 *
 * Nothing of the engines takes part. A schedule can only use events up to the
 * last one it names, so only that much of the trace is kept in memory.
 */
#include "cmd/commands.h"
#include "cmd/common.h"
#include "cmd/progress.h"
#include "base/alloc.h"
#include "report/clean.h"
#include "witness/witness.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* How many events the races of a result speak of: one more than the highest position. */
static uint64_t needed_events(const struct findings *f)
{
    uint64_t n = 0;

    for (size_t i = 0; i < f->count; i++) {
        const struct finding *r = &f->races[i];

        for (int k = 0; k < 2; k++)
            n = r->sides[k].event >= n ? r->sides[k].event + 1 : n;
        for (size_t k = 0; k < r->nwitness; k++)
            n = r->witness[k] >= n ? r->witness[k] + 1 : n;
    }
    return n;
}

struct prefix {
    struct trace_mem mem;
    size_t cap, extra_cap;
};

/* Keep a batch, or what is wanted of it. A call's D moves to an array of our own. */
static void keep_batch(struct prefix *p, const struct batch *b, uint64_t wanted)
{
    struct trace_mem *m = &p->mem;
    size_t n = b->first >= wanted ? 0 : wanted - b->first < b->count ? wanted - b->first : b->count;

    GROW(m->events, p->cap, m->count + n);
    for (size_t i = 0; i < n; i++) {
        struct event ev = b->events[i];

        if (ev.op == OP_CALL) {
            GROW(m->extra, p->extra_cap, m->nextra + ev.old);
            if (ev.old)
                memcpy(m->extra + m->nextra, b->extra + ev.value, ev.old * sizeof(*m->extra));
            ev.value = m->nextra;
            m->nextra += ev.old;
        }
        m->events[m->count++] = ev;
    }
}

static int load_prefix(const struct operand *in, struct trace *t, uint64_t wanted, struct prefix *p)
{
    struct progress progress;
    struct error err;
    struct batch b;
    int r;

    progress_start(&progress, true, NULL);
    while ((r = progress_next(&progress, t, &b, &err)) > 0)
        keep_batch(p, &b, wanted);
    return r < 0 ? operand_error(in, &err) : 0;
}

static bool is_text(const char *from_trace, const char *from_result)
{
    struct buf clean = { 0 };
    bool same;

    clean_add(&clean, from_trace, strlen(from_trace));
    buf_addch(&clean, 0);
    same = strcmp(clean.data, from_result) == 0;
    buf_release(&clean);
    return same;
}

/* The event of a side is what the result says it is. */
static int check_side(const struct side *s, const struct prefix *p, const struct tables *t,
                      struct error *err)
{
    const struct event *ev;

    if (s->event >= p->mem.count)
        return error_set(err, "there is no event %" PRIu64, s->event);
    ev = &p->mem.events[s->event];
    if (!is_text(intern_get(&t->threads, ev->thread), s->thread))
        return error_set(err, "event %" PRIu64 " is by %s, not %s", s->event,
                         intern_get(&t->threads, ev->thread), s->thread);
    if (strcmp(op_table[ev->op].name, s->op) != 0)
        return error_set(err, "event %" PRIu64 " is a %s, not a %s", s->event,
                         op_table[ev->op].name, s->op);
    if (!is_text(tables_location(t, ev->site), s->location))
        return error_set(err, "event %" PRIu64 " is at %s, not %s", s->event,
                         tables_location(t, ev->site), s->location);
    return 0;
}

static int check_ends(const struct finding *r, struct error *err)
{
    uint64_t a = r->sides[0].event, b = r->sides[1].event, x, y;

    if (r->nwitness < 2)
        return error_set(err, "the witness has %zu events", r->nwitness);
    x = r->witness[r->nwitness - 2];
    y = r->witness[r->nwitness - 1];
    if ((x == a && y == b) || (x == b && y == a))
        return 0;
    return error_set(err, "the witness ends with %" PRIu64 " and %" PRIu64 ", not with the race", x,
                     y);
}

enum verdict { ACCEPTED, REFUSED, NO_WITNESS, VERDICTS };

static enum verdict judge(const struct finding *r, const struct prefix *p, const struct tables *t,
                          const struct witness_trace *w, struct error *err)
{
    for (int k = 0; k < 2; k++)
        if (check_side(&r->sides[k], p, t, err) < 0)
            return REFUSED;
    if (!r->witness)
        return NO_WITNESS;
    if (check_ends(r, err) < 0)
        return REFUSED;
    return witness_check(w, r->witness, r->nwitness, err) == 1 ? ACCEPTED : REFUSED;
}

/* Preparing a large trace for the checker takes seconds: not for nothing. */
static bool any_witness(const struct findings *f)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->races[i].witness)
            return true;
    return false;
}

static int judge_all(const struct findings *f, struct trace *t, const struct prefix *p)
{
    struct witness_trace *w = any_witness(f) ? witness_trace_new(&p->mem, trace_info(t)) : NULL;
    size_t verdicts[VERDICTS] = { 0 };

    for (size_t i = 0; i < f->count; i++) {
        struct error err;
        enum verdict v = judge(&f->races[i], p, trace_tables(t), w, &err);

        printf("race %zu %s: ", i + 1, f->races[i].id);
        if (v == REFUSED)
            printf("refused: %s\n", err.text);
        else
            puts(v == ACCEPTED ? "accepted" : "no witness");
        verdicts[v]++;
    }
    if (w)
        witness_trace_free(w);
    printf("%zu race%s: %zu accepted, %zu refused, %zu without a witness\n", f->count,
           f->count == 1 ? "" : "s", verdicts[ACCEPTED], verdicts[REFUSED], verdicts[NO_WITNESS]);
    return verdicts[REFUSED] ? EXIT_BAD_INPUT : EXIT_NOTHING;
}

static bool is_complete(const struct findings *f)
{
    for (size_t i = 0; i < f->nengines; i++)
        if (!f->engines[i].complete)
            return false;
    return true;
}

/* An analysis that was interrupted has seen fewer events than there are. */
static bool belongs(const struct findings *f, uint64_t events)
{
    return f->trace.events == events || (f->trace.events < events && !is_complete(f));
}

static int verify(const struct operand *in, const struct operand *result, const struct findings *f)
{
    struct trace *t = operand_trace(in);
    struct prefix p = { .cap = 0 };
    int code;

    if (!t)
        return EXIT_BAD_INPUT;
    code = load_prefix(in, t, needed_events(f), &p);
    if (code == 0 && !belongs(f, trace_info(t)->events))
        code = bad_input("'%s' does not belong to '%s': it is about %" PRIu64
                         " events, the trace has %" PRIu64,
                         result->shown, in->shown, f->trace.events, trace_info(t)->events);
    else if (code == 0)
        code = judge_all(f, t, &p);
    free(p.mem.events);
    free(p.mem.extra);
    trace_close(t);
    return code;
}

int cmd_verify(const struct options *o)
{
    struct operand in, result;
    struct findings f = { 0 };
    int code = operand_open(&in, o->arguments[0]);

    if (code)
        return code;
    code = operand_open(&result, o->arguments[1]);
    if (code == 0) {
        code = operand_read_result(&result, &f);
        if (code == 0)
            code = verify(&in, &result, &f);
        findings_release(&f);
        operand_close(&result);
    }
    operand_close(&in);
    return code;
}
