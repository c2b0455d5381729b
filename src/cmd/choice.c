/* choice.c - which engines run, and how: from the command line to engine options
 *
 * Without --engine the cascade runs: all engines but those that others of it
 * contain or that only over-approximate (engine.on_request), in the order of
 * their cost. Later ones need not decide again what earlier ones have shown.
 */
#include "cmd/choice.h"
#include "base/module.h"
#include "cmd/mpi.h"
#include "engines/predict/backend.h"
#include "engines/effort.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* For decide() of all engines together, in the work of so many seconds. Quick is for editors and
 * commit hooks. */
enum { EFFORT_QUICK = 10, EFFORT_NORMAL = 60, EFFORT_MAX = 1000000000 };

static int unknown_engine(const struct options *o, const char *name, size_t len)
{
    char known[512] = "";

    for (size_t i = 0; engine_registry[i]; i++) {
        size_t used = strlen(known);

        snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "",
                 engine_registry[i]->name);
    }
    return usage_error(o->command, "unknown engine '%.*s'; there are %s and 'all'", (int)len, name,
                       known);
}

static bool is_all(const char *name, size_t len)
{
    return len == 3 && memcmp(name, "all", 3) == 0;
}

static int check_names(const struct options *o)
{
    for (const char *p = o->texts[OPT_ENGINE]; p; p++) {
        size_t n = strcspn(p, ",");

        if (!is_all(p, n) && !engine_find(p, n))
            return unknown_engine(o, p, n);
        p += n;
        if (!*p)
            break;
    }
    return 0;
}

static bool names_engine(const char *list, const struct engine *e)
{
    for (const char *p = list;; p++) {
        size_t n = strcspn(p, ",");

        if (is_all(p, n) || engine_find(p, n) == e)
            return true;
        p += n;
        if (!*p)
            return false;
    }
}

/* quick, normal, thorough or a number of seconds. */
static bool parse_effort(const char *text, uint64_t *work)
{
    double seconds;
    char *end;

    if (strcmp(text, "quick") == 0 || strcmp(text, "normal") == 0) {
        *work = (uint64_t)UNITS_A_SECOND * (*text == 'q' ? EFFORT_QUICK : EFFORT_NORMAL);
        return true;
    }
    if (strcmp(text, "thorough") == 0) {
        *work = 0;
        return true;
    }
    seconds = strtod(text, &end);
    *work = seconds < EFFORT_MAX ? (uint64_t)(seconds * UNITS_A_SECOND) + 1 : 0;
    return ((*text >= '0' && *text <= '9') || *text == '.') && !*end && seconds > 0;
}

/* The options are checked before the run has told how long it takes. */
static bool waits_for_run(const struct options *o)
{
    return strcmp(o->command->name, "run") == 0 && strcmp(o->texts[OPT_EFFORT], EFFORT_AUTO) == 0;
}

static unsigned count_jobs(const struct options *o)
{
    if (option_is(o, OPT_JOBS))
        return o->numbers[OPT_JOBS] < 1024 ? (unsigned)o->numbers[OPT_JOBS] : 1024;
    return mpi_processors();
}

/* Another solver than our own is a module, loaded when it is asked for. */
static int load_solver(struct engine_options *e, const struct options *o)
{
    const char *name = o->texts[OPT_SOLVER];
    struct error err;

    if (!name || strcmp(name, "own") == 0)
        return 0;
    e->solver = module_symbol("z3", "heddle_backend_z3", &err);
    if (e->solver && strcmp(e->solver->version, HEDDLE_VERSION))
        return own_failure("cannot use solver '%s': it belongs to heddle %s", name,
                           e->solver->version);
    return e->solver ? 0 : own_failure("cannot use solver '%s': %s", name, err.text);
}

static int make_options(struct engine_options *e, const struct options *o)
{
    *e = (struct engine_options){
        .all = option_is(o, OPT_ALL),
        .no_witness = option_is(o, OPT_NO_WITNESS),
        .cascade = !option_is(o, OPT_ENGINE),
        .window = o->numbers[OPT_WINDOW],
        .part = o->numbers[OPT_PART],
        .memory = o->numbers[OPT_MEMORY],
        .max_witness = o->numbers[OPT_MAX_WITNESS],
        .jobs = count_jobs(o),
        .crew = mpi_crew(),
    };
    if (option_is(o, OPT_ALL) && option_is(o, OPT_SOUND))
        return usage_error(o->command, "options '--all' and '--sound' exclude each other");
    if (!e->jobs)
        return usage_error(o->command, "option '--jobs' takes 1 or more");
    if (!waits_for_run(o) && !parse_effort(o->texts[OPT_EFFORT], &e->work))
        return usage_error(o->command,
                           "option '--effort' takes quick, normal, thorough or seconds, not '%s'",
                           o->texts[OPT_EFFORT]);
    return load_solver(e, o);
}

/* Accesses that cannot matter are left out where every engine agrees. */
static bool wants_sieve(const struct choice *c)
{
    bool all = false;

    for (size_t i = 0; i < c->count; i++)
        all |= c->engines[i]->sees_all;
    return c->options.cascade || !all;
}

int choice_make(struct choice *c, const struct options *o)
{
    const char *list = o->texts[OPT_ENGINE];
    int code = check_names(o);

    c->count = 0;
    for (size_t i = 0; engine_registry[i]; i++)
        if (list ? names_engine(list, engine_registry[i]) : !engine_registry[i]->on_request)
            c->engines[c->count++] = engine_registry[i];
    if (code == 0)
        code = make_options(&c->options, o);
    c->options.sieve = wants_sieve(c);
    return code;
}
