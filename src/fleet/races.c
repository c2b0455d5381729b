/* races.c - confirmed races of a store as findings
 *
 * Each is read by itself first, so that one which is none spoils only itself.
 */
#include "fleet/races.h"
#include "fleet/store_inside.h"
#include "report/json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct gathering {
    struct store *store;
    const struct status_about *about;
    json_t *races, *names; /* names: of programs, by id */
    uint64_t runs;
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

static json_t *document(const char *path, json_t *races, json_int_t runs)
{
    return json_pack("{s:i, s:{s:s, s:i, s:i, s:s, s:b}, s:[{s:s, s:f, s:i, s:b, s:{s:I}}], s:O,"
                     " s:[], s:i}",
                     "schema", JSON_SCHEMA, "trace", "path", path, "events",
                     2 * (int)json_array_size(races), "threads", 0, "order", "exact", "values", 0,
                     "engines", "name", "chase", "seconds", 0.0, "races",
                     (int)json_array_size(races), "complete", 1, "counters", "runs", runs, "races",
                     races, "deadlocks", "suppressed", 0);
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

/* Two stacks with long names have a hundred thousand bytes. */
enum { RACE_BYTES = 4 << 20 };

/* The race, to be released, or NULL and an error. */
static json_t *parse_race(const char *text, const char *id, struct error *err)
{
    json_t *race, *list, *doc;
    struct findings f = { 0 };
    int r = -1;

    if (strlen(text) > RACE_BYTES) {
        error_set(err, "longer than %d bytes", RACE_BYTES);
        return NULL;
    }
    race = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    list = json_pack("[O]", race);
    number_events(race, 0);
    doc = list ? document("store", list, 1) : NULL;
    if (!json_is_object(race) || !doc)
        error_set(err, "no JSON object");
    else
        r = read_document(&f, doc, err);
    if (r == 0 && strcmp(f.races[0].id, id) != 0)
        r = error_set(err, "its id is another");
    if (r == 0 && f.races[0].strength != STRENGTH_CONFIRMED)
        r = error_set(err, "it is not confirmed");
    findings_release(&f);
    json_decref(doc);
    json_decref(list);
    if (r == 0)
        return race;
    json_decref(race);
    return NULL;
}

int races_check(const char *text, const char *id, struct error *err)
{
    json_t *race = parse_race(text, id, err);

    json_decref(race);
    return race ? 0 : -1;
}

static int gather(void *arg, const struct store_race *r)
{
    struct gathering *g = arg;
    json_t *path = json_object_get(g->names, r->program), *race;
    struct error err = { { 0 } };

    if (!path)
        return 0;
    race = parse_race(r->race, r->id, &err);
    if (!race) {
        store_skip(g->store, "race '%s' of program '%s': %s", r->id, r->program, err.text);
        return 0;
    }
    json_object_set_new(race, "count", json_integer((json_int_t)r->count));
    json_object_set(race, "trace", path);
    number_events(race, 2 * (json_int_t)json_array_size(g->races));
    json_array_append_new(g->races, race);
    return 0;
}

int races_load(struct store *s, const struct status_about *about, struct findings *f,
               struct error *err)
{
    struct gathering g = { s, about, json_array(), json_object(), 0 };
    json_t *doc;
    int r = store_programs(s, note_name, &g, err);

    if (r == 0)
        r = store_races(s, NULL, gather, &g, err);
    doc = document(about->store, g.races, (json_int_t)g.runs);
    if (r == 0)
        r = doc ? read_document(f, doc, err) : error_set(err, "not enough memory");
    json_decref(doc);
    json_decref(g.races);
    json_decref(g.names);
    return r;
}
