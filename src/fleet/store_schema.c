/* store_schema.c - the tables, and how an older store becomes a new one
 *
 * `steps[v]` leads from version v to v + 1; a step that was released is never changed. All steps
 * that are missing are one transaction. docs/format/fleet.md describes the columns.
 */
#include "fleet/store_inside.h"

#include <stdlib.h>
#include <string.h>

static const char *const to_1[] = {
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE programs (id TEXT PRIMARY KEY, name TEXT, path TEXT, note TEXT,"
    " analysed BIGINT NOT NULL DEFAULT 0, static BIGINT NOT NULL DEFAULT 0,"
    " lockset BIGINT NOT NULL DEFAULT 0, possible BIGINT NOT NULL DEFAULT 0,"
    " pairs TEXT, quiet BIGINT NOT NULL DEFAULT 0,"
    " capers BIGINT NOT NULL DEFAULT 0, chases BIGINT NOT NULL DEFAULT 0,"
    " touched BIGINT NOT NULL DEFAULT 0)",
    "CREATE TABLE sites (program TEXT NOT NULL, site TEXT NOT NULL, location TEXT, function TEXT,"
    " access TEXT, class BIGINT, lockclass BIGINT, escaped BIGINT NOT NULL DEFAULT 0, escaped_run "
    "TEXT,"
    " PRIMARY KEY (program, site))",
    "CREATE INDEX sites_escaped ON sites (program, escaped_run) WHERE escaped = 1",
    "CREATE TABLE classes (program TEXT NOT NULL, refined BIGINT NOT NULL, a BIGINT NOT NULL,"
    " b BIGINT NOT NULL, PRIMARY KEY (program, refined, a, b))",
    "CREATE TABLE pairs (program TEXT NOT NULL, a TEXT NOT NULL, b TEXT NOT NULL,"
    " lockset BIGINT NOT NULL DEFAULT 0, spread BIGINT NOT NULL DEFAULT 0,"
    " chased BIGINT NOT NULL DEFAULT 0, confirmed BIGINT NOT NULL DEFAULT 0,"
    " PRIMARY KEY (program, a, b))",
    "CREATE INDEX pairs_open ON pairs (program) WHERE confirmed = 0",
    "CREATE TABLE runs (id TEXT PRIMARY KEY, program TEXT NOT NULL, host TEXT, pid BIGINT,"
    " kind TEXT NOT NULL, a TEXT, b TEXT, swapped BIGINT NOT NULL DEFAULT 0,"
    " started BIGINT NOT NULL, lease BIGINT NOT NULL DEFAULT 0, ended BIGINT, exit BIGINT,"
    " dropped BIGINT NOT NULL DEFAULT 0, lost BIGINT NOT NULL DEFAULT 0, note TEXT)",
    "CREATE INDEX runs_program ON runs (program)",
    "CREATE INDEX runs_started ON runs (started)",
    "CREATE INDEX runs_held ON runs (program, a, b) WHERE ended IS NULL AND lost = 0",
    "CREATE TABLE sightings (run TEXT NOT NULL, number BIGINT NOT NULL, program TEXT NOT NULL,"
    " a TEXT NOT NULL, b TEXT NOT NULL, swapped BIGINT NOT NULL, race TEXT NOT NULL,"
    " seen BIGINT NOT NULL, count BIGINT NOT NULL, json TEXT NOT NULL, PRIMARY KEY (run, number))",
    "CREATE INDEX sightings_race ON sightings (program, race, a, b)",
    "CREATE TABLE races (program TEXT NOT NULL, id TEXT NOT NULL, a TEXT NOT NULL,"
    " b TEXT NOT NULL, swapped BIGINT NOT NULL, first_run TEXT NOT NULL, first_seen BIGINT"
    " NOT NULL, json TEXT NOT NULL, PRIMARY KEY (program, id, a, b))",
    NULL
};

static const char *const *const steps[STORE_VERSION] = { to_1 };

static int note_version(void *arg, const char *const *cells, int n)
{
    (void)n;
    *(int64_t *)arg = cells[0] ? atoll(cells[0]) : -1;
    return 0;
}

/* 0: empty. -1: not a store, or it cannot be read. */
static int64_t read_version(struct store *s, struct error *err)
{
    int64_t version = -1;
    /* In this order: all tables appear at once, perhaps between the questions. */
    int used = s->driver->is_used(s->db, &s->failure, err);
    int there = used > 0 ? s->driver->has_table(s->db, "meta", &s->failure, err) : 0;

    if (there < 0 || used < 0)
        return -1;
    if (!used)
        return 0;
    s->failure = SQL_WRONG;
    if (!there)
        return error_set(err, "this is a database of something else");
    if (store_run_sql(s, err, note_version, &version,
                      "SELECT value FROM meta WHERE key = 'heddle-fleet'", "") < 0)
        return -1;
    if (version <= 0)
        return error_set(err, "this is a database of something else");
    return version;
}

static int take_step(struct store *s, int64_t from, struct error *err)
{
    for (const char *const *text = steps[from]; *text; text++)
        if (store_run_sql(s, err, NULL, NULL, *text, "") < 0)
            return -1;
    return 0;
}

static int bring_up(struct store *s, void *unused, struct error *err)
{
    int64_t version = read_version(s, err);

    (void)unused;
    for (; version >= 0 && version < STORE_VERSION; version++)
        if (take_step(s, version, err) < 0)
            return -1;
    if (version < 0)
        return -1;
    return store_run_sql(s, err, NULL, NULL,
                         "INSERT INTO meta (key, value) VALUES ('heddle-fleet', $1)"
                         " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                         "i", (int64_t)STORE_VERSION) < 0
               ? -1
               : 0;
}

int store_migrate(struct store *s, struct error *err)
{
    int64_t version = read_version(s, err);

    if (version < 0)
        return -1;
    if (version == STORE_VERSION)
        return 0;
    s->failure = SQL_WRONG;
    if (version > STORE_VERSION)
        return error_set(err, "its version is %d, this program knows up to %d", (int)version,
                         STORE_VERSION);
    if (version == 0 && s->access != SQL_CREATE)
        return error_set(err, "it is empty; 'heddle fleet init' makes a store");
    if (s->access == SQL_READ)
        return error_set(err, "its version is %d, older than %d; 'heddle fleet init' updates it",
                         (int)version, STORE_VERSION);
    return store_transact(s, bring_up, NULL, err);
}
