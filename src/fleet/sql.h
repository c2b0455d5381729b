/* sql.h - the little that the store needs of a database
 *
 * Two drivers, each a module of its own (base/module.h), so that the command links neither
 * library: heddle-sqlite.so (store_sqlite.c) and heddle-postgres.so (store_postgres.c).
 * All SQL is in store*.c and is understood by both: parameters $1, $2 ..., ON CONFLICT,
 * RETURNING, partial indexes; types TEXT and BIGINT. Every value goes in and comes out as text.
 *
 * Ownership: a struct sql belongs to who opened it; cells live until the row function returns.
 * Concurrency: none; one connection, one thread.
 */
#ifndef HEDDLE_FLEET_SQL_H
#define HEDDLE_FLEET_SQL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct sql;

/* Called for each row; a cell is NULL for SQL's NULL. Not 0 stops, as a failure. */
typedef int sql_row(void *arg, const char *const *cells, int ncells);

enum sql_failure {
    SQL_WRONG, /* retrying cannot help: a mistake, no space, no right, a damaged file */
    SQL_BUSY,  /* others hold it, or won: the transaction may be tried again */
    SQL_GONE   /* the connection is lost; what was asked may or may not have been done */
};

enum sql_access { SQL_READ, SQL_WRITE, SQL_CREATE };

struct sql_driver {
    const char *name;
    const char *begin; /* of a transaction that will write */
    const char *now;   /* an expression: milliseconds since 1970 by the store's own clock */
    /* SQL_CREATE makes what is not there. NULL and an error; `failure` says of what kind. */
    struct sql *(*open)(const char *where, enum sql_access access, enum sql_failure *failure,
                        struct error *err);
    void (*close)(struct sql *db);
    /* One statement. The rows that it changed (of a SELECT: 0), or -1. `row` may be NULL. */
    int64_t (*run)(struct sql *db, const char *text, const char *const *values, int nvalues,
                   sql_row *row, void *arg, enum sql_failure *failure, struct error *err);
    /* Is this table there? 1, 0, or -1. */
    int (*has_table)(struct sql *db, const char *name, enum sql_failure *failure,
                     struct error *err);
    /* Whether anything else is there: somebody else's file. 1, 0, or -1. */
    int (*is_used)(struct sql *db, enum sql_failure *failure, struct error *err);
    /* Is the file whole? 0, or -1 and an error that says what is not. */
    int (*check)(struct sql *db, struct error *err);
};

/* What a module exports: "heddle_sql_sqlite", "heddle_sql_postgres". */

#endif
