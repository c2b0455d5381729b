/* store_claim.c - what a run should do, and that nobody else does the same meanwhile
 *
 * Order of wishes (spec "the loop"; the numbers are in store.h):
 *   1. a build without static pairs: one run makes them, others run plain until they are there;
 *   2. nothing possible that is not confirmed: caper;
 *   3. before the steady state half of the runs are caper, in it one of twenty, so that new code
 *      paths of production are seen; the rest chases;
 *   4. of the pairs those that nobody chases now come first, then those with the fewest runs, where
 *      STORE_LOCKSET_WEIGHT runs of a pair without a common lock count as one; the first round is
 *      thus all such pairs, then the others, and no pair waits for ever. Each time the two sites
 *      change places: to wait at s1 for s2 is another experiment than to wait at s2.
 *
 * A lease is a run's row that is not ended and whose time (by the store's clock) is not up. The
 * program's row is locked first, so claims of one program come one after the other.
 */
#include "base/alloc.h"
#include "base/assert.h"
#include "fleet/store_inside.h"

#include <stdlib.h>
#include <string.h>

struct claim {
    const struct fleet_result *run;
    int64_t lease_ms, now;
    struct store_claim *out;
    bool given; /* the run has its assignment already */
    /* of the program */
    int64_t analysed, quiet, capers, chases;
    bool has_note;
    int64_t others;           /* that make the static pairs now */
    int64_t possible, listed; /* pairs; those with rows */
    int64_t chased;           /* runs of the chosen pair so far */
};

static void set_pair(struct store_claim *out, const char *a, const char *b, bool swapped)
{
    store_claim_release(out);
    out->s1 = xasprintf("%s", swapped ? b : a);
    out->s2 = xasprintf("%s", swapped ? a : b);
}

void store_claim_release(struct store_claim *c)
{
    free(c->s1);
    free(c->s2);
    c->s1 = c->s2 = NULL;
}

/* ---- rows ---- */

static int note_given(void *arg, const char *const *cells, int n)
{
    struct claim *c = arg;
    int kind = fleet_kind_of(cell_text(cells[0]));

    (void)n;
    c->given = true;
    c->out->kind = kind < 0 ? FLEET_PLAIN : (enum fleet_kind)kind;
    if (cells[1] && cells[2])
        set_pair(c->out, cells[1], cells[2], cells[3] && cells[3][0] == '1');
    return 0;
}

static int note_program(void *arg, const char *const *cells, int n)
{
    struct claim *c = arg;

    (void)n;
    c->analysed = cell_number(cells[0]);
    c->quiet = cell_number(cells[1]);
    c->capers = cell_number(cells[2]);
    c->chases = cell_number(cells[3]);
    c->has_note = cells[4] != NULL;
    c->others = cell_number(cells[5]);
    c->possible = cell_number(cells[6]);
    c->listed = cell_number(cells[7]);
    return 0;
}

static int note_pair(void *arg, const char *const *cells, int n)
{
    struct claim *c = arg;

    (void)n;
    c->chased = cell_number(cells[2]);
    c->out->tries = (uint64_t)(c->chased + cell_number(cells[3]));
    set_pair(c->out, cell_text(cells[0]), cell_text(cells[1]), c->out->tries % 2 != 0);
    return 0;
}

/* ---- choosing ---- */

static int best_pair(struct store *s, struct claim *c, struct error *err)
{
    store_claim_release(c->out);
    return store_run_sql(
               s, err, note_pair, c,
               "SELECT a, b, chased, held FROM (SELECT p.a, p.b, p.chased, p.lockset, p.spread,"
               " (SELECT count(*) FROM runs r WHERE r.program = p.program AND r.a = p.a"
               "  AND r.b = p.b AND r.ended IS NULL AND r.lost = 0) AS held"
               " FROM pairs p WHERE p.program = $1 AND p.confirmed = 0) AS q"
               " ORDER BY held, chased / (CASE WHEN lockset = 1 THEN 4 ELSE 1 END),"
               " lockset DESC, chased, spread, a, b LIMIT 1",
               "s", c->run->program) < 0
               ? -1
               : 0;
}

_Static_assert(STORE_LOCKSET_WEIGHT == 4, "the statement above says 4");

/* The best pair into out, which stays empty where there is none. Rows that are no pair of sites
 * would be chosen for ever: they go. */
static int choose_pair(struct store *s, struct claim *c, struct error *err)
{
    while (best_pair(s, c, err) == 0) {
        struct store_order o = store_order(c->out->s1, c->out->s2);

        if (!o.a || (fleet_is_site(o.a) && fleet_is_site(o.b)))
            return 0;
        if (store_run_sql(s, err, NULL, NULL,
                          "DELETE FROM pairs WHERE program = $1 AND a = $2 AND b = $3", "sss",
                          c->run->program, o.a, o.b) <= 0) {
            store_claim_release(c->out);
            return 0;
        }
    }
    return -1;
}

static bool caper_is_due(const struct claim *c)
{
    int share = c->quiet >= STORE_QUIET_RUNS ? STORE_STEADY_SHARE : STORE_CAPER_SHARE;

    return c->capers * (100 - share) < c->chases * share;
}

static int store_claim_choose(struct store *s, struct claim *c, struct error *err)
{
    c->out->kind = FLEET_PLAIN;
    if (!c->analysed) {
        c->out->kind = c->others ? FLEET_PLAIN : FLEET_STATIC;
        return 0;
    }
    if (c->has_note) /* its pairs cannot be had: there is nothing to do */
        return 0;
    if (choose_pair(s, c, err) < 0)
        return -1;
    if ((!c->out->s1 || c->chased > 0) && c->listed < c->possible && /* there are others */
        (store_list_pairs(s, c->run->program, NULL, err) < 0 || choose_pair(s, c, err) < 0))
        return -1;
    c->out->kind = FLEET_CHASE;
    if (!c->out->s1 || caper_is_due(c)) {
        c->out->kind = FLEET_CAPER;
        store_claim_release(c->out);
    }
    return 0;
}

/* ---- the transaction ---- */

static int expire(struct store *s, const struct claim *c, struct error *err)
{
    return store_run_sql(
               s, err, NULL, NULL,
               "UPDATE runs SET lost = 1 WHERE program = $1 AND ended IS NULL AND lost = 0"
               " AND lease < $2",
               "si", c->run->program, c->now) < 0
               ? -1
               : 0;
}

static int write_run(struct store *s, const struct claim *c, struct error *err)
{
    const struct fleet_result *r = c->run;
    struct store_order o = store_order(c->out->s1, c->out->s2);

    return store_run_sql(s, err, NULL, NULL,
                         "INSERT INTO runs (id, program, host, pid, kind, a, b, swapped, started,"
                         " lease) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
                         " ON CONFLICT (id) DO NOTHING",
                         "sssisssiii", r->run, r->program, r->host, r->pid,
                         fleet_kind_name(c->out->kind), o.a, o.b, (int64_t)o.swapped, r->started_ms,
                         c->now + c->lease_ms) < 0
               ? -1
               : 0;
}

static int count_choice(struct store *s, const struct claim *c, struct error *err)
{
    const char *text = c->out->kind == FLEET_CAPER
                           ? "UPDATE programs SET capers = capers + 1 WHERE id = $1"
                           : "UPDATE programs SET chases = chases + 1 WHERE id = $1";

    if (c->out->kind != FLEET_CAPER && c->out->kind != FLEET_CHASE)
        return 0;
    return store_run_sql(s, err, NULL, NULL, text, "s", c->run->program) < 0 ? -1 : 0;
}

static int claim_body(struct store *s, void *arg, struct error *err)
{
    struct claim *c = arg;

    c->given = false;
    if (store_lock_program(s, c->run, err) < 0)
        return -1;
    if (store_run_sql(s, err, note_given, c, "SELECT kind, a, b, swapped FROM runs WHERE id = $1",
                      "s", c->run->run) < 0)
        return -1;
    if (c->given)
        return 0;
    c->now = store_now(s, err);
    if (c->now < 0 || expire(s, c, err) < 0)
        return -1;
    if (store_run_sql(s, err, note_program, c,
                      "SELECT analysed, quiet, capers, chases, note, (SELECT count(*) FROM runs"
                      " WHERE program = $1 AND kind = 'static' AND ended IS NULL AND lost = 0),"
                      " possible, (SELECT count(*) FROM pairs WHERE program = $1)"
                      " FROM programs WHERE id = $1",
                      "s", c->run->program) < 0)
        return -1;
    if (store_claim_choose(s, c, err) < 0)
        return -1;
    /* a chase has a pair to chase, and nothing else has */
    invariant((c->out->kind == FLEET_CHASE) == (c->out->s1 && c->out->s2));
    if (c->out->kind == FLEET_PLAIN) /* nothing to hold */
        return 0;
    if (write_run(s, c, err) < 0)
        return -1;
    return count_choice(s, c, err);
}

int store_claim(struct store *s, const struct fleet_result *run, int64_t lease_ms,
                struct store_claim *out, struct error *err)
{
    struct claim c = { .run = run, .lease_ms = lease_ms, .out = out };

    *out = (struct store_claim){ 0 };
    if (store_transact(s, claim_body, &c, err) == 0)
        return 0;
    store_claim_release(out);
    return -1;
}

static int note_body(struct store *s, void *arg, struct error *err)
{
    struct claim *c = arg;

    if (store_lock_program(s, c->run, err) < 0)
        return -1;
    c->now = store_now(s, err);
    return c->now < 0 ? -1 : write_run(s, c, err);
}

int store_note_run(struct store *s, const struct fleet_result *run, int64_t lease_ms,
                   struct error *err)
{
    struct store_claim out = { .kind = run->kind, .s1 = (char *)run->s1, .s2 = (char *)run->s2 };
    struct claim c = { .run = run, .lease_ms = lease_ms, .out = &out };

    return store_transact(s, note_body, &c, err);
}

struct renewal {
    const char *run;
    int64_t lease_ms;
};

/* A run that was given up because its machine slept is back. */
static int renew_body(struct store *s, void *arg, struct error *err)
{
    const struct renewal *r = arg;
    int64_t now = store_now(s, err);

    if (now < 0)
        return -1;
    return store_run_sql(s, err, NULL, NULL,
                         "UPDATE runs SET lease = $2, lost = 0 WHERE id = $1 AND ended IS NULL",
                         "si", r->run, now + r->lease_ms) < 0
               ? -1
               : 0;
}

int store_renew(struct store *s, const char *run, int64_t lease_ms, struct error *err)
{
    struct renewal r = { run, lease_ms };

    return store_transact(s, renew_body, &r, err);
}

/* ---- giving it back ---- */

static int give_back_body(struct store *s, void *arg, struct error *err)
{
    const struct fleet_result *r = arg;
    const char *text = r->kind == FLEET_CAPER
                           ? "UPDATE programs SET capers = capers - 1 WHERE id = $1 AND capers > 0"
                           : "UPDATE programs SET chases = chases - 1 WHERE id = $1 AND chases > 0";
    int64_t gone;

    if (store_lock_program(s, r, err) < 0)
        return -1;
    gone = store_run_sql(s, err, NULL, NULL, "DELETE FROM runs WHERE id = $1 AND ended IS NULL",
                         "s", r->run);
    if (gone <= 0 || (r->kind != FLEET_CAPER && r->kind != FLEET_CHASE))
        return gone < 0 ? -1 : 0;
    return store_run_sql(s, err, NULL, NULL, text, "s", r->program) < 0 ? -1 : 0;
}

int store_give_back(struct store *s, const struct fleet_result *run, struct error *err)
{
    return store_transact(s, give_back_body, (void *)run, err);
}
