/* store_postgres.c - the store in a PostgreSQL database; module heddle-postgres.so
 *
 * The tables are in a schema of their own, "heddle". A run that is killed takes its connection
 * with it, and the server undoes what it had not committed. Two runs of one program wait for each
 * other at the program's row; everything else runs side by side.
 *
 * No statement waits for ever: locks are waited for LOCK_SECONDS (then the transaction is tried
 * again), and a server that has said nothing for ANSWER_MS counts as gone. libpq itself bounds only
 * the connecting.
 */
#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "fleet/sql.h"

struct sql {
    PGconn *conn;
};

/* A server that does not answer is not there. */
#define CONNECT_SECONDS "5"
/* As long as SQLite waits for other writers (store_sqlite.c). */
#define LOCK_SECONDS "20"
/* Longer than a lock is waited for, and than any statement of ours takes. */
enum { ANSWER_MS = 60000 };

static void no_notice(void *arg, const PGresult *r)
{
    (void)arg;
    (void)r;
}

/* Messages of the library end with a newline, and may have several lines. */
static int set_text(struct error *err, const char *text)
{
    char line[512];

    snprintf(line, sizeof(line), "%s", text && *text ? text : "no answer");
    line[strcspn(line, "\n")] = 0;
    return error_set(err, "%s", strncmp(line, "ERROR:  ", 8) == 0 ? line + 8 : line);
}

static enum sql_failure failure_of(PGconn *conn, const PGresult *r)
{
    const char *state = r ? PQresultErrorField(r, PG_DIAG_SQLSTATE) : NULL;

    if (PQstatus(conn) != CONNECTION_OK || (state && strncmp(state, "57P", 3) == 0))
        return SQL_GONE; /* the last: the server is being shut down */
    /* Lost against another transaction: serialization, deadlock, two that created the same. */
    if (state &&
        (strncmp(state, "40", 2) == 0 || strcmp(state, "55P03") == 0 ||
         strcmp(state, "23505") == 0 || strcmp(state, "42P06") == 0 || strcmp(state, "42P07") == 0))
        return SQL_BUSY;
    return SQL_WRONG;
}

/* Until there is an answer, or everything is sent; false: neither, for too long. */
static bool await(PGconn *conn, bool sending)
{
    struct pollfd p = { .fd = PQsocket(conn), .events = POLLIN };
    int r;

    if (sending)
        p.events |= POLLOUT;
    do
        r = poll(&p, 1, ANSWER_MS);
    while (r < 0 && errno == EINTR);
    return r > 0;
}

static bool send_all(PGconn *conn)
{
    int left;

    while ((left = PQflush(conn)) > 0)
        if (!await(conn, true) || !PQconsumeInput(conn))
            return false;
    return left == 0;
}

/* Like PQexecParams(), but not for ever: NULL where nothing came. */
static PGresult *exec(PGconn *conn, const char *text, const char *const *values, int nvalues)
{
    PGresult *last = NULL, *r;

    if (!PQsendQueryParams(conn, text, nvalues, NULL, values, NULL, NULL, 0) || !send_all(conn))
        return NULL;
    for (;;) {
        while (PQisBusy(conn))
            if (!await(conn, false) || !PQconsumeInput(conn)) {
                PQclear(last);
                return NULL;
            }
        r = PQgetResult(conn);
        if (!r)
            return last;
        PQclear(last);
        last = r;
    }
}

static int64_t postgres_run(struct sql *s, const char *text, const char *const *values, int nvalues,
                            sql_row *row, void *arg, enum sql_failure *failure, struct error *err)
{
    PGresult *r = exec(s->conn, text, values, nvalues);
    ExecStatusType status = PQresultStatus(r);
    int64_t changed = -1;

    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) {
        const char *command = PQcmdStatus(r);

        changed = strncmp(command, "SELECT", 6) == 0 ? 0 : atoll(PQcmdTuples(r));
    } else {
        *failure = r ? failure_of(s->conn, r) : SQL_GONE;
        set_text(err, r ? PQresultErrorMessage(r) : PQerrorMessage(s->conn));
    }
    for (int i = 0; row && changed >= 0 && i < PQntuples(r); i++) {
        int n = PQnfields(r);
        const char **cells = xcalloc((size_t)n + 1, sizeof(*cells));

        for (int j = 0; j < n; j++)
            cells[j] = PQgetisnull(r, i, j) ? NULL : PQgetvalue(r, i, j);
        if (row(arg, cells, n) != 0) {
            *failure = SQL_WRONG;
            changed = -1;
        }
        free(cells);
    }
    PQclear(r);
    return changed;
}

static int note_cell(void *arg, const char *const *cells, int n)
{
    (void)n;
    *(int *)arg = cells[0] ? atoi(cells[0]) : 0;
    return 0;
}

static int count(struct sql *s, const char *text, const char *value, enum sql_failure *failure,
                 struct error *err)
{
    int found = 0;

    if (postgres_run(s, text, &value, value ? 1 : 0, note_cell, &found, failure, err) < 0)
        return -1;
    return found > 0;
}

/* The schema is made by who creates the store; a missing one shows as missing tables. */
static int prepare_connection(struct sql *s, enum sql_access access, enum sql_failure *failure,
                              struct error *err)
{
    int there =
        count(s, "SELECT count(*) FROM pg_namespace WHERE nspname='heddle'", NULL, failure, err);

    if (there < 0)
        return -1;
    if (!there && access == SQL_CREATE &&
        postgres_run(s, "CREATE SCHEMA IF NOT EXISTS heddle", NULL, 0, NULL, NULL, failure, err) <
            0 &&
        *failure != SQL_BUSY) /* another run made it */
        return -1;
    if (postgres_run(s, "SET lock_timeout='" LOCK_SECONDS "s'", NULL, 0, NULL, NULL, failure, err) <
        0)
        return -1;
    return postgres_run(s, "SET search_path=heddle", NULL, 0, NULL, NULL, failure, err) < 0 ? -1
                                                                                            : 0;
}

static struct sql *postgres_open(const char *where, enum sql_access access,
                                 enum sql_failure *failure, struct error *err)
{
    const char *keys[] = { "connect_timeout", "application_name", "dbname", NULL };
    const char *values[] = { CONNECT_SECONDS, "heddle", where, NULL };
    struct sql *s = xcalloc(1, sizeof(*s));

    s->conn = PQconnectdbParams(keys, values, 1); /* what the URL says goes before ours */
    if (s->conn && PQstatus(s->conn) == CONNECTION_OK) {
        PQsetNoticeReceiver(s->conn, no_notice, NULL);
        PQsetnonblocking(s->conn, 1); /* sending must not wait for ever, either */
        if (prepare_connection(s, access, failure, err) == 0)
            return s;
    } else {
        *failure = SQL_GONE;
        set_text(err, s->conn ? PQerrorMessage(s->conn) : "out of memory");
    }
    PQfinish(s->conn);
    free(s);
    return NULL;
}

static void postgres_close(struct sql *s)
{
    PQfinish(s->conn);
    free(s);
}

static int postgres_has_table(struct sql *s, const char *name, enum sql_failure *failure,
                              struct error *err)
{
    return count(s, "SELECT count(*) FROM pg_tables WHERE schemaname='heddle' AND tablename=$1",
                 name, failure, err);
}

/* The schema is ours alone. */
static int postgres_is_used(struct sql *s, enum sql_failure *failure, struct error *err)
{
    return count(s, "SELECT count(*) FROM pg_tables WHERE schemaname='heddle'", NULL, failure, err);
}

/* The server looks after its files; what can be read is whole. */
static int postgres_check(struct sql *s, struct error *err)
{
    enum sql_failure ignored;

    return count(s, "SELECT count(*) FROM meta", NULL, &ignored, err) < 0 ? -1 : 0;
}

__attribute__((visibility("default"))) const struct sql_driver heddle_sql_postgres = {
    .name = "PostgreSQL",
    .begin = "BEGIN",
    .now = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)",
    .open = postgres_open,
    .close = postgres_close,
    .run = postgres_run,
    .has_table = postgres_has_table,
    .is_used = postgres_is_used,
    .check = postgres_check,
};
