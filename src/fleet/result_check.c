/* result_check.c - is a result one that a run can have made?
 *
 * Results come from spools and stores that others may write to, and what is in them is shown in
 * pages, reports and terminals, compared, and given to programs. So each field is held against
 * what Heddle itself writes there; whatever is shown is escaped as well, where it is shown.
 */
#include "fleet/races.h"
#include "fleet/result.h"
#include "report/clean.h"

#include <inttypes.h>
#include <string.h>

/* Generous: what the compiler makes of templates is long, everything else is short. */
enum { NAME_BYTES = 1024, PATH_BYTES = 32768, SYMBOL_BYTES = 1 << 20, WORD_BYTES = 32 };
enum { SITE_DIGITS = 8 };

#define TIME_MAX   INT64_C(253402300799999) /* the year 9999 */
#define COUNT_MAX  (INT64_C(1) << 53)       /* what JSON's readers can hold */
#define HEX_DIGITS "0123456789abcdef"

bool fleet_is_id(const char *s)
{
    return s && strlen(s) == FLEET_ID_CHARS && strspn(s, HEX_DIGITS) == FLEET_ID_CHARS;
}

bool fleet_is_site(const char *s)
{
    uint64_t n = 0;
    const char *p;

    if (!s || strspn(s, HEX_DIGITS) != SITE_DIGITS || s[SITE_DIGITS] != ':')
        return false;
    p = s + SITE_DIGITS + 1;
    if (!*p || strlen(p) > 10)
        return false;
    for (; *p >= '0' && *p <= '9'; p++)
        n = n * 10 + (uint64_t)(*p - '0');
    return !*p && n <= UINT32_MAX;
}

/* 16 digits, and a number where several races have them. */
bool fleet_is_race_id(const char *s)
{
    size_t n = s ? strspn(s, HEX_DIGITS) : 0;

    if (n != 16)
        return false;
    return !s[n] || (s[n] == '-' && s[n + 1] && strlen(s + n + 1) <= 10 &&
                     strspn(s + n + 1, "0123456789") == strlen(s + n + 1));
}

static int check_text(const char *what, const char *s, size_t most, struct error *err)
{
    if (!s)
        return 0;
    if (strlen(s) > most)
        return error_set(err, "%s: longer than %zu bytes", what, most);
    if (!clean_is(s, strlen(s)))
        return error_set(err, "%s: has control characters", what);
    return 0;
}

static int check_site(const char *what, const char *s, struct error *err)
{
    return fleet_is_site(s) ? 0 : error_set(err, "%s: expected a site like '0123abcd:7'", what);
}

static int check_range(const char *what, int64_t n, int64_t most, struct error *err)
{
    return n >= 0 && n <= most
               ? 0
               : error_set(err, "%s: expected a number from 0 to %" PRId64, what, most);
}

static int check_head(const struct fleet_result *r, struct error *err)
{
    if (!fleet_is_id(r->run))
        return error_set(err, "run: expected 32 hex digits");
    if (!fleet_is_id(r->program))
        return error_set(err, "program: expected 32 hex digits");
    if (check_text("name", r->name, NAME_BYTES, err) < 0 ||
        check_text("path", r->path, PATH_BYTES, err) < 0 ||
        check_text("host", r->host, NAME_BYTES, err) < 0 ||
        check_text("note", r->note, PATH_BYTES, err) < 0)
        return -1;
    if (r->kind == FLEET_CHASE || r->s1 || r->s2) {
        if (check_site("s1", r->s1, err) < 0 || check_site("s2", r->s2, err) < 0)
            return -1;
    }
    if (check_range("pid", r->pid, INT32_MAX, err) < 0 ||
        check_range("started", r->started_ms, TIME_MAX, err) < 0 ||
        check_range("ended", r->ended_ms, TIME_MAX, err) < 0 ||
        check_range("exit", r->exit, 255, err) < 0)
        return -1;
    return check_range("dropped", (int64_t)r->dropped, COUNT_MAX, err);
}

static int check_sites(const struct fleet_result *r, struct error *err)
{
    for (size_t i = 0; i < r->nsites; i++) {
        const struct fleet_site *s = &r->sites[i];

        if (check_site("sites", s->name, err) < 0 ||
            check_text("sites", s->location, SYMBOL_BYTES, err) < 0 ||
            check_text("sites", s->function, SYMBOL_BYTES, err) < 0 ||
            check_text("sites", s->access, WORD_BYTES, err) < 0)
            return -1;
        if (s->group < -1 || s->group > INT32_MAX || s->lockgroup < -1 || s->lockgroup > INT32_MAX)
            return error_set(err, "sites: expected classes from -1 to %d", INT32_MAX);
    }
    for (size_t i = 0; i < r->nescaped; i++)
        if (check_site("escaped", r->escaped[i], err) < 0)
            return -1;
    return 0;
}

static int check_sightings(const struct fleet_result *r, struct error *err)
{
    for (size_t i = 0; i < r->nsightings; i++) {
        const struct fleet_sighting *g = &r->sightings[i];

        if (check_site("s1", g->s1, err) < 0 || check_site("s2", g->s2, err) < 0 ||
            check_range("number", g->number, INT32_MAX, err) < 0 ||
            check_range("count", (int64_t)g->count, COUNT_MAX, err) < 0 ||
            check_range("seen", g->seen_ms, TIME_MAX, err) < 0)
            return -1;
        if (!fleet_is_race_id(g->id))
            return error_set(err, "id: expected the fingerprint of a race, 16 hex digits");
        if (races_check(g->race, g->id, err) < 0)
            return error_prefix(err, "race");
    }
    return 0;
}

int fleet_result_check(const struct fleet_result *r, struct error *err)
{
    if (check_head(r, err) < 0 || check_sites(r, err) < 0)
        return -1;
    return check_sightings(r, err);
}
