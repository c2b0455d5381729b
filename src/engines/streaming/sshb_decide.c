/* sshb_decide.c - phase 2 of sshb: guaranteed, maybe, hidden
 *
 * Each occurrence is asked both ways. Then a race (pair of sites) is
 *   guaranteed  if no path joins the accesses of one of its occurrences and,
 *               where the trace's lock events may be out of order, the two
 *               hold no lock in common there (the paper's section 6.3);
 *   hidden      if not, all its occurrences are ordered by the writes that
 *               reads saw in the recorded order (so shb does not report it),
 *               but one of them would not be if reads with several candidates
 *               had seen another, or if those whose value contradicts the
 *               order had: Figure 3. It stays `maybe` and is counted.
 */
#include "base/alloc.h"
#include "engines/streaming/sshb.h"
#include "engines/streaming/sshb_causes.h"
#include "engines/streaming/sshb_graph.h"
#include "engines/streaming/sshb_locks.h"
#include "engines/streaming/sshb_values.h"
#include "engines/effort.h"
#include "engines/whole.h"

#include <stdlib.h>
#include <time.h>

static uint64_t now_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* ---- questions to graphs ---- */

/* Questions between two looks at the clock, and steps of the graph. */
enum { QUESTIONS_AT_ONCE = 4096, WORK_AT_ONCE = 4000000 };

/* A question is about one end of an occurrence, 2 * its number + side: does a path lead there from
 * the other end? Those of a group of slots are in a row. */
struct questions {
    uint32_t *list; /* NULL: all of them, in their order */
    size_t *first;  /* groups + 1 */
    size_t groups;
    uint64_t work; /* of the graph, at the last look at the clock */
};

static bool is_a_question(const struct sshb_pair *p, unsigned side, enum sshb_graph_kind kind)
{
    return kind == GRAPH_CANDIDATES || (side == 1 && p->verdict & SSHB_ORDERED);
}

static void visit_questions(struct questions *q, const struct sshb_facts *f,
                            enum sshb_graph_kind kind)
{
    for (size_t i = 0; i < f->npairs; i++)
        for (unsigned side = 0; side < 2; side++) {
            size_t group = f->pairs[i].slot[side] / GRAPH_LANES;

            if (!is_a_question(&f->pairs[i], side, kind))
                continue;
            if (q->list)
                q->list[q->first[group + 1]++] = (uint32_t)(2 * i + side);
            else
                q->first[group + 2]++;
        }
}

static void sort_questions(struct questions *q, const struct sshb_facts *f,
                           enum sshb_graph_kind kind)
{
    *q = (struct questions){ .groups = (f->hb->nslots + GRAPH_LANES - 1) / GRAPH_LANES };
    q->first = xcalloc(q->groups + 2, sizeof(*q->first));
    if (q->groups == 1 && kind == GRAPH_CANDIDATES) {
        q->first[1] = 2 * f->npairs;
        return;
    }
    visit_questions(q, f, kind);
    for (size_t i = 0; i < q->groups; i++)
        q->first[i + 2] += q->first[i + 1];
    q->list = xmalloc((q->first[q->groups + 1] + 1) * sizeof(*q->list));
    visit_questions(q, f, kind);
}

static size_t question(const struct questions *q, size_t i)
{
    return q->list ? q->list[i] : i;
}

static struct sshb_point end_of(const struct sshb_pair *p, int side)
{
    return (struct sshb_point){ p->slot[side], p->position[side] };
}

/* Recorded orders only go forward. That the later access reads from the earlier
 * one is no order between them: shb compares before it learns. */
static void ask_one(struct sshb_graph *g, struct sshb_pair *p, int side, enum sshb_graph_kind kind)
{
    if (kind == GRAPH_CANDIDATES) {
        if (!(p->verdict & SSHB_ORDERED) && sshb_graph_joins(g, end_of(p, !side), end_of(p, side)))
            p->verdict |= SSHB_ORDERED;
    } else if (sshb_graph_reach(g, end_of(p, 0), p->slot[1]) < p->position[1]) {
        p->verdict |= kind == GRAPH_OBSERVED ? SSHB_UNSEEN : SSHB_CERTAIN;
    }
}

static bool sshb_decide_is_over(struct questions *q, size_t i, const struct sshb_graph *g,
                                struct whole *whole)
{
    if (i % QUESTIONS_AT_ONCE && sshb_graph_work(g) - q->work < WORK_AT_ONCE)
        return false;
    whole_spend(whole, sshb_graph_work(g) - q->work + 10 * QUESTIONS_AT_ONCE);
    q->work = sshb_graph_work(g);
    return whole_stop(whole, (double)i / (double)(q->first[q->groups] + 1));
}

/* Those that are answered, from the first on. */
static size_t ask_all(struct sshb_facts *f, struct questions *q, struct sshb_graph *g,
                      enum sshb_graph_kind kind, struct whole *whole)
{
    for (size_t group = 0; group < q->groups; group++) {
        if (q->first[group] < q->first[group + 1]) {
            if (sshb_decide_is_over(q, q->first[group], g, whole))
                return q->first[group];
            sshb_graph_sweep(g, (uint32_t)(group * GRAPH_LANES));
        }
        for (size_t i = q->first[group]; i < q->first[group + 1]; i++) {
            if (sshb_decide_is_over(q, i, g, whole))
                return i;
            ask_one(g, &f->pairs[question(q, i) / 2], (int)(question(q, i) % 2), kind);
        }
    }
    return q->first[q->groups];
}

/* False: the budget is over. */
static bool ask_graph(struct sshb_facts *f, enum sshb_graph_kind kind, struct whole *whole)
{
    struct questions q;
    struct sshb_graph *g = sshb_graph_new(f, kind);
    size_t n, all;

    sort_questions(&q, f, kind);
    all = q.first[q.groups];
    n = ask_all(f, &q, g, kind, whole);
    for (size_t i = n; i < all && kind != GRAPH_OBSERVED; i++)
        f->pairs[question(&q, i) / 2].verdict |=
            kind == GRAPH_CANDIDATES ? SSHB_OPEN : SSHB_CERTAIN;
    sshb_graph_free(g);
    free(q.first);
    free(q.list);
    return n == all;
}

static bool any_is(const struct sshb_facts *f, enum sshb_verdict verdict)
{
    for (size_t i = 0; i < f->npairs; i++)
        if (f->pairs[i].verdict & verdict)
            return true;
    return false;
}

/* False: the budget is over. */
static bool sshb_decide_ask(struct sshb_facts *f, struct whole *whole)
{
    if (!f->npairs || f->full)
        return true;
    if (!ask_graph(f, GRAPH_CANDIDATES, whole))
        return false;
    return !any_is(f, SSHB_ORDERED) || !f->nobserved || ask_graph(f, GRAPH_OBSERVED, whole);
}

/* ---- verdicts on races ---- */

/* What is known of a race besides the table. */
struct note {
    uint8_t kind; /* of the occurrence that stands for it, + 1; 0: none */
    bool filtered, visible, hidden;
};

static void judge(struct race *r, struct note *n, const struct sshb_pair *p)
{
    uint8_t hidden = p->verdict & (SSHB_UNSEEN | SSHB_CERTAIN);

    if (!n->kind)
        n->kind = (uint8_t)(p->kind + 1);
    n->visible |= !(p->verdict & SSHB_UNSEEN);
    n->hidden |= hidden == SSHB_UNSEEN;
    if (p->verdict & (SSHB_ORDERED | SSHB_OPEN))
        return;
    if (p->verdict & SSHB_COVERED) {
        n->filtered = true;
    } else if (r->strength > STRENGTH_GUARANTEED) {
        r->strength = STRENGTH_GUARANTEED;
        r->independent = true;
        r->first = (struct access){ p->position[0], p->site[0] };
        r->second = (struct access){ p->position[1], p->site[1] };
        n->kind = (uint8_t)(p->kind + 1);
    }
}

/* Races that were looked up last; the same few pairs of sites meet over and
 * over. */
enum { RECENT = 1024 };

static void judge_all(struct sshb *p, struct note *notes)
{
    struct race_table *t = &p->result->races;
    struct race *recent[RECENT] = { NULL };

    for (size_t i = 0; i < p->facts.npairs; i++) {
        const struct sshb_pair *pair = &p->facts.pairs[i];
        uint32_t a = pair->site[0], b = pair->site[1];
        struct race **r = &recent[map_hash((uint64_t)a << 32 | b) % RECENT];

        if (!*r || !(((*r)->first.site == a && (*r)->second.site == b) ||
                     ((*r)->first.site == b && (*r)->second.site == a)))
            *r = race_table_find(t, a, b);
        judge(*r, &notes[*r - t->races], pair);
    }
}

static void count_races(struct sshb *p, const struct note *notes)
{
    static const char *const all[SSHB_KINDS] = { "write_write", "read_write", "write_read" };
    static const char *const sure[SSHB_KINDS] = { "guaranteed_write_write", "guaranteed_read_write",
                                                  "guaranteed_write_read" };
    uint64_t races[SSHB_KINDS] = { 0 }, guaranteed[SSHB_KINDS] = { 0 }, filtered = 0, hidden = 0;

    for (size_t i = 0; i < p->result->races.count; i++) {
        bool is = p->result->races.races[i].strength == STRENGTH_GUARANTEED;

        if (!notes[i].kind)
            continue; /* no occurrence was kept */
        races[notes[i].kind - 1]++;
        guaranteed[notes[i].kind - 1] += is;
        filtered += !is && notes[i].filtered;
        hidden += !is && !notes[i].visible && notes[i].hidden;
    }
    for (int k = 0; k < SSHB_KINDS; k++)
        engine_count(p->result, all[k], races[k]);
    for (int k = 0; k < SSHB_KINDS; k++)
        engine_count(p->result, sure[k], guaranteed[k]);
    engine_count(p->result, "hidden", hidden);
    engine_count(p->result, "filtered_by_locks", filtered);
}

void sshb_finish(void *state)
{
    struct sshb *p = state;
    const struct sshb_reads *r = &p->reads;

    engine_count(p->result, "candidates_per_read_x100",
                 r->reads ? r->candidates * 100 / r->reads : 0);
    engine_count(p->result, "candidates_max", r->most);
    engine_count(p->result, "graph_edges", p->facts.nedges + p->facts.ncandidates);
    engine_count(p->result, "phase1_us", p->phase1_us);
    engine_leave(p->result, "crowded", p->crowded);
}

/* Where the recorded order hides races: what of it is certain? -1: an error; 0: the budget is
 * over. */
static int look_at_hidden(struct sshb_facts *f, struct whole *whole, struct error *err)
{
    if (!any_is(f, SSHB_UNSEEN))
        return 1;
    if (whole_info(whole)->values && sshb_look_at_values(f, whole, err) < 0)
        return -1;
    return ask_graph(f, GRAPH_CERTAIN, whole);
}

/* What has no verdict, and whether that makes the result incomplete. */
static void count_undecided(struct sshb *p, bool asked)
{
    const struct sshb_facts *f = &p->facts;
    uint64_t n = f->pairs_left_out + (f->full ? f->npairs : 0);

    for (size_t i = 0; i < f->npairs && !f->full; i++)
        n += (f->pairs[i].verdict & (SSHB_OPEN | SSHB_ORDERED)) == SSHB_OPEN;
    if (n || f->full)
        engine_count(p->result, "occurrences_undecided", n);
    if (n || f->full)
        p->result->complete = false;
    else
        engine_leave(p->result, "stopped", !asked);
}

int sshb_decide(void *state, struct whole *whole, struct error *err)
{
    struct sshb *p = state;
    uint64_t start = now_us();
    struct note *notes;
    int asked;

    p->facts.unordered = whole_info(whole)->order == TRACE_UNKNOWN;
    asked = sshb_decide_ask(&p->facts, whole);
    if (p->facts.unordered && sshb_look_at_locks(&p->facts, whole, err) < 0)
        return -1;
    if (asked && (asked = look_at_hidden(&p->facts, whole, err)) < 0)
        return -1;
    notes = xcalloc(p->result->races.count + 1, sizeof(*notes));
    if (!p->facts.full)
        judge_all(p, notes);
    if (asked)
        sshb_find_causes(p, whole);
    p->phase2_us += now_us() - start;
    count_races(p, notes);
    engine_count(p->result, "phase2_us", p->phase2_us);
    count_undecided(p, asked);
    free(notes);
    return 0;
}
