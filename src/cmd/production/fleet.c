/* fleet.c - heddle fleet: the loop static -> caper -> chase -> confirmed races over many runs
 *
 * This file: which store, and the commands that only look or copy. `run` is fleet_run.c, `serve`
 * fleet_serve.c.
 */
#include "cmd/production/fleet.h"
#include "base/alloc.h"
#include "cmd/commands.h"
#include "cmd/noise.h"
#include "cmd/pipeline.h"
#include "fleet/races.h"
#include "fleet/spool.h"
#include "fleet/status.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <xxhash.h>

#define DEFAULT_STORE "heddle-fleet.db"

enum { PATIENCE_MS = 5000 };

/* ---- where ---- */

/* Beside a file; for a server where programs of this user keep what they keep. */
static char *default_spool(const char *where)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    uint32_t h = (uint32_t)XXH3_64bits(where, strlen(where));

    if (!store_is_server(where))
        return xasprintf("%s.spool", where);
    if (state && *state)
        return xasprintf("%s/heddle/fleet-%08" PRIx32, state, h);
    if (home && *home)
        return xasprintf("%s/.local/state/heddle/fleet-%08" PRIx32, home, h);
    return xasprintf("/tmp/heddle-fleet-%d-%08" PRIx32, (int)getuid(), h);
}

void fleet_place_init(struct fleet_place *p, const struct options *o)
{
    const char *env = getenv("HEDDLE_FLEET_STORE"), *spool = o->texts[OPT_SPOOL];

    p->where = o->texts[OPT_STORE];
    if (!p->where)
        p->where = env && *env ? env : DEFAULT_STORE;
    p->shown = store_shown(p->where);
    p->spool = spool ? xasprintf("%s", spool) : default_spool(p->where);
}

void fleet_place_release(struct fleet_place *p)
{
    free(p->shown);
    free(p->spool);
}

void fleet_say(const struct fleet_job *j, const char *fmt, ...)
{
    char text[1200] = "s"; /* the letter of such a message (fleet_beside.c) */
    va_list ap;

    if (!option_is(j->o, OPT_VERBOSE))
        return;
    va_start(ap, fmt);
    vsnprintf(text + 1, sizeof(text) - 1, fmt, ap);
    va_end(ap);
    if (j->talk < 0)
        warn("fleet", "%s", text + 1);
    else
        (void)!send(j->talk, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* ---- commands that have the store ---- */

struct context {
    const struct options *o;
    const struct fleet_place *place;
    struct store *store;
    enum sql_access access;
    struct status_about about;
};

typedef int action(struct context *c);

/* Rows of the store that were passed over. */
static void say_skipped(const struct context *c)
{
    enum { NAMED = 10 };
    const char *text;
    uint64_t n = store_skipped(c->store);

    for (size_t i = 0; i < NAMED && (text = store_skip_text(c->store, i)); i++)
        warn("warning", "skipped: %s", text);
    if (n > NAMED)
        warn("warning", "skipped: %" PRIu64 " more", n - NAMED);
}

static int with_store(const struct options *o, enum sql_access access, action *act)
{
    struct fleet_place place;
    struct error err;
    struct context c = { .o = o, .place = &place, .access = access };
    int code;

    fleet_place_init(&place, o);
    c.about = (struct status_about){ .store = place.shown,
                                     .program = o->narguments > 1 ? o->arguments[1] : NULL,
                                     .spooled = spool_count(place.spool) };
    c.store = store_open(place.where, access, PATIENCE_MS, &err);
    code = c.store ? act(&c) : bad_input("%s", err.text);
    if (c.store)
        say_skipped(&c);
    store_close(c.store);
    fleet_place_release(&place);
    return code;
}

static int wrong(const struct context *c, const struct error *err)
{
    if (c->access == SQL_READ) /* it is damaged */
        return bad_input("'%s': %s", c->about.store, err->text);
    return own_failure("'%s': %s", c->about.store, err->text);
}

/* With a program: its pairs are made now, not by its first run. */
static int init(struct context *c)
{
    struct fleet_job j = { .o = c->o, .store = c->store, .talk = -1, .lease_ms = STORE_LEASE_MS };
    struct error err;
    int code = EXIT_NOTHING;

    if (c->o->narguments < 2)
        return EXIT_NOTHING;
    j.place = *c->place;
    j.path = program_find(c->o->arguments[1]);
    if (!j.path)
        return bad_input("cannot find '%s'", c->o->arguments[1]);
    if (spool_make(j.place.spool, &err) < 0 || linked_open(&j.linked, j.path, true, &err) < 0) {
        free(j.path);
        return bad_input("%s", err.text);
    }
    fleet_new_result(&j);
    j.result.kind = FLEET_STATIC;
    if (fleet_analyse(&j) < 0)
        code = own_failure("the pairs of '%s' cannot be put into '%s'", j.path, c->about.store);
    else if (j.result.note)
        code = bad_input("'%s': %s", j.path, j.result.note);
    linked_release(&j.linked);
    fleet_result_release(&j.result);
    free(j.path);
    return code;
}

static int status(struct context *c)
{
    struct outfile out;
    const char *format = c->o->texts[OPT_FORMAT];
    struct error err;
    int code, n;

    if (strcmp(format, "json") != 0 && strcmp(format, "text") != 0)
        return usage_error(c->o->command, "'fleet status' is text or json, not '%s'", format);
    code = outfile_open(&out, c->o->texts[OPT_OUTPUT], stdout);
    if (code)
        return code;
    if (strcmp(format, "json") == 0)
        n = status_json(c->store, &c->about, out.file, &err);
    else
        n = status_text(c->store, &c->about, out.file, &err);
    code = outfile_close(&out, n >= 0);
    if (n < 0)
        return wrong(c, &err);
    if (code == 0 && n == 0 && c->about.program)
        return bad_input("'%s' has no program '%s'", c->about.store, c->about.program);
    return code;
}

static int races(struct context *c)
{
    struct result r = { .from = { .spool = -1 } };
    struct error err;
    int code;

    if (races_load(c->store, &c->about, &r.findings, &err) < 0)
        return wrong(c, &err);
    code = result_show(&r, c->o, stdout);
    result_release(&r);
    return code;
}

static int export(struct context *c)
{
    struct outfile out;
    struct error err;
    int code = outfile_open(&out, c->o->texts[OPT_OUTPUT], stdout), r;

    if (code)
        return code;
    r = store_export(c->store, out.file, &err);
    code = outfile_close(&out, r >= 0);
    return r < 0 ? wrong(c, &err) : code;
}

struct importing {
    struct context *c;
    const char *path;
    uint64_t put[2], refused;
};

/* What is no result is refused, and the others are still taken; -1: the store takes nothing. */
static int import_line(struct importing *m, size_t number, const char *line, size_t n)
{
    enum { NAMED = 10 };
    struct fleet_result r = { 0 };
    struct error err;
    int done;

    if (fleet_result_read(&r, line, n, &err) < 0) {
        if (m->refused++ < NAMED)
            bad_input("cannot read '%s': line %zu: %s", m->path, number, err.text);
        return 0;
    }
    done = store_put(m->c->store, &r, &err);
    fleet_result_release(&r);
    if (done < 0) {
        wrong(m->c, &err);
        return -1;
    }
    m->put[done]++;
    return 0;
}

static int import_file(struct importing *m)
{
    FILE *in = strcmp(m->path, "-") == 0 ? stdin : fopen(m->path, "re");
    char *line = NULL;
    size_t cap = 0, number = 0;
    ssize_t n;
    int code = 0;

    if (!in)
        return bad_input("cannot read '%s': %s", m->path, strerror(errno));
    while (code == 0 && (n = getline(&line, &cap, in)) > 0)
        code = import_line(m, ++number, line, (size_t)n);
    if (code == 0 && ferror(in))
        code = bad_input("cannot read '%s': %s", m->path, strerror(errno));
    if (in != stdin)
        fclose(in);
    free(line);
    return code < 0 ? EXIT_OWN_FAILURE : code;
}

static int import(struct context *c)
{
    struct importing m = { .c = c };
    int code = 0;

    if (c->o->narguments < 2)
        return usage_error(c->o->command, "a file is missing");
    for (int i = 1; i < c->o->narguments && code == 0; i++) {
        m.path = c->o->arguments[i];
        code = import_file(&m);
    }
    if (m.refused)
        bad_input("%" PRIu64 " results imported, %" PRIu64 " were there, %" PRIu64 " refused",
                  m.put[1], m.put[0], m.refused);
    else if (!option_is(c->o, OPT_QUIET) && (code == 0 || m.put[1]))
        warn("", "%" PRIu64 " results imported, %" PRIu64 " were there", m.put[1], m.put[0]);
    return code ? code : m.refused ? EXIT_BAD_INPUT : EXIT_NOTHING;
}

static int fleet_check(struct context *c)
{
    struct spool_counts counts = { 0 };
    struct error err = { { 0 } };

    if (store_check(c->store, &err) < 0)
        return bad_input("'%s' is damaged: %s", c->about.store, err.text);
    spool_flush(c->place->spool, c->store, &counts, &err);
    if (counts.failed)
        return wrong(c, &err);
    if (counts.put || counts.bad)
        warn("", "%" PRIu64 " results of the spool were put, %" PRIu64 " are unreadable",
             counts.put, counts.bad);
    return counts.bad ? EXIT_BAD_INPUT : EXIT_NOTHING;
}

int cmd_fleet(const struct options *o)
{
    static const struct {
        const char *name;
        enum sql_access access;
        action *act;
        int most; /* arguments, its own name included */
    } list[] = { { "init", SQL_CREATE, init, 2 },      { "status", SQL_READ, status, 2 },
                 { "races", SQL_READ, races, 2 },      { "export", SQL_READ, export, 1 },
                 { "import", SQL_CREATE, import, -1 }, { "check", SQL_WRITE, fleet_check, 1 } };
    const char *name = o->arguments[0];

    if (strcmp(name, "run") == 0)
        return cmd_fleet_run(o);
    if (strcmp(name, "serve") == 0)
        return fleet_serve(o);
    for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
        if (strcmp(name, list[i].name) != 0)
            continue;
        if (list[i].most > 0 && o->narguments > list[i].most)
            return usage_error(o->command, "too many arguments: '%s'", o->arguments[list[i].most]);
        return with_store(o, list[i].access, list[i].act);
    }
    return usage_error(o->command, "unknown 'fleet %s'", name);
}
