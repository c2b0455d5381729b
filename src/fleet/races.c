/* races.c - confirmed races of a store as findings */
#include "fleet/races.h"
#include "report/json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct gathering {
    const struct status_about *about;
    json_t *races, *names; /* names: of programs, by id */
    uint64_t runs;
    struct error *err;
};

static int note_name(void *arg, const struct store_program *p)
{
    struct gathering *g = arg;

    if (status_matches(g->about->program, p->id, p->name))
        json_object_set_new(g->names, p->id, json_string(p->path ? p->path : p->id));
    g->runs += p->runs[FLEET_CHASE];
    return 0;
}

/* There is no trace: a sighting counts as two events, its accesses. */
static void number_events(json_t *race, json_int_t first)
{
    json_t *accesses = json_object_get(race, "accesses");

    for (size_t i = 0; i < json_array_size(accesses); i++)
        json_object_set_new(json_array_get(accesses, i), "event",
                            json_integer(first + (json_int_t)i));
}

static int gather(void *arg, const struct store_race *r)
{
    struct gathering *g = arg;
    json_t *race = json_loads(r->race, 0, NULL), *path = json_object_get(g->names, r->program);

    if (path && json_is_object(race)) {
        json_object_set_new(race, "count", json_integer((json_int_t)r->count));
        json_object_set(race, "trace", path);
        number_events(race, 2 * (json_int_t)json_array_size(g->races));
        json_array_append(g->races, race);
    }
    json_decref(race);
    return 0;
}

static int read_document(struct findings *f, const json_t *doc, struct error *err)
{
    char *text = json_dumps(doc, JSON_COMPACT);
    FILE *in = text ? fmemopen(text, strlen(text), "r") : NULL;
    int r = in ? json_read(f, in, err) : error_set(err, "not enough memory");

    if (in)
        fclose(in);
    free(text);
    return r;
}

int races_load(struct store *s, const struct status_about *about, struct findings *f,
               struct error *err)
{
    struct gathering g = { about, json_array(), json_object(), 0, err };
    json_t *doc;
    int r = store_programs(s, note_name, &g, err);

    if (r == 0)
        r = store_races(s, NULL, gather, &g, err);
    doc = json_pack("{s:i, s:{s:s, s:i, s:i, s:s, s:b}, s:[{s:s, s:f, s:i, s:b, s:{s:I}}], s:O,"
                    " s:[], s:i}",
                    "schema", JSON_SCHEMA, "trace", "path", about->store, "events",
                    2 * (int)json_array_size(g.races), "threads", 0, "order", "exact", "values", 0,
                    "engines", "name", "chase", "seconds", 0.0, "races",
                    (int)json_array_size(g.races), "complete", 1, "counters", "runs",
                    (json_int_t)g.runs, "races", g.races, "deadlocks", "suppressed", 0);
    if (r == 0)
        r = doc ? read_document(f, doc, err) : error_set(err, "not enough memory");
    json_decref(doc);
    json_decref(g.races);
    json_decref(g.names);
    return r;
}
