/* store_pairs.c - from escaped sites to a list of pairs that wait for a chase
 *
 * The pairs of a program are pairs of classes of sites; possible are those whose two sites have
 * escaped. There may be millions, and one run chases one, so only STORE_LISTED of those that were
 * never chased have rows; when they are used up the next are listed. Pairs that no lock protects
 * come first, then chance decides (`spread`), so that all sites get their turn early.
 * The number of all possible pairs is counted by classes, without listing them.
 */
#include "base/alloc.h"
#include "base/map.h"
#include "fleet/store_inside.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* Candidates held in memory at once: 24 bytes each. Of more, every n-th by chance. */
enum { COLLECT_MAX = 2000000 };

struct candidate {
    uint32_t a, b;
    bool lockset;
    uint64_t spread;
};

struct book {
    struct fleet_result known; /* sites that escaped, and the classes */
    struct map groups[2];      /* pair of classes -> 1; [1]: refined */
    struct map listed;         /* hashes of pairs that have rows, where that is asked for */
    bool *fresh;               /* by site: escaped first in the run in question */
    const char *run;
    uint64_t possible, rows, waiting;
    struct candidate *list;
    size_t count, cap;
};

static void book_release(struct book *b)
{
    fleet_result_release(&b->known);
    map_release(&b->groups[0]);
    map_release(&b->groups[1]);
    map_release(&b->listed);
    free(b->fresh);
    free(b->list);
}

static int store_pairs_add_site(void *arg, const char *const *c, int n)
{
    struct book *b = arg;
    size_t cap = b->known.sites_cap;
    uint32_t i = fleet_add_site(&b->known,
                                (struct fleet_site){ .name = cell_text(c[0]),
                                                     .group = c[1] ? cell_number(c[1]) : -1,
                                                     .lockgroup = c[2] ? cell_number(c[2]) : -1 });

    (void)n;
    if (b->known.sites_cap != cap)
        b->fresh = xrealloc(b->fresh, b->known.sites_cap, sizeof(*b->fresh));
    b->fresh[i] = !b->run || (c[3] && strcmp(c[3], b->run) == 0);
    return 0;
}

static int add_groups(void *arg, const char *const *c, int n)
{
    struct book *b = arg;
    struct fleet_groups g = { (uint32_t)cell_number(c[0]), (uint32_t)cell_number(c[1]),
                              cell_number(c[2]) != 0 };

    (void)n;
    fleet_add_groups(&b->known, g);
    map_put(&b->groups[g.refined], (uint64_t)g.a << 32 | g.b, 1);
    return 0;
}

/* The same for both orders. */
static uint64_t pair_hash(const char *x, const char *y)
{
    return XXH3_64bits(x, strlen(x)) + XXH3_64bits(y, strlen(y));
}

static int add_listed(void *arg, const char *const *c, int n)
{
    struct book *b = arg;

    (void)n;
    map_put(&b->listed, pair_hash(cell_text(c[0]), cell_text(c[1])), 1);
    return 0;
}

static int add_counts(void *arg, const char *const *c, int n)
{
    struct book *b = arg;

    (void)n;
    b->rows = (uint64_t)cell_number(c[0]);
    b->waiting = (uint64_t)cell_number(c[1]);
    return 0;
}

static int book_load(struct book *b, struct store *s, const char *program, struct error *err)
{
    if (store_run_sql(s, err, store_pairs_add_site, b,
                      "SELECT site, class, lockclass, escaped_run FROM sites"
                      " WHERE program = $1 AND escaped = 1 ORDER BY site",
                      "s", program) < 0)
        return -1;
    if (store_run_sql(s, err, add_groups, b, "SELECT a, b, refined FROM classes WHERE program = $1",
                      "s", program) < 0)
        return -1;
    /* Of a run's new sites no pair can have been listed. */
    if (!b->run && store_run_sql(s, err, add_listed, b, "SELECT a, b FROM pairs WHERE program = $1",
                                 "s", program) < 0)
        return -1;
    return store_run_sql(s, err, add_counts, b,
                         "SELECT count(*), sum(CASE WHEN chased = 0 AND confirmed = 0 THEN 1"
                         " ELSE 0 END) FROM pairs WHERE program = $1",
                         "s", program) < 0
               ? -1
               : 0;
}

static bool has_groups(const struct book *b, int refined, int64_t x, int64_t y)
{
    uint64_t low = (uint64_t)(x < y ? x : y), high = (uint64_t)(x < y ? y : x);

    return x >= 0 && y >= 0 && map_get(&b->groups[refined], low << 32 | high);
}

static void consider(struct book *b, uint32_t i, uint32_t j, uint64_t one_of, uint64_t salt)
{
    const struct fleet_site *x = &b->known.sites[i], *y = &b->known.sites[j];
    uint64_t key[2] = { 0, salt };

    if (!has_groups(b, 0, x->group, y->group))
        return;
    key[0] = pair_hash(x->name, y->name);
    if (map_get(&b->listed, key[0]))
        return;
    key[0] = XXH3_64bits(key, sizeof(key));
    if (key[0] % one_of)
        return;
    GROW(b->list, b->cap, b->count + 1);
    b->list[b->count++] = (struct candidate){ i, j, has_groups(b, 1, x->lockgroup, y->lockgroup),
                                              (key[0] / one_of) & 0x7fffffff };
}

/* The salt makes another choice each time that not all fit. */
static void store_pairs_collect(struct book *b, uint64_t salt)
{
    uint64_t one_of = b->possible / COLLECT_MAX + 1;

    for (uint32_t i = 0; i < b->known.nsites; i++)
        for (uint32_t j = i; j < b->known.nsites; j++)
            if (b->fresh[i] || b->fresh[j])
                consider(b, i, j, one_of, one_of > 1 ? salt : 0);
}

static int by_wish(const void *x, const void *y)
{
    const struct candidate *p = x, *q = y;

    if (p->lockset != q->lockset)
        return p->lockset ? -1 : 1;
    return p->spread < q->spread ? -1 : p->spread > q->spread;
}

static int insert(struct store *s, const char *program, struct book *b, struct error *err)
{
    struct store_bulk bulk = { .store = s,
                               .head = "INSERT INTO pairs (program, a, b, lockset, spread) VALUES",
                               .tail = " ON CONFLICT (program, a, b) DO UPDATE SET"
                                       " lockset = excluded.lockset, spread = excluded.spread",
                               .columns = 5 };
    uint64_t room = b->waiting < STORE_LISTED ? STORE_LISTED - b->waiting : 0;
    size_t n = b->count < room ? b->count : room;
    char(*text)[24] = xcalloc(n + 1, sizeof(*text));
    int code = 0;

    if (b->count)
        qsort(b->list, b->count, sizeof(*b->list), by_wish);
    for (size_t i = 0; i < n && code == 0; i++) {
        const struct candidate *c = &b->list[i];
        struct store_order o = store_order(b->known.sites[c->a].name, b->known.sites[c->b].name);
        const char *row[] = { program, o.a, o.b, c->lockset ? "1" : "0", text[i] };

        snprintf(text[i], sizeof(text[i]), "%" PRIu64, c->spread);
        code = bulk_add(&bulk, row, err);
    }
    code = bulk_end(&bulk, code, err);
    free(text);
    return code;
}

int store_list_pairs(struct store *s, const char *program, const char *run, struct error *err)
{
    struct book b = { .run = run };
    int code = book_load(&b, s, program, err);

    if (code == 0) {
        b.possible = fleet_count_pairs(&b.known, false);
        store_pairs_collect(&b, b.rows);
        code = insert(s, program, &b, err);
    }
    if (code == 0 &&
        store_run_sql(s, err, NULL, NULL, "UPDATE programs SET possible = $2 WHERE id = $1", "si",
                      program, (int64_t)b.possible) < 0)
        code = -1;
    book_release(&b);
    return code;
}
