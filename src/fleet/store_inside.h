/* store_inside.h - what the files of the store share */
#ifndef HEDDLE_FLEET_STORE_INSIDE_H
#define HEDDLE_FLEET_STORE_INSIDE_H

#include <stdlib.h>

#include "fleet/store.h"

struct store {
    char *where; /* as given, for messages */
    const struct sql_driver *driver;
    struct sql *db; /* NULL: the connection is lost, a new one will be tried */
    enum sql_access access;
    enum sql_failure failure; /* of the last statement that failed */
    int patience_ms;
    struct intern skips; /* what was skipped, in words */
    uint64_t skipped;    /* beyond STORE_SKIPS */
    struct arena memory; /* of texts that had to be made clean */
};

enum { STORE_SKIPS = 1000 };

/* A row that is skipped; the same one is counted once. */
void store_skip(struct store *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A cell as it may be shown; lives as long as the store. NULL stays NULL. */
const char *store_clean(struct store *s, const char *cell);

/* Columns that are never NULL in a store of ours may be in another. */
static inline const char *cell_text(const char *cell)
{
    return cell ? cell : "";
}

static inline int64_t cell_number(const char *cell)
{
    return cell ? strtoll(cell, NULL, 10) : 0;
}

/* Never negative. */
static inline uint64_t cell_count(const char *cell)
{
    int64_t n = cell_number(cell);

    return n < 0 ? 0 : (uint64_t)n;
}

/* One statement. `types` has a letter for each value that follows: 's' text or NULL, 'i' int64_t.
 * The rows changed, or -1. `row` may be NULL. */
int64_t store_run_sql(struct store *s, struct error *err, sql_row *row, void *arg, const char *text,
                      const char *types, ...);

/* Do it all or nothing, again where others were in the way or the connection broke; so `body` may
 * run several times, and the last time may find its work done. Its result, or -1. */
typedef int store_body(struct store *s, void *arg, struct error *err);
int store_transact(struct store *s, store_body *body, void *arg, struct error *err);

/* Many rows with few statements: INSERT INTO ... VALUES (...), (...) ... */
struct store_bulk {
    struct store *store;
    const char *head, *tail; /* around the rows */
    int columns;
    const char **values; /* owned array; the texts are borrowed until bulk_end() */
    size_t count, cap;
};
int bulk_add(struct store_bulk *b, const char *const *row, struct error *err);
/* Send the rest (unless `code` says that something failed) and free; 0 or -1. */
int bulk_end(struct store_bulk *b, int code, struct error *err);

/* Make the program's row or touch it; until the end of the transaction others wait there. */
int store_lock_program(struct store *s, const struct fleet_result *r, struct error *err);
int64_t store_now(struct store *s, struct error *err); /* by the store's clock; -1 */

/* A pair's row has the sites in this order. */
struct store_order {
    const char *a, *b;
    int swapped;
};
struct store_order store_order(const char *s1, const char *s2);

/* Make rows of possible pairs: of those with a site that escaped first in `run`, or of all (NULL);
 * count them in the program's row. At most STORE_LISTED rows wait at a time (store_pairs.c). */
int store_list_pairs(struct store *s, const char *program, const char *run, struct error *err);

int store_migrate(struct store *s, struct error *err); /* store_schema.c */

#endif
