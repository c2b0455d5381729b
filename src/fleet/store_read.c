/* store_read.c - what is in the store: the funnel, the races, the runs */
#include "base/alloc.h"
#include "fleet/store_inside.h"

#include <stdlib.h>
#include <string.h>

/* Of the year 9999 and before. */
static int64_t time_of(const char *cell)
{
    int64_t ms = cell_number(cell);

    return ms < 0 || ms > INT64_C(253402300799999) ? 0 : ms;
}

/* ---- programs ---- */

struct program_query {
    struct store *store;
    store_program_row *row;
    void *arg;
};

static int give_program(void *arg, const char *const *c, int n)
{
    const struct program_query *q = arg;
    struct store_program p = { .id = c[0],
                               .name = store_clean(q->store, c[1]),
                               .path = store_clean(q->store, c[2]),
                               .note = store_clean(q->store, c[3]) };

    (void)n;
    if (!fleet_is_id(p.id)) {
        store_skip(q->store, "program '%s': no id of a build", cell_text(c[0]));
        return 0;
    }
    p.analysed = cell_number(c[4]) != 0;
    p.steady = cell_number(c[5]) >= STORE_QUIET_RUNS;
    p.sites = cell_count(c[6]);
    p.escaped = cell_count(c[7]);
    p.pairs = cell_count(c[8]);
    p.lockset = cell_count(c[9]);
    p.possible = cell_count(c[10]);
    p.chased = cell_count(c[11]);
    p.confirmed = cell_count(c[12]);
    p.races = cell_count(c[13]);
    for (int i = 0; i < 4; i++)
        p.runs[i] = cell_count(c[14 + i]);
    p.running = cell_count(c[18]);
    p.lost = cell_count(c[19]);
    p.dropped = cell_count(c[20]);
    p.first_ms = time_of(c[21]);
    p.last_ms = time_of(c[22]);
    p.sightings = cell_count(c[23]);
    return q->row(q->arg, &p);
}

/* A run whose lease is up counts as lost, also before somebody claims and writes that down. */
#define OPEN "ended IS NULL AND lost = 0 AND lease >= "
#define SHUT "ended IS NULL AND (lost = 1 OR lease < "

int store_programs(struct store *s, store_program_row *row, void *arg, struct error *err)
{
    struct program_query q = { s, row, arg };
    int64_t now = store_now(s, err);

    if (now < 0)
        return -1;
    return store_run_sql(
               s, err, give_program, &q,
               "SELECT p.id, p.name, p.path, p.note, p.analysed, p.quiet, i.n, i.e, p.static,"
               " p.lockset, p.possible, f.c, f.r, (SELECT count(*) FROM races WHERE program = "
               "p.id), r.k0, r.k1, r.k2,"
               " r.k3, r.o, r.x, r.d, r.f, r.t,"
               " (SELECT sum(count) FROM sightings WHERE program = p.id) FROM programs p"
               " LEFT JOIN (SELECT program, count(*) AS n, sum(escaped) AS e FROM sites"
               "  GROUP BY program) i ON i.program = p.id"
               " LEFT JOIN (SELECT program, sum(CASE WHEN chased > 0 THEN 1 ELSE 0 END) AS c,"
               "  sum(confirmed) AS r FROM pairs GROUP BY program) f ON f.program = p.id"
               " LEFT JOIN (SELECT program,"
               "  sum(CASE WHEN ended IS NOT NULL AND kind = 'plain' THEN 1 ELSE 0 END) AS k0,"
               "  sum(CASE WHEN ended IS NOT NULL AND kind = 'static' THEN 1 ELSE 0 END) AS k1,"
               "  sum(CASE WHEN ended IS NOT NULL AND kind = 'caper' THEN 1 ELSE 0 END) AS k2,"
               "  sum(CASE WHEN ended IS NOT NULL AND kind = 'chase' THEN 1 ELSE 0 END) AS k3,"
               "  sum(CASE WHEN " OPEN "$1 THEN 1 ELSE 0 END) AS o,"
               "  sum(CASE WHEN " SHUT "$1) THEN 1 ELSE 0 END) AS x,"
               "  sum(dropped) AS d, min(started) AS f, max(started) AS t"
               "  FROM runs GROUP BY program) r ON r.program = p.id ORDER BY p.name, p.id",
               "i", now) < 0
               ? -1
               : 0;
}

/* ---- races ---- */

struct race_query {
    struct store *store;
    store_race_row *row;
    void *arg;
};

static int give_race(void *arg, const char *const *c, int n)
{
    const struct race_query *q = arg;
    bool swapped = cell_number(c[4]) != 0;
    struct store_race r = { .program = c[0],
                            .id = c[1],
                            .s1 = swapped ? c[3] : c[2],
                            .s2 = swapped ? c[2] : c[3],
                            .first_run = c[5],
                            .first_ms = time_of(c[6]),
                            .race = c[7],
                            .last_ms = time_of(c[8]),
                            .count = cell_count(c[9]),
                            .runs = cell_count(c[10]) };

    (void)n;
    if (fleet_is_id(r.program) && fleet_is_race_id(r.id) && fleet_is_site(r.s1) &&
        fleet_is_site(r.s2) && fleet_is_id(r.first_run) && r.race)
        return q->row(q->arg, &r);
    store_skip(q->store, "race '%s' of program '%s': ids that Heddle does not make",
               cell_text(r.id), cell_text(r.program));
    return 0;
}

int store_races(struct store *s, const char *program, store_race_row *row, void *arg,
                struct error *err)
{
    struct race_query q = { s, row, arg };

    return store_run_sql(s, err, give_race, &q,
                         "SELECT r.program, r.id, r.a, r.b, r.swapped, r.first_run, r.first_seen,"
                         " r.json, max(g.seen), sum(g.count), count(DISTINCT g.run) FROM races r"
                         " JOIN sightings g ON g.program = r.program AND g.race = r.id"
                         " AND g.a = r.a AND g.b = r.b"
                         " WHERE (CAST($1 AS TEXT) IS NULL OR r.program = CAST($1 AS TEXT))"
                         " GROUP BY r.program, r.id, r.a, r.b, r.swapped, r.first_run,"
                         " r.first_seen, r.json ORDER BY r.program, r.first_seen, r.id, r.a, r.b",
                         "s", program) < 0
               ? -1
               : 0;
}

/* ---- runs ---- */

struct run_query {
    struct store *store;
    store_run_row *row;
    void *arg;
};

static int give_run(void *arg, const char *const *c, int n)
{
    const struct run_query *q = arg;
    bool swapped = cell_number(c[6]) != 0;
    struct store_run r = { .id = c[0],
                           .program = c[1],
                           .host = store_clean(q->store, c[2]),
                           .kind = c[3],
                           .s1 = swapped ? c[5] : c[4],
                           .s2 = swapped ? c[4] : c[5],
                           .state = c[7],
                           .pid = (int64_t)cell_count(c[8]),
                           .started_ms = time_of(c[9]),
                           .ended_ms = time_of(c[10]),
                           .exit = (int64_t)cell_count(c[11]),
                           .sightings = cell_count(c[12]) };

    (void)n;
    if (fleet_is_id(r.id) && fleet_is_id(r.program) && r.kind && fleet_kind_of(r.kind) >= 0 &&
        ((!r.s1 && !r.s2) || (fleet_is_site(r.s1) && fleet_is_site(r.s2))))
        return q->row(q->arg, &r);
    store_skip(q->store, "run '%s': ids that Heddle does not make", cell_text(r.id));
    return 0;
}

int store_runs(struct store *s, int limit, store_run_row *row, void *arg, struct error *err)
{
    struct run_query q = { s, row, arg };
    int64_t now = store_now(s, err);

    if (now < 0)
        return -1;
    return store_run_sql(s, err, give_run, &q,
                         "SELECT id, program, host, kind, a, b, swapped,"
                         " CASE WHEN ended IS NOT NULL THEN 'ended' WHEN " OPEN
                         "$1 THEN 'running' ELSE 'lost' END,"
                         " pid, started, ended, exit,"
                         " (SELECT count(*) FROM sightings g WHERE g.run = runs.id)"
                         " FROM runs ORDER BY started DESC, id LIMIT $2",
                         "ii", now, (int64_t)limit) < 0
               ? -1
               : 0;
}

/* ---- a program's pairs ---- */

static int load_program(void *arg, const char *const *c, int n)
{
    struct fleet_result *into = arg;

    (void)n;
    into->pairs = fleet_string(into, c[0]);
    return 0;
}

/* What is no site helps nobody; the rest is checked where it is shown. */
static int load_site(void *arg, const char *const *c, int n)
{
    struct fleet_result *into = arg;

    (void)n;
    if (!fleet_is_site(c[0]))
        return 0;
    fleet_add_site(into, (struct fleet_site){ .name = c[0],
                                              .location = c[1],
                                              .function = c[2],
                                              .access = c[3],
                                              .group = c[4] ? cell_number(c[4]) : -1,
                                              .lockgroup = c[5] ? cell_number(c[5]) : -1 });
    if (cell_number(c[6]))
        fleet_add_escaped(into, c[0]);
    return 0;
}

static int load_groups(void *arg, const char *const *c, int n)
{
    (void)n;
    fleet_add_groups(arg,
                     (struct fleet_groups){ (uint32_t)cell_number(c[0]),
                                            (uint32_t)cell_number(c[1]), cell_number(c[2]) != 0 });
    return 0;
}

int store_load(struct store *s, const char *program, struct fleet_result *into, struct error *err)
{
    int64_t r = store_run_sql(s, err, load_program, into,
                              "SELECT pairs FROM programs WHERE id = $1", "s", program);

    if (!into->program)
        into->program = fleet_string(into, program);
    if (r >= 0)
        r = store_run_sql(s, err, load_site, into,
                          "SELECT site, location, function, access, class, lockclass, escaped"
                          " FROM sites WHERE program = $1 ORDER BY site",
                          "s", program);
    if (r >= 0)
        r = store_run_sql(s, err, load_groups, into,
                          "SELECT a, b, refined FROM classes WHERE program = $1"
                          " ORDER BY refined, a, b",
                          "s", program);
    return r < 0 ? -1 : 0;
}
