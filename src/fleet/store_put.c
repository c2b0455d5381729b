/* store_put.c - the result of a run: all of it or nothing, and once
 *
 * One transaction. The run's row is ended only where it was not ended before; where it was, the
 * result is there already and nothing else is done. So a put whose commit may or may not have
 * happened is simply put again. Sightings have their number in the run as key and may come while
 * the run still goes on: each time with the count so far.
 */
#include "base/alloc.h"
#include "fleet/store_inside.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- static: sites and classes ---- */

static const char *digits(char text[24], int64_t n)
{
    snprintf(text, 24, "%" PRId64, n);
    return n < 0 ? NULL : text;
}

/* Values are borrowed until the rows are sent, so numbers need a place of their own. */
static int put_sites(struct store *s, const struct fleet_result *r, struct error *err)
{
    struct store_bulk b = { .store = s,
                            .head = "INSERT INTO sites (program, site, location, function, access,"
                                    " class, lockclass) VALUES",
                            .tail = " ON CONFLICT (program, site) DO UPDATE SET"
                                    " location = excluded.location, function = excluded.function,"
                                    " access = excluded.access, class = excluded.class,"
                                    " lockclass = excluded.lockclass",
                            .columns = 7 };
    char(*text)[24] = xcalloc(r->nsites * 2 + 1, sizeof(*text));
    int code = 0;

    for (size_t i = 0; i < r->nsites && code == 0; i++) {
        const struct fleet_site *site = &r->sites[i];
        const char *row[] = { r->program,
                              site->name,
                              site->location,
                              site->function,
                              site->access,
                              digits(text[2 * i], site->group),
                              digits(text[2 * i + 1], site->lockgroup) };

        code = bulk_add(&b, row, err);
    }
    code = bulk_end(&b, code, err);
    free(text);
    return code;
}

static int put_groups(struct store *s, const struct fleet_result *r, struct error *err)
{
    struct store_bulk b = { .store = s,
                            .head = "INSERT INTO classes (program, refined, a, b) VALUES",
                            .tail = " ON CONFLICT (program, refined, a, b) DO NOTHING",
                            .columns = 4 };
    char(*text)[24] = xcalloc(r->ngroups * 2 + 1, sizeof(*text));
    int code = 0;

    for (size_t i = 0; i < r->ngroups && code == 0; i++) {
        const struct fleet_groups *g = &r->groups[i];
        const char *row[] = { r->program, g->refined ? "1" : "0", digits(text[2 * i], g->a),
                              digits(text[2 * i + 1], g->b) };

        code = bulk_add(&b, row, err);
    }
    code = bulk_end(&b, code, err);
    free(text);
    return code;
}

static int note_number(void *arg, const char *const *cells, int n)
{
    (void)n;
    *(int64_t *)arg = cell_number(cells[0]);
    return 0;
}

/* The first analysis of a build counts: classes of another one may have other numbers. */
static int put_static(struct store *s, const struct fleet_result *r, struct error *err)
{
    int64_t analysed = 0;

    if (store_run_sql(s, err, note_number, &analysed, "SELECT analysed FROM programs WHERE id = $1",
                      "s", r->program) < 0)
        return -1;
    if (analysed)
        return 0;
    if (put_sites(s, r, err) < 0 || put_groups(s, r, err) < 0)
        return -1;
    if (store_run_sql(s, err, NULL, NULL,
                      "UPDATE programs SET analysed = 1, note = $2, pairs = $3, static = $4,"
                      " lockset = $5 WHERE id = $1",
                      "sssii", r->program, r->ngroups ? NULL : r->note, r->pairs,
                      (int64_t)fleet_count_pairs(r, false),
                      (int64_t)fleet_count_pairs(r, true)) < 0)
        return -1;
    return store_list_pairs(s, r->program, NULL, err); /* sites of a merged store may be known */
}

/* ---- caper: sites that escaped ---- */

static int put_escaped(struct store *s, const struct fleet_result *r, struct error *err)
{
    int64_t news = 0;

    for (size_t i = 0; i < r->nescaped; i++) {
        int64_t n = store_run_sql(s, err, NULL, NULL,
                                  "INSERT INTO sites (program, site, escaped, escaped_run)"
                                  " VALUES ($1, $2, 1, $3) ON CONFLICT (program, site) DO UPDATE"
                                  " SET escaped = 1, escaped_run = $3 WHERE sites.escaped = 0",
                                  "sss", r->program, r->escaped[i], r->run);
        if (n < 0)
            return -1;
        news += n;
    }
    if (news && store_list_pairs(s, r->program, r->run, err) < 0)
        return -1;
    return store_run_sql(s, err, NULL, NULL,
                         news ? "UPDATE programs SET quiet = 0 WHERE id = $1"
                              : "UPDATE programs SET quiet = quiet + 1 WHERE id = $1",
                         "s", r->program) < 0
               ? -1
               : 0;
}

/* ---- chase: the pair, and what was seen ---- */

static int put_chased(struct store *s, const struct fleet_result *r, struct error *err)
{
    struct store_order o = store_order(r->s1, r->s2);

    return store_run_sql(s, err, NULL, NULL,
                         "INSERT INTO pairs (program, a, b, chased)"
                         " VALUES ($1, $2, $3, 1) ON CONFLICT (program, a, b)"
                         " DO UPDATE SET chased = pairs.chased + 1",
                         "sss", r->program, o.a, o.b) < 0
               ? -1
               : 0;
}

static int put_sighting(struct store *s, const struct fleet_result *r,
                        const struct fleet_sighting *g, struct error *err)
{
    struct store_order o = store_order(g->s1, g->s2);

    if (store_run_sql(s, err, NULL, NULL,
                      "INSERT INTO sightings (run, number, program, a, b, swapped, race, seen,"
                      " count, json) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
                      " ON CONFLICT (run, number) DO UPDATE SET count = excluded.count"
                      " WHERE excluded.count > sightings.count", /* they may come in any order */
                      "sisssisiis", r->run, (int64_t)g->number, r->program, o.a, o.b,
                      (int64_t)o.swapped, g->id, g->seen_ms, (int64_t)g->count, g->race) < 0)
        return -1;
    if (store_run_sql(s, err, NULL, NULL,
                      "INSERT INTO races (program, id, a, b, swapped, first_run, first_seen, json)"
                      " VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (program, id, a, b)"
                      " DO NOTHING",
                      "ssssisis", r->program, g->id, o.a, o.b, (int64_t)o.swapped, r->run,
                      g->seen_ms, g->race) < 0)
        return -1;
    return store_run_sql(s, err, NULL, NULL,
                         "INSERT INTO pairs (program, a, b, confirmed)"
                         " VALUES ($1, $2, $3, 1) ON CONFLICT (program, a, b)"
                         " DO UPDATE SET confirmed = 1",
                         "sss", r->program, o.a, o.b) < 0
               ? -1
               : 0;
}

/* ---- the transaction ---- */

/* 1: the run ends by this; 0: it ended before; -1. */
static int64_t end_run(struct store *s, const struct fleet_result *r, struct error *err)
{
    struct store_order o = store_order(r->s1, r->s2);

    return store_run_sql(s, err, NULL, NULL,
                         "INSERT INTO runs (id, program, host, pid, kind, a, b, swapped, started,"
                         " ended, exit, dropped, note)"
                         " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
                         " ON CONFLICT (id) DO UPDATE SET ended = excluded.ended,"
                         " exit = excluded.exit, dropped = excluded.dropped, note = excluded.note,"
                         " lost = 0 WHERE runs.ended IS NULL",
                         "sssisssiiiiis", r->run, r->program, r->host, r->pid,
                         fleet_kind_name(r->kind), o.a, o.b, (int64_t)o.swapped, r->started_ms,
                         r->ended_ms, r->exit, (int64_t)r->dropped, r->note);
}

static int put_body(struct store *s, void *arg, struct error *err)
{
    const struct fleet_result *r = arg;
    int64_t ends = 1;

    if (store_lock_program(s, r, err) < 0)
        return -1;
    if (r->ended_ms)
        ends = end_run(s, r, err);
    if (ends <= 0)
        return (int)ends;
    for (size_t i = 0; i < r->nsightings; i++)
        if (put_sighting(s, r, &r->sightings[i], err) < 0)
            return -1;
    if (r->ended_ms && r->kind == FLEET_STATIC && put_static(s, r, err) < 0)
        return -1;
    if (r->ended_ms && r->kind == FLEET_CAPER && put_escaped(s, r, err) < 0)
        return -1;
    if (r->ended_ms && r->kind == FLEET_CHASE && put_chased(s, r, err) < 0)
        return -1;
    return 1;
}

int store_put(struct store *s, const struct fleet_result *r, struct error *err)
{
    return store_transact(s, put_body, (void *)r, err);
}
