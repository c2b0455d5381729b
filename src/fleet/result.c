/* result.c - what one run found, as a struct and as one line of JSON */
#include "fleet/result.h"
#include "base/alloc.h"
#include "base/map.h"
#include "report/clean.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

static const char *const kind_names[] = { "plain", "static", "caper", "chase" };

const char *fleet_kind_name(enum fleet_kind kind)
{
    return kind_names[kind];
}

int fleet_kind_of(const char *name)
{
    for (int i = 0; i < 4; i++)
        if (strcmp(kind_names[i], name) == 0)
            return i;
    return -1;
}

void fleet_new_id(char id[FLEET_ID_CHARS + 1])
{
    uint64_t bits[2] = { (uint64_t)fleet_now_ms(), 0 };

    (void)!getrandom(bits, sizeof(bits), 0);
    snprintf(id, FLEET_ID_CHARS + 1, "%016" PRIx64 "%016" PRIx64, bits[0], bits[1]);
}

int64_t fleet_now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void fleet_result_release(struct fleet_result *r)
{
    free(r->sites);
    free(r->groups);
    free(r->escaped);
    free(r->sightings);
    arena_release(&r->memory);
    *r = (struct fleet_result){ 0 };
}

const char *fleet_string(struct fleet_result *r, const char *s)
{
    size_t n;
    char *copy;

    if (!s)
        return NULL;
    n = strlen(s) + 1;
    copy = arena_alloc(&r->memory, n);
    memcpy(copy, s, n);
    return copy;
}

uint32_t fleet_add_site(struct fleet_result *r, struct fleet_site site)
{
    GROW(r->sites, r->sites_cap, r->nsites + 1);
    site.name = fleet_string(r, site.name);
    site.location = fleet_string(r, site.location);
    site.function = fleet_string(r, site.function);
    site.access = fleet_string(r, site.access);
    r->sites[r->nsites] = site;
    return (uint32_t)r->nsites++;
}

void fleet_add_groups(struct fleet_result *r, struct fleet_groups groups)
{
    GROW(r->groups, r->groups_cap, r->ngroups + 1);
    r->groups[r->ngroups++] = groups;
}

void fleet_add_escaped(struct fleet_result *r, const char *site)
{
    GROW(r->escaped, r->escaped_cap, r->nescaped + 1);
    r->escaped[r->nescaped++] = fleet_string(r, site);
}

void fleet_add_sighting(struct fleet_result *r, struct fleet_sighting s)
{
    GROW(r->sightings, r->sightings_cap, r->nsightings + 1);
    s.s1 = fleet_string(r, s.s1);
    s.s2 = fleet_string(r, s.s2);
    s.id = fleet_string(r, s.id);
    s.race = fleet_string(r, s.race);
    r->sightings[r->nsightings++] = s;
}

/* By a map: the numbers of classes are those of whoever wrote them. */
uint64_t fleet_count_pairs(const struct fleet_result *r, bool refined)
{
    struct map members = { 0 };
    uint64_t pairs = 0;

    for (size_t i = 0; i < r->nsites; i++) {
        int64_t group = refined ? r->sites[i].lockgroup : r->sites[i].group;

        if (group >= 0)
            ++*map_put(&members, (uint64_t)group, 0);
    }
    for (size_t i = 0; i < r->ngroups; i++) {
        const uint32_t *x = map_get(&members, r->groups[i].a);
        const uint32_t *y = map_get(&members, r->groups[i].b);
        uint64_t a = x ? *x : 0, b = y ? *y : 0;

        if (r->groups[i].refined == refined)
            pairs += r->groups[i].a == r->groups[i].b ? a * (a + 1) / 2 : a * b;
    }
    map_release(&members);
    return pairs;
}

/* ---- writing ---- */

static json_t *text_or_null(const char *s)
{
    struct buf b = { 0 };
    json_t *j;

    if (!s)
        return json_null();
    if (clean_is(s, strlen(s)))
        return json_string(s);
    clean_add(&b, s, strlen(s));
    j = json_string(b.data);
    buf_release(&b);
    return j;
}

/* A file of several lines. */
static json_t *file_or_null(const char *s)
{
    json_t *j = json_string(s);

    return j ? j : json_null(); /* not UTF-8 */
}

static json_t *sites_json(const struct fleet_result *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->nsites; i++) {
        json_t *site = json_array();

        json_array_append_new(site, text_or_null(r->sites[i].name));
        json_array_append_new(site, text_or_null(r->sites[i].location));
        json_array_append_new(site, text_or_null(r->sites[i].function));
        json_array_append_new(site, text_or_null(r->sites[i].access));
        json_array_append_new(site, json_integer(r->sites[i].group));
        json_array_append_new(site, json_integer(r->sites[i].lockgroup));
        json_array_append_new(list, site);
    }
    return list;
}

static json_t *groups_json(const struct fleet_result *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->ngroups; i++)
        json_array_append_new(list, json_pack("[i,i,i]", (int)r->groups[i].a, (int)r->groups[i].b,
                                              r->groups[i].refined ? 1 : 0));
    return list;
}

static json_t *escaped_json(const struct fleet_result *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->nescaped; i++)
        json_array_append_new(list, text_or_null(r->escaped[i]));
    return list;
}

static json_t *sightings_json(const struct fleet_result *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->nsightings; i++) {
        const struct fleet_sighting *s = &r->sightings[i];
        json_t *o = json_object();

        json_object_set_new(o, "number", json_integer(s->number));
        json_object_set_new(o, "s1", text_or_null(s->s1));
        json_object_set_new(o, "s2", text_or_null(s->s2));
        json_object_set_new(o, "count", json_integer((json_int_t)s->count));
        json_object_set_new(o, "seen", json_integer(s->seen_ms));
        json_object_set_new(o, "id", text_or_null(s->id));
        json_object_set_new(o, "race", json_loads(s->race, 0, NULL));
        json_array_append_new(list, o);
    }
    return list;
}

static void add_lists(const struct fleet_result *r, json_t *o)
{
    if (r->nsites)
        json_object_set_new(o, "sites", sites_json(r));
    if (r->ngroups)
        json_object_set_new(o, "classes", groups_json(r));
    if (r->pairs)
        json_object_set_new(o, "pairs", file_or_null(r->pairs));
    if (r->nescaped)
        json_object_set_new(o, "escaped", escaped_json(r));
    if (r->nsightings)
        json_object_set_new(o, "sightings", sightings_json(r));
}

void fleet_result_write(const struct fleet_result *r, FILE *out)
{
    json_t *o = json_object();

    json_object_set_new(o, "fleet", json_integer(FLEET_RESULT_VERSION));
    json_object_set_new(o, "run", text_or_null(r->run));
    json_object_set_new(o, "kind", text_or_null(fleet_kind_name(r->kind)));
    json_object_set_new(o, "program", text_or_null(r->program));
    json_object_set_new(o, "name", text_or_null(r->name));
    json_object_set_new(o, "path", text_or_null(r->path));
    json_object_set_new(o, "host", text_or_null(r->host));
    json_object_set_new(o, "pid", json_integer(r->pid));
    json_object_set_new(o, "started", json_integer(r->started_ms));
    json_object_set_new(o, "ended", json_integer(r->ended_ms));
    json_object_set_new(o, "exit", json_integer(r->exit));
    json_object_set_new(o, "dropped", json_integer((json_int_t)r->dropped));
    json_object_set_new(o, "s1", text_or_null(r->s1));
    json_object_set_new(o, "s2", text_or_null(r->s2));
    json_object_set_new(o, "note", text_or_null(r->note));
    add_lists(r, o);
    json_dumpf(o, out, JSON_COMPACT);
    fputc('\n', out);
    json_decref(o);
}

/* ---- reading ---- */

struct reader {
    struct fleet_result *to;
    struct error *err;
    bool failed;
};

static void result_refuse(struct reader *in, const char *what, const char *wanted)
{
    if (!in->failed)
        error_set(in->err, "%s: expected %s", what, wanted);
    in->failed = true;
}

static const char *text_of(struct reader *in, const json_t *v, const char *what, bool needed)
{
    if (json_is_string(v))
        return fleet_string(in->to, json_string_value(v));
    if (needed || (v && !json_is_null(v)))
        result_refuse(in, what, "a text");
    return NULL;
}

static const char *text(struct reader *in, const json_t *o, const char *key, bool needed)
{
    return text_of(in, json_object_get(o, key), key, needed);
}

static int64_t result_number(struct reader *in, const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);

    if (v && !json_is_integer(v))
        result_refuse(in, key, "an integer");
    return json_integer_value(v);
}

static const json_t *list_of(struct reader *in, const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);

    if (v && !json_is_array(v))
        result_refuse(in, key, "an array");
    return v;
}

/* Of a cell that may be missing: -1. */
static int64_t class_of(struct reader *in, const json_t *v)
{
    if (v && !json_is_integer(v))
        result_refuse(in, "sites", "classes as integers");
    return v ? json_integer_value(v) : -1;
}

static void read_sites(struct reader *in, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list) && !in->failed; i++) {
        const json_t *v = json_array_get(list, i);
        struct fleet_site *site;

        GROW(in->to->sites, in->to->sites_cap, in->to->nsites + 1);
        site = &in->to->sites[in->to->nsites++];
        site->group = class_of(in, json_array_get(v, 4));
        site->lockgroup = class_of(in, json_array_get(v, 5));
        site->name = text_of(in, json_array_get(v, 0), "sites", true);
        site->location = text_of(in, json_array_get(v, 1), "sites", false);
        site->function = text_of(in, json_array_get(v, 2), "sites", false);
        site->access = text_of(in, json_array_get(v, 3), "sites", false);
    }
}

static void read_groups(struct reader *in, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list) && !in->failed; i++) {
        const json_t *v = json_array_get(list, i);
        json_int_t n[3];

        for (size_t k = 0; k < 3; k++) {
            const json_t *cell = json_array_get(v, k);

            n[k] = json_is_integer(cell) ? json_integer_value(cell) : -1;
        }
        if (n[0] < 0 || n[1] < n[0] || n[2] < 0 || n[1] > INT32_MAX)
            result_refuse(in, "classes", "two numbers in order, and a flag");
        else
            fleet_add_groups(in->to,
                             (struct fleet_groups){ (uint32_t)n[0], (uint32_t)n[1], n[2] != 0 });
    }
}

static void read_escaped(struct reader *in, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list) && !in->failed; i++) {
        const char *name = text_of(in, json_array_get(list, i), "escaped", true);

        if (name)
            fleet_add_escaped(in->to, name);
    }
}

static void read_sightings(struct reader *in, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list) && !in->failed; i++) {
        const json_t *o = json_array_get(list, i), *race = json_object_get(o, "race");
        int64_t numbered = result_number(in, o, "number");
        struct fleet_sighting s = { .number = (uint32_t)numbered,
                                    .s1 = text(in, o, "s1", true),
                                    .s2 = text(in, o, "s2", true),
                                    .count = (uint64_t)result_number(in, o, "count"),
                                    .seen_ms = result_number(in, o, "seen"),
                                    .id = text(in, o, "id", true) };
        char *dump = json_is_object(race) ? json_dumps(race, JSON_COMPACT) : NULL;

        if (numbered < 0 || numbered > INT32_MAX)
            result_refuse(in, "number", "a number from 0 to 2147483647");
        if (!dump)
            result_refuse(in, "race", "an object");
        s.race = dump;
        if (!in->failed)
            fleet_add_sighting(in->to, s);
        free(dump);
    }
}

static void read_head(struct reader *in, const json_t *o)
{
    struct fleet_result *r = in->to;
    const char *run, *kind;

    if (result_number(in, o, "fleet") != FLEET_RESULT_VERSION)
        result_refuse(in, "fleet", "version 1");
    run = text(in, o, "run", true);
    kind = text(in, o, "kind", true);
    if (run && !fleet_is_id(run))
        result_refuse(in, "run", "32 hex digits");
    if (kind && fleet_kind_of(kind) < 0)
        result_refuse(in, "kind", "one of plain, static, caper, chase");
    if (in->failed)
        return;
    snprintf(r->run, sizeof(r->run), "%s", run);
    r->kind = (enum fleet_kind)fleet_kind_of(kind);
    r->program = text(in, o, "program", true);
    r->name = text(in, o, "name", false);
    r->path = text(in, o, "path", false);
    r->host = text(in, o, "host", false);
    r->pid = result_number(in, o, "pid");
    r->started_ms = result_number(in, o, "started");
    r->ended_ms = result_number(in, o, "ended");
    r->exit = result_number(in, o, "exit");
    r->dropped = (uint64_t)result_number(in, o, "dropped");
    r->s1 = text(in, o, "s1", r->kind == FLEET_CHASE);
    r->s2 = text(in, o, "s2", r->kind == FLEET_CHASE);
    r->note = text(in, o, "note", false);
}

int fleet_result_read(struct fleet_result *r, const char *line, size_t length, struct error *err)
{
    json_error_t bad;
    json_t *o = json_loadb(line, length, JSON_REJECT_DUPLICATES, &bad);
    struct reader in = { .to = r, .err = err };

    if (!json_is_object(o)) {
        error_set(err, "no result: %s", o ? "not an object" : bad.text);
        json_decref(o);
        return -1;
    }
    read_head(&in, o);
    read_sites(&in, list_of(&in, o, "sites"));
    read_groups(&in, list_of(&in, o, "classes"));
    r->pairs = text(&in, o, "pairs", false);
    read_escaped(&in, list_of(&in, o, "escaped"));
    read_sightings(&in, list_of(&in, o, "sightings"));
    json_decref(o);
    in.failed = in.failed || fleet_result_check(r, err) < 0;
    if (in.failed)
        fleet_result_release(r);
    return in.failed ? -1 : 0;
}
