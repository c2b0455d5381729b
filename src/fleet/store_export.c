/* store_export.c - everything as results, one a line, in the order the runs started
 *
 * Putting them all into another store gives its union with this one: pairs and sites go with
 * their static run, escaped sites with the caper run that saw them first, sightings with theirs.
 */
#include "base/alloc.h"
#include "fleet/store_inside.h"

#include <stdlib.h>
#include <string.h>

struct exporter {
    struct store *store;
    FILE *out;
    struct error *err;
    struct intern done; /* programs whose pairs are written */
};

static int add_escaped(void *arg, const char *const *c, int n)
{
    (void)n;
    fleet_add_escaped(arg, cell_text(c[0]));
    return 0;
}

static int add_sighting(void *arg, const char *const *c, int n)
{
    bool swapped = cell_number(c[3]) != 0;

    (void)n;
    fleet_add_sighting(arg, (struct fleet_sighting){ .number = (uint32_t)cell_number(c[0]),
                                                     .s1 = swapped ? c[2] : c[1],
                                                     .s2 = swapped ? c[1] : c[2],
                                                     .id = cell_text(c[4]),
                                                     .seen_ms = cell_number(c[5]),
                                                     .count = (uint64_t)cell_number(c[6]),
                                                     .race = cell_text(c[7]) });
    return 0;
}

/* What the run brought. */
static int store_export_fill(struct exporter *e, struct fleet_result *r)
{
    struct store *s = e->store;

    if (r->kind == FLEET_STATIC &&
        intern_find(&e->done, r->program, strlen(r->program)) == INTERN_NONE) {
        intern_put(&e->done, r->program, strlen(r->program));
        if (store_load(s, r->program, r, e->err) < 0)
            return -1;
        r->nescaped = 0; /* they go with their runs */
    }
    if (store_run_sql(s, e->err, add_escaped, r,
                      "SELECT site FROM sites WHERE program = $1 AND escaped_run = $2", "ss",
                      r->program, r->run) < 0)
        return -1;
    return store_run_sql(s, e->err, add_sighting, r,
                         "SELECT number, a, b, swapped, race, seen, count, json FROM sightings"
                         " WHERE run = $1 ORDER BY number",
                         "s", r->run) < 0
               ? -1
               : 0;
}

static int export_run(void *arg, const char *const *c, int n)
{
    struct exporter *e = arg;
    struct fleet_result r = { 0 };
    bool swapped = cell_number(c[9]) != 0;
    int kind = fleet_kind_of(cell_text(c[4])), code;
    struct error why;

    (void)n;
    snprintf(r.run, sizeof(r.run), "%s", strlen(cell_text(c[0])) > FLEET_ID_CHARS ? "" : c[0]);
    r.program = fleet_string(&r, cell_text(c[1]));
    r.host = fleet_string(&r, store_clean(e->store, c[2]));
    r.pid = cell_number(c[3]);
    r.kind = kind < 0 ? FLEET_PLAIN : (enum fleet_kind)kind;
    r.name = fleet_string(&r, store_clean(e->store, c[5]));
    r.path = fleet_string(&r, store_clean(e->store, c[6]));
    r.s1 = fleet_string(&r, swapped ? c[8] : c[7]);
    r.s2 = fleet_string(&r, swapped ? c[7] : c[8]);
    r.started_ms = cell_number(c[10]);
    r.ended_ms = cell_number(c[11]);
    r.exit = cell_number(c[12]);
    r.dropped = (uint64_t)cell_number(c[13]);
    r.note = fleet_string(&r, store_clean(e->store, c[14]));
    code = store_export_fill(e, &r);
    if (code == 0 && fleet_result_check(&r, &why) < 0)
        store_skip(e->store, "run '%s': %s", cell_text(c[0]), why.text);
    else if (code == 0 && (r.ended_ms || r.nsightings))
        fleet_result_write(&r, e->out);
    fleet_result_release(&r);
    return code;
}

int store_export(struct store *s, FILE *out, struct error *err)
{
    struct exporter e = { .store = s, .out = out, .err = err };
    int64_t r = store_run_sql(s, err, export_run, &e,
                              "SELECT r.id, r.program, r.host, r.pid, r.kind, p.name, p.path, r.a,"
                              " r.b, r.swapped, r.started, r.ended, r.exit, r.dropped, r.note"
                              " FROM runs r JOIN programs p ON p.id = r.program"
                              " ORDER BY r.started, r.id",
                              "");

    intern_release(&e.done);
    return r < 0 ? -1 : 0;
}
