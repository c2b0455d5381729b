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
#include "engines/sshb.h"
#include "engines/sshb_graph.h"
#include "engines/sshb_locks.h"
#include "engines/sshb_values.h"
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

static struct sshb_point end_of(const struct sshb_pair *p, int side)
{
    return (struct sshb_point){ p->slot[side], p->position[side] };
}

static void ask_both_ways(struct sshb_graph *g, struct sshb_pair *p, uint32_t base)
{
    for (int side = 0; side < 2; side++)
        if (!(p->verdict & SSHB_ORDERED) && p->slot[side] - base < GRAPH_LANES &&
            sshb_graph_joins(g, end_of(p, !side), end_of(p, side)))
            p->verdict |= SSHB_ORDERED;
}

/* Recorded orders only go forward. That the later access reads from the earlier
 * one is no order between them: shb compares before it learns. */
static void ask_recorded(struct sshb_graph *g, struct sshb_pair *p, uint32_t base, uint8_t verdict)
{
    if (p->verdict & SSHB_ORDERED && p->slot[1] - base < GRAPH_LANES &&
        sshb_graph_reach(g, end_of(p, 0), p->slot[1]) < p->position[1])
        p->verdict |= verdict;
}

static bool group_is_asked(const struct sshb_facts *f, const bool *asked, uint32_t base)
{
    for (uint32_t s = base; s < base + GRAPH_LANES && s < f->hb->nslots; s++)
        if (asked[s])
            return true;
    return false;
}

static void ask_all(struct sshb_facts *f, struct sshb_graph *g, enum sshb_graph_kind kind,
                    const bool *asked)
{
    uint8_t verdict = kind == GRAPH_OBSERVED ? SSHB_UNSEEN : SSHB_CERTAIN;

    for (uint32_t base = 0; base < f->hb->nslots; base += GRAPH_LANES) {
        if (!group_is_asked(f, asked, base))
            continue;
        sshb_graph_sweep(g, base);
        for (size_t i = 0; i < f->npairs; i++) {
            if (kind == GRAPH_CANDIDATES)
                ask_both_ways(g, &f->pairs[i], base);
            else
                ask_recorded(g, &f->pairs[i], base, verdict);
        }
    }
}

/* Which slots have accesses that a question is about? */
static void ask_graph(struct sshb_facts *f, enum sshb_graph_kind kind)
{
    bool *asked = xcalloc(f->hb->nslots + 1, sizeof(*asked));
    struct sshb_graph *g = sshb_graph_new(f, kind);

    for (size_t i = 0; i < f->npairs; i++)
        asked[f->pairs[i].slot[0]] = asked[f->pairs[i].slot[1]] = true;
    ask_all(f, g, kind, asked);
    sshb_graph_free(g);
    free(asked);
}

static bool any_is(const struct sshb_facts *f, enum sshb_verdict verdict)
{
    for (size_t i = 0; i < f->npairs; i++)
        if (f->pairs[i].verdict & verdict)
            return true;
    return false;
}

static void ask(struct sshb_facts *f)
{
    if (!f->npairs || f->full)
        return;
    ask_graph(f, GRAPH_CANDIDATES);
    if (any_is(f, SSHB_ORDERED) && f->nobserved)
        ask_graph(f, GRAPH_OBSERVED);
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
    if (p->verdict & SSHB_ORDERED)
        return;
    if (p->verdict & SSHB_COVERED) {
        n->filtered = true;
    } else if (r->strength > STRENGTH_GUARANTEED) {
        r->strength = STRENGTH_GUARANTEED;
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
}

/* Where the recorded order hides races: what of it is certain? */
static int look_at_hidden(struct sshb_facts *f, struct whole *whole, struct error *err)
{
    if (!any_is(f, SSHB_UNSEEN))
        return 0;
    if (whole_info(whole)->values && sshb_look_at_values(f, whole, err) < 0)
        return -1;
    ask_graph(f, GRAPH_CERTAIN);
    return 0;
}

int sshb_decide(void *state, struct whole *whole, struct error *err)
{
    struct sshb *p = state;
    uint64_t start = now_us();
    struct note *notes;

    p->facts.unordered = whole_info(whole)->order == TRACE_UNKNOWN;
    ask(&p->facts);
    if (p->facts.unordered && sshb_look_at_locks(&p->facts, whole, err) < 0)
        return -1;
    if (look_at_hidden(&p->facts, whole, err) < 0)
        return -1;
    notes = xcalloc(p->result->races.count + 1, sizeof(*notes));
    if (!p->facts.full)
        judge_all(p, notes);
    p->phase2_us += now_us() - start;
    count_races(p, notes);
    engine_count(p->result, "phase2_us", p->phase2_us);
    if (p->facts.pairs_left_out || p->facts.full)
        engine_count(p->result, "occurrences_undecided",
                     p->facts.pairs_left_out + (p->facts.full ? p->facts.npairs : 0));
    free(notes);
    return 0;
}
