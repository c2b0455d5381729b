/* prop_actual.c - `observed` against the literal definition of happens-before
 *
 * What engines call observed, and what the checker's own order (witness/order.h)
 * says of any two accesses, is compared with the closed matrix of naive.c; where
 * calls of untraced code are in the trace, with that of naive_calls.c, too.
 */
#include "naive_calls.h"
#include "properties.h"
#include "witness/order.h"

/* ---- the checker's order ---- */

static enum verdict compare_answer(const struct subject *s, const struct relation *order,
                                   const struct order_question *q, struct buf *why)
{
    size_t a = q->first, b = q->second;
    enum order_answer want = !naive_conflict(&s->mem, a, b) ? ANSWER_NO_CONFLICT
                             : relation_has(order, a, b)    ? ANSWER_ORDERED
                                                            : ANSWER_UNORDERED;

    if (q->answer == want)
        return HOLDS;
    buf_addf(why, "(%zu, %zu): the checker says %d, the definition %d", a, b, (int)q->answer,
             (int)want);
    return VIOLATED;
}

/* All pairs, as many at a time as can be asked. */
static enum verdict compare_all(const struct subject *s, const struct relation *order,
                                const struct witness_trace *calls, struct buf *why)
{
    struct order_question q[ORDER_QUESTIONS];
    size_t n = 0, count = s->mem.count;
    enum verdict v = HOLDS;

    for (size_t a = 0; a < count; a++)
        for (size_t b = a + 1; b < count; b++) {
            q[n++] = (struct order_question){ .first = a, .second = b };
            if (n < ORDER_QUESTIONS && (a + 2 < count || b + 1 < count))
                continue;
            if (calls) {
                witness_order_with_calls(calls, q, n);
            } else {
                struct witness_order *o = witness_order_new(q, n);

                witness_order_events(o, s->mem.events, count / 2);
                witness_order_events(o, s->mem.events + count / 2, count - count / 2);
                witness_order_free(o);
            }
            for (; n > 0 && v == HOLDS; n--)
                v = compare_answer(s, order, &q[n - 1], why);
            n = 0;
        }
    return v;
}

static enum verdict the_checker_orders_by_the_definition(struct subject *s, struct buf *why)
{
    return compare_all(s, &s->hb, NULL, why);
}

/* Happens-before with what calls may bring. */
static void order_with_calls(const struct subject *s, bool lifetimes, struct relation *r)
{
    relation_init(r, s->mem.count);
    naive_program_order(&s->mem, r);
    naive_hard_edges(&s->mem, r);
    naive_posts(&s->mem, r);
    naive_lock_edges(&s->mem, r);
    if (lifetimes)
        naive_lifetimes(&s->mem, r);
    naive_calls(&s->mem, CALL_RULE_PAIRS, trace_tables(s->trace), r);
    relation_close(r);
}

static enum verdict the_checker_orders_by_calls(struct subject *s, struct buf *why)
{
    struct witness_trace *w;
    struct relation order;
    enum verdict v;

    if (!s->info->calls)
        return DOES_NOT_APPLY;
    w = witness_trace_new(&s->mem, s->info);
    witness_trace_set_calls(w, CALLS_PAIRS, trace_tables(s->trace));
    order_with_calls(s, false, &order);
    v = compare_all(s, &order, w, why);
    relation_release(&order);
    witness_trace_free(w);
    return v;
}

/* ---- what engines say ---- */

static bool is_observing(const struct engine *e)
{
    return e == &engine_fasttrack || e == &engine_hb || e == &engine_shb || e == &engine_sshb;
}

/* Without calls: those engines' races, all of them, and nobody else's. */
static enum verdict observed_is_what_nothing_orders(struct subject *s, struct buf *why)
{
    for (size_t i = 0; i < s->analysis.count; i++) {
        const struct engine_run *run = &s->analysis.runs[i];
        const struct race_table *t = &run->result.races;

        for (size_t k = 0; k < t->count; k++) {
            const struct race *r = &t->races[k];
            size_t a = r->first.position, b = r->second.position;
            bool is = r->strength == STRENGTH_OBSERVED;

            if ((is && !pair_set_has(&s->hb_unordered, a, b)) ||
                (is && (!is_observing(run->engine) || s->info->calls)) ||
                (!is && is_observing(run->engine) && !s->info->calls &&
                 r->strength > STRENGTH_OBSERVED)) {
                buf_addf(why, "%s says of (%zu, %zu) that it is %s", run->engine->name, a, b,
                         strength_names[r->strength]);
                return VIOLATED;
            }
        }
    }
    return HOLDS;
}

static enum verdict compare_with_calls(const struct subject *s, const struct analysis *a,
                                       struct buf *why)
{
    struct relation order, loose;
    enum verdict v = HOLDS;

    order_with_calls(s, true, &order);
    order_with_calls(s, false, &loose);
    for (size_t i = 0; i < a->count && v == HOLDS; i++)
        for (size_t k = 0; k < a->runs[i].result.races.count && v == HOLDS; k++) {
            const struct race *r = &a->runs[i].result.races.races[k];
            size_t x = r->first.position, y = r->second.position;
            bool observed = r->strength == STRENGTH_OBSERVED;

            if ((observed && relation_has(&loose, x, y)) ||
                (!observed && r->strength > STRENGTH_WITNESSED && !relation_has(&order, x, y) &&
                 is_observing(a->runs[i].engine))) {
                buf_addf(why, "%s says of (%zu, %zu) that it is %s; calls order it: %d",
                         a->runs[i].engine->name, x, y, strength_names[r->strength],
                         relation_has(&loose, x, y));
                v = VIOLATED;
            }
        }
    relation_release(&order);
    relation_release(&loose);
    return v;
}

/* The cascade, which has a judge. */
static enum verdict observed_is_what_calls_cannot_order(struct subject *s, struct buf *why)
{
    static const struct engine_options options = { .cascade = true, .jobs = 1 };
    struct analysis a;
    struct error err;
    enum verdict v;

    if (!s->info->calls)
        return DOES_NOT_APPLY;
    if (run_cascade(s, &options, &a, &err)) {
        buf_addstr(why, err.text);
        return VIOLATED;
    }
    v = compare_with_calls(s, &a, why);
    analysis_release(&a);
    return v;
}

const struct property properties_actual[] = {
    { "the-checker-orders-by-the-definition", the_checker_orders_by_the_definition, 2 },
    { "the-checker-orders-by-calls", the_checker_orders_by_calls, 1 },
    { "observed-is-what-nothing-orders", observed_is_what_nothing_orders, 1 },
    { "observed-is-what-calls-cannot-order", observed_is_what_calls_cannot_order, 1 },
    { NULL, NULL, 0 },
};
