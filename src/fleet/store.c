/* store.c - connections, statements, transactions that are tried again
 *
 * Two things go wrong with a database that others use: somebody else holds it, or the connection
 * breaks, and then nobody knows whether the last commit happened. Both end in doing the whole
 * transaction again; so every transaction of ours can be done twice (store_put.c, store_claim.c).
 */
#include "fleet/store.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/module.h"
#include "base/seconds.h"
#include "fleet/store_inside.h"
#include "report/clean.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* Pauses between tries: from a moment to a second, at random so that many do not come together. */
enum { PAUSE_FIRST_MS = 5, PAUSE_LAST_MS = 1000 };

bool store_is_server(const char *where)
{
    return strncmp(where, "postgres://", 11) == 0 || strncmp(where, "postgresql://", 13) == 0;
}

static void pause_before(int attempt)
{
    int most = attempt < 8 ? PAUSE_FIRST_MS << attempt : PAUSE_LAST_MS;
    unsigned dice = 0;
    int ms;

    (void)!getrandom(&dice, sizeof(dice), 0);
    ms = most / 2 + (int)(dice % (unsigned)(most / 2 + 1));
    usleep((useconds_t)ms * 1000);
}

/* ---- statements ---- */

enum { VALUES_MAX = 20, DIGITS = 24 };

int64_t store_run_sql(struct store *s, struct error *err, sql_row *row, void *arg, const char *text,
                      const char *types, ...)
{
    char digits[VALUES_MAX][DIGITS];
    const char *values[VALUES_MAX];
    int n = 0;
    va_list ap;

    va_start(ap, types);
    for (; types[n] && n < VALUES_MAX; n++) {
        if (types[n] == 's') {
            values[n] = va_arg(ap, const char *);
        } else {
            snprintf(digits[n], DIGITS, "%" PRId64, va_arg(ap, int64_t));
            values[n] = digits[n];
        }
    }
    va_end(ap);
    return s->driver->run(s->db, text, values, n, row, arg, &s->failure, err);
}

/* Values of one statement: below SQLite's limit of 32,766, and few enough to parse quickly. */
enum { BULK_VALUES = 1000 };

static char *bulk_text(const struct store_bulk *b)
{
    struct buf text = { 0 };

    buf_addstr(&text, b->head);
    for (size_t i = 0; i < b->count; i++)
        buf_addf(&text, "%s$%zu%s",
                 i % (size_t)b->columns ? ","
                 : i                    ? ",("
                                        : " (",
                 i + 1, (i + 1) % (size_t)b->columns ? "" : ")");
    buf_addstr(&text, b->tail);
    return buf_detach(&text);
}

static int bulk_send(struct store_bulk *b, struct error *err)
{
    char *text;
    int64_t r;

    if (!b->count)
        return 0;
    text = bulk_text(b);
    r = b->store->driver->run(b->store->db, text, b->values, (int)b->count, NULL, NULL,
                              &b->store->failure, err);
    free(text);
    b->count = 0;
    return r < 0 ? -1 : 0;
}

int bulk_add(struct store_bulk *b, const char *const *row, struct error *err)
{
    GROW(b->values, b->cap, b->count + (size_t)b->columns);
    for (int i = 0; i < b->columns; i++)
        b->values[b->count++] = row[i];
    return b->count + (size_t)b->columns > BULK_VALUES ? bulk_send(b, err) : 0;
}

int bulk_end(struct store_bulk *b, int code, struct error *err)
{
    if (code == 0)
        code = bulk_send(b, err);
    free(b->values);
    b->values = NULL;
    b->count = b->cap = 0;
    return code;
}

/* ---- transactions ---- */

static int connect_store(struct store *s, struct error *err)
{
    s->db = s->driver->open(s->where, s->access, &s->failure, err);
    return s->db ? 0 : -1;
}

static int attempt(struct store *s, store_body *body, void *arg, struct error *err)
{
    struct error ignored;
    enum sql_failure failure;
    int r;

    if (!s->db && connect_store(s, err) < 0)
        return -1;
    if (store_run_sql(s, err, NULL, NULL, s->driver->begin, "") < 0)
        return -1;
    r = body(s, arg, err);
    if (r >= 0 && store_run_sql(s, err, NULL, NULL, "COMMIT", "") >= 0)
        return r;
    failure = s->failure;
    if (failure != SQL_GONE) /* else nobody is there to listen */
        store_run_sql(s, &ignored, NULL, NULL, "ROLLBACK", "");
    s->failure = failure;
    return -1;
}

int store_transact(struct store *s, store_body *body, void *arg, struct error *err)
{
    double until = seconds_now() + s->patience_ms / 1e3; /* tries may take seconds: they count */

    for (int tries = 0;; tries++) {
        int r;

        s->failure = SQL_WRONG;
        r = attempt(s, body, arg, err);
        if (r >= 0 || s->failure == SQL_WRONG)
            return r;
        if (s->failure == SQL_GONE && s->db) {
            s->driver->close(s->db);
            s->db = NULL;
        }
        if (seconds_now() >= until)
            return -1;
        pause_before(tries);
    }
}

/* ---- opening ---- */

static const struct sql_driver *find_driver(const char *where, struct error *err)
{
    if (store_is_server(where))
        return module_symbol("postgres", "heddle_sql_postgres", err);
    return module_symbol("sqlite", "heddle_sql_sqlite", err);
}

char *store_shown(const char *where)
{
    const char *from = strstr(where, "://"), *at = from ? strchr(from, '@') : NULL;
    const char *colon = at ? memchr(from + 3, ':', (size_t)(at - from - 3)) : NULL;

    if (!store_is_server(where) || !colon)
        return xasprintf("%s", where);
    return xasprintf("%.*s%s", (int)(colon - where), where, at);
}

static int connect_patiently(struct store *s, struct error *err)
{
    double until = seconds_now() + s->patience_ms / 1e3; /* tries may take seconds: they count */

    for (int tries = 0;; tries++) {
        s->failure = SQL_WRONG;
        if (connect_store(s, err) == 0)
            return 0;
        if (s->failure == SQL_WRONG || seconds_now() >= until)
            return -1;
        pause_before(tries);
    }
}

struct store *store_open(const char *where, enum sql_access access, int patience_ms,
                         struct error *err)
{
    const struct sql_driver *driver = find_driver(where, err);
    struct store *s;
    char *name;

    if (!driver)
        return NULL;
    s = xcalloc(1, sizeof(*s));
    *s = (struct store){ .where = xasprintf("%s", where),
                         .driver = driver,
                         .access = access,
                         .patience_ms = patience_ms };
    if (connect_patiently(s, err) == 0 && store_migrate(s, err) == 0)
        return s;
    name = store_shown(where);
    error_prefix(err, "cannot open the store '%s'", name);
    free(name);
    store_close(s);
    return NULL;
}

void store_close(struct store *s)
{
    if (!s)
        return;
    if (s->db)
        s->driver->close(s->db);
    intern_release(&s->skips);
    arena_release(&s->memory);
    free(s->where);
    free(s);
}

int store_check(struct store *s, struct error *err)
{
    return s->driver->check(s->db, err);
}

/* ---- rows of others ---- */

enum { SKIP_BYTES = 300, CELL_BYTES = 32768 };

void store_skip(struct store *s, const char *fmt, ...)
{
    char text[SKIP_BYTES];
    struct buf b = { 0 };
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    clean_add(&b, text, strlen(text));
    if (s->skips.count < STORE_SKIPS)
        intern_put(&s->skips, b.data, b.len);
    else if (intern_find(&s->skips, b.data, b.len) == INTERN_NONE)
        s->skipped++;
    buf_release(&b);
}

uint64_t store_skipped(const struct store *s)
{
    return s->skips.count + s->skipped;
}

const char *store_skip_text(const struct store *s, size_t i)
{
    return i < s->skips.count ? intern_get(&s->skips, (uint32_t)i) : NULL;
}

const char *store_clean(struct store *s, const char *cell)
{
    size_t n = cell ? strlen(cell) : 0;
    struct buf b = { 0 };
    char *copy;

    if (!cell || (n <= CELL_BYTES && clean_is(cell, n)))
        return cell;
    clean_add(&b, cell, n < CELL_BYTES ? n : CELL_BYTES);
    copy = arena_alloc(&s->memory, b.len + 1);
    memcpy(copy, b.data, b.len);
    copy[b.len] = 0;
    buf_release(&b);
    return copy;
}

/* ---- shared by claims and puts ---- */

struct store_order store_order(const char *s1, const char *s2)
{
    if (!s1 || !s2)
        return (struct store_order){ NULL, NULL, 0 };
    if (strcmp(s1, s2) <= 0)
        return (struct store_order){ s1, s2, 0 };
    return (struct store_order){ s2, s1, 1 };
}

int store_lock_program(struct store *s, const struct fleet_result *r, struct error *err)
{
    return store_run_sql(s, err, NULL, NULL,
                         "INSERT INTO programs (id, name, path, touched) VALUES ($1, $2, $3, 1)"
                         " ON CONFLICT (id) DO UPDATE SET touched = programs.touched + 1",
                         "sss", r->program, r->name, r->path) < 0
               ? -1
               : 0;
}

static int note_number(void *arg, const char *const *cells, int n)
{
    (void)n;
    *(int64_t *)arg = cell_number(cells[0]);
    return 0;
}

int64_t store_now(struct store *s, struct error *err)
{
    char text[160];
    int64_t now = 0;

    snprintf(text, sizeof(text), "SELECT %s", s->driver->now);
    return store_run_sql(s, err, note_number, &now, text, "") < 0 ? -1 : now;
}
