/* store_sqlite.c - the store in one SQLite file; module heddle-sqlite.so
 *
 * Write-ahead log: readers never wait, writers wait for each other (BUSY_MS), a process that is
 * killed leaves nothing locked (locks are the kernel's) and its open transaction is never seen.
 * synchronous=FULL: what was committed survives a crash of the machine.
 * A file may be anybody's: what its schema says is not obeyed (no functions in views and triggers
 * beyond the harmless ones, no writing to its inside), and no statement goes on for ever.
 * Limits: the log needs shared memory, so all users must be on one machine; for a fleet there is
 * PostgreSQL.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/seconds.h"
#include "fleet/sql.h"

/* How long a statement waits for another writer. A put takes a millisecond, the pairs of a large
 * program a second: a hundred runs that end at once are through in this time. */
enum { BUSY_MS = 20000 };

/* A view in a file of somebody else may have no end. Ours take seconds, of large stores. */
enum { STATEMENT_S = 60, STEPS_BETWEEN_LOOKS = 100000 };

struct sql {
    sqlite3 *db;
    double until; /* of the statement */
};

static int is_overdue(void *arg)
{
    const struct sql *s = arg;

    return s->until && seconds_now() > s->until;
}

static enum sql_failure failure_of(int code)
{
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
        return SQL_BUSY;
    default:
        return SQL_WRONG;
    }
}

static int store_sqlite_fail(sqlite3 *db, int code, enum sql_failure *failure, struct error *err)
{
    const char *text =
        db && sqlite3_errcode(db) != SQLITE_OK ? sqlite3_errmsg(db) : sqlite3_errstr(code);

    *failure = failure_of(code);
    return error_set(err, "%s", text);
}

/* Switching to the log does not wait for others as other statements do. */
static int use_log(sqlite3 *db)
{
    int code = SQLITE_BUSY;

    for (int tries = 0; tries < BUSY_MS / 5 && failure_of(code) == SQL_BUSY; tries++) {
        code = sqlite3_exec(db, "PRAGMA journal_mode=WAL", NULL, NULL, NULL);
        if (code == SQLITE_OK)
            break;
        if (failure_of(code) == SQL_BUSY)
            usleep(5000);
    }
    return code;
}

static int prepare_connection(struct sql *s, enum sql_access access)
{
    sqlite3 *db = s->db;
    int code;

    sqlite3_extended_result_codes(db, 1);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_progress_handler(db, STEPS_BETWEEN_LOOKS, is_overdue, s);
    sqlite3_busy_timeout(db, BUSY_MS);
    if (access == SQL_READ)
        return sqlite3_exec(db, "SELECT count(*) FROM sqlite_master", NULL, NULL, NULL);
    code = use_log(db);
    if (code == SQLITE_OK)
        code =
            sqlite3_exec(db, "PRAGMA synchronous=FULL; PRAGMA foreign_keys=OFF", NULL, NULL, NULL);
    return code;
}

static bool file_is_there(const char *path)
{
    return access(path, R_OK) == 0;
}

/* A file in a folder where we may not write cannot have the log's files. Where there is no log, so
 * that nobody writes, it can be read as one that does not change. NULL: there is a log. */
static char *unchanging(const char *where)
{
    char *log = xasprintf("%s-wal", where);
    struct buf uri = { 0 };
    bool busy = access(log, F_OK) == 0;

    free(log);
    if (busy)
        return NULL;
    buf_addstr(&uri, "file:");
    for (const char *p = where; *p; p++) {
        if (strchr("%?#", *p))
            buf_addf(&uri, "%%%02x", (unsigned char)*p);
        else
            buf_addch(&uri, *p);
    }
    buf_addstr(&uri, "?immutable=1");
    return buf_detach(&uri);
}

static int open_unchanging(struct sql *s, const char *where)
{
    char *uri = unchanging(where);
    int code = SQLITE_CANTOPEN;

    if (!uri)
        return code;
    sqlite3_close(s->db);
    code = sqlite3_open_v2(uri, &s->db,
                           SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
    if (code == SQLITE_OK)
        code = prepare_connection(s, SQL_READ);
    free(uri);
    return code;
}

static struct sql *sqlite_open(const char *where, enum sql_access access, enum sql_failure *failure,
                               struct error *err)
{
    int flags = access == SQL_READ ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
    struct sql *s = xcalloc(1, sizeof(*s));
    int code;

    if (access == SQL_CREATE)
        flags |= SQLITE_OPEN_CREATE;
    code = sqlite3_open_v2(where, &s->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
    if (code == SQLITE_OK)
        code = prepare_connection(s, access);
    if (access == SQL_READ &&
        ((code & 0xff) == SQLITE_CANTOPEN || (code & 0xff) == SQLITE_READONLY) &&
        file_is_there(where))
        code = open_unchanging(s, where);
    if (code == SQLITE_OK)
        return s;
    store_sqlite_fail(s->db, code, failure, err);
    sqlite3_close(s->db);
    free(s);
    return NULL;
}

static void sqlite_close(struct sql *s)
{
    sqlite3_close(s->db);
    free(s);
}

/* Parameters are named "$1", so the same one may stand twice, in any order. */
static int bind(sqlite3_stmt *st, const char *const *values, int nvalues)
{
    int code = SQLITE_OK;

    for (int i = 1; i <= sqlite3_bind_parameter_count(st) && code == SQLITE_OK; i++) {
        const char *name = sqlite3_bind_parameter_name(st, i);
        int n = name ? atoi(name + 1) : 0;

        if (n < 1 || n > nvalues)
            return SQLITE_MISUSE;
        if (values[n - 1])
            code = sqlite3_bind_text(st, i, values[n - 1], -1, SQLITE_STATIC);
    }
    return code;
}

static int give_row(sqlite3_stmt *st, sql_row *row, void *arg)
{
    int n = sqlite3_column_count(st);
    const char **cells = xcalloc((size_t)n + 1, sizeof(*cells));
    int r;

    for (int i = 0; i < n; i++)
        cells[i] = (const char *)sqlite3_column_text(st, i);
    r = row(arg, cells, n);
    free(cells);
    return r;
}

static int64_t sqlite_run(struct sql *s, const char *text, const char *const *values, int nvalues,
                          sql_row *row, void *arg, enum sql_failure *failure, struct error *err)
{
    sqlite3_stmt *st = NULL;
    int code = sqlite3_prepare_v2(s->db, text, -1, &st, NULL);
    bool stopped = false, reads = false;

    s->until = seconds_now() + STATEMENT_S + BUSY_MS / 1e3;
    if (code == SQLITE_OK)
        code = bind(st, values, nvalues);
    while (code == SQLITE_OK && !stopped) {
        code = sqlite3_step(st);
        if (code == SQLITE_ROW) {
            stopped = row && give_row(st, row, arg) != 0;
            code = SQLITE_OK;
        }
    }
    if (st)
        reads = sqlite3_stmt_readonly(st);
    if (code != SQLITE_DONE && !stopped)
        store_sqlite_fail(s->db, code, failure, err);
    sqlite3_finalize(st);
    if (stopped) {
        *failure = SQL_WRONG;
        return -1; /* the row function has set the error */
    }
    return code != SQLITE_DONE ? -1 : reads ? 0 : sqlite3_changes(s->db);
}

static int note_cell(void *arg, const char *const *cells, int n)
{
    (void)n;
    *(int *)arg = cells[0] ? atoi(cells[0]) : 0;
    return 0;
}

static int sqlite_has_table(struct sql *s, const char *name, enum sql_failure *failure,
                            struct error *err)
{
    int found = 0;

    if (sqlite_run(s, "SELECT count(*) FROM sqlite_master WHERE type='table' AND name=$1", &name, 1,
                   note_cell, &found, failure, err) < 0)
        return -1;
    return found > 0;
}

static int sqlite_is_used(struct sql *s, enum sql_failure *failure, struct error *err)
{
    int found = 0;

    if (sqlite_run(s, "SELECT count(*) FROM sqlite_master", NULL, 0, note_cell, &found, failure,
                   err) < 0)
        return -1;
    return found > 0;
}

static int check_row(void *arg, const char *const *cells, int n)
{
    (void)n;
    if (cells[0] && strcmp(cells[0], "ok") == 0)
        return 0;
    return error_set(arg, "%s", cells[0] ? cells[0] : "damaged");
}

static int sqlite_check(struct sql *s, struct error *err)
{
    enum sql_failure ignored;

    return sqlite_run(s, "PRAGMA integrity_check(1)", NULL, 0, check_row, err, &ignored, err) < 0
               ? -1
               : 0;
}

__attribute__((visibility("default"))) const struct sql_driver heddle_sql_sqlite = {
    .name = "SQLite",
    .begin = "BEGIN IMMEDIATE", /* else two readers that want to write wait for each other */
    .now = "CAST((julianday('now') - 2440587.5) * 86400000 AS BIGINT)",
    .open = sqlite_open,
    .close = sqlite_close,
    .run = sqlite_run,
    .has_table = sqlite_has_table,
    .is_used = sqlite_is_used,
    .check = sqlite_check,
};
