/* production_pair.c - watch one pair of sites in a program
 *
 * Between the command and the start of the program lies as little as possible: the tables of the
 * program's files are read when something needs them, that is where a side of the pair is named
 * by a place, or for a report of what was seen.
 */
#include "cmd/production/production_pair.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "cmd/noise.h"
#include "cmd/pipeline.h"
#include "cmd/production/production_findings.h"
#include "cmd/site_quick.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How long a program may take to see that its pair is another. */
enum { PATIENCE_MS = 2000 };

struct pair {
    struct linked files; /* once they are opened */
    bool opened;
    struct site_list sites[2];
};

static void pair_release(struct pair *p)
{
    site_list_release(&p->sites[0]);
    site_list_release(&p->sites[1]);
    linked_release(&p->files);
}

/* ---- the files that have the sites ---- */

static int add_objects(struct pair *p, const struct options *o)
{
    const struct option_list *l = &o->lists[OPT_OBJECT];
    struct error err;

    for (size_t i = 0; i < l->count; i++)
        if (linked_add(&p->files, l->texts[i], true, &err) < 0)
            return bad_input("%s", err.text);
    return 0;
}

/* A script has no sites; then --object names what it runs. */
static int open_files(struct pair *p, const struct options *o, const char *program)
{
    struct error err;

    if (p->opened)
        return 0;
    p->opened = true;
    if (linked_open(&p->files, program, true, &err) < 0 && !o->lists[OPT_OBJECT].count)
        return bad_input("%s", err.text);
    return add_objects(p, o);
}

/* ---- the pair ---- */

/* "RESULT.json#RACE": the locations of a race that was found elsewhere. Owned by the caller. */
static int pair_of_result(const char *text, char **pair)
{
    const char *hash = strrchr(text, '#');
    char *path = xstrndup(text, (size_t)(hash - text));
    struct findings f = { 0 };
    struct error err;
    int code = read_result_file(path, &f);
    size_t i = code ? SIZE_MAX : findings_find(&f, hash + 1, &err);

    if (code == 0 && i == SIZE_MAX)
        code = bad_input("%s", err.text);
    else if (code == 0 && i >= f.count)
        code = bad_input("'%s' is a deadlock, not a race", hash + 1);
    else if (code == 0)
        *pair = xasprintf("%s,%s", f.races[i].sides[0].location, f.races[i].sides[1].location);
    findings_release(&f);
    free(path);
    return code;
}

static int parse_pair(struct pair *p, const char *text)
{
    struct error err;

    if (site_pair_parse(&p->files, text, p->sites, &err) < 0)
        return bad_input("%s", err.text);
    for (int k = 0; k < 2; k++)
        if (p->sites[k].count > PROD_SITES_MAX)
            return bad_input("a side of the pair has %zu sites, which is more than %d: name a "
                             "column or one site",
                             p->sites[k].count, PROD_SITES_MAX);
    return 0;
}

/* The pair that --pair names, if it is there. */
static int find_pair(struct pair *p, const struct options *o, const char *program)
{
    const char *text = o->texts[OPT_PAIR];
    char *pair = NULL;
    int code = 0;

    if (!option_is(o, OPT_PAIR) || site_pair_quick(program, text, p->sites))
        return 0;
    code = open_files(p, o, program);
    if (code == 0 && strchr(text, '#'))
        code = pair_of_result(text, &pair);
    if (code == 0)
        code = parse_pair(p, pair ? pair : text);
    free(pair);
    return code;
}

static void set_sites(struct prod_control *c, const struct pair *p)
{
    for (int k = 0; k < 2; k++) {
        c->nsites[k] = (uint32_t)p->sites[k].count;
        if (c->nsites[k])
            memcpy(c->site[k], p->sites[k].at, c->nsites[k] * sizeof(*c->site[k]));
    }
}

/* ---- while it runs: -v says at once what is seen ---- */

struct teller {
    const struct prod_control *control;
    const struct options *options;
    const char *program;
    struct pair *pair;
    uint32_t told;
};

static void production_pair_tell(void *arg)
{
    struct teller *t = arg;
    const struct prod_control *c = t->control;

    while (t->told < PROD_SIGHTINGS_MAX &&
           __atomic_load_n(&c->sighting[t->told].ready, __ATOMIC_ACQUIRE)) {
        const struct prod_sighting *s = &c->sighting[t->told++];
        struct buf b = { 0 };

        open_files(t->pair, t->options, t->program);
        site_phrase_add(&b, &t->pair->files, &s->side[0].name);
        buf_addstr(&b, " and ");
        site_phrase_add(&b, &t->pair->files, &s->side[1].name);
        warn("", "process %d: race seen: %s", (int)s->pid, b.data);
        buf_release(&b);
    }
}

/* ---- afterwards ---- */

static int production_pair_show(const struct pair_mode *m, const struct options *o,
                                const struct production *run, struct pair *p, const char *program)
{
    struct result r = { .from = { .spool = -1 } };
    struct sighting_report about = {
        .program = o->arguments[0],
        .engine = m->engine,
        .strength = m->strength,
        .seconds = run->seconds,
        .complete = m->complete(run->control),
        .files = &p->files,
    };
    int code;

    if (run->control->sightings) /* else there is nothing to explain */
        open_files(p, o, program);
    production_findings(&r.findings, run->control, &about);
    findings_add_counter(&r.findings, 0, "hits_s1", run->control->hits[0]);
    findings_add_counter(&r.findings, 0, "hits_s2", run->control->hits[1]);
    m->counters(&r.findings, run->control);
    if (run->control->sightings_lost)
        findings_add_counter(&r.findings, 0, "sightings_lost", run->control->sightings_lost);
    code = result_show(&r, o, stderr);
    result_release(&r);
    if (code == EXIT_RACES)
        return (int)o->numbers[OPT_ERROR_EXITCODE];
    return code == EXIT_NOTHING ? run->code : code;
}

static int run_program(const struct pair_mode *m, const struct options *o, struct pair *p,
                       const char *program)
{
    struct production run;
    struct teller t = { .options = o, .program = program, .pair = p };
    int code = production_open(&run, m->mode, 0);

    if (code)
        return code;
    code = m->numbers(run.control, o);
    if (code == 0) {
        set_sites(run.control, p);
        run.control->disposable = 1;
        if (m->before)
            m->before(run.control);
        t.control = run.control;
        code = production_run(&run, o->arguments,
                              option_is(o, OPT_VERBOSE) ? production_pair_tell : NULL, &t);
    }
    if (code == 0)
        code = production_says(&run, o->arguments[0]) ? production_pair_show(m, o, &run, p, program)
                                                      : EXIT_BAD_INPUT;
    production_close(&run);
    return code;
}

static int check_options(const struct pair_mode *m, const struct options *o)
{
    if (o->numbers[OPT_ERROR_EXITCODE] > 255)
        return usage_error(o->command, "option '--error-exitcode' takes 0 to 255, not '%s'",
                           o->texts[OPT_ERROR_EXITCODE]);
    if (o->narguments == 0)
        return usage_error(o->command, "a program is missing");
    if (!option_is(o, OPT_PAIR) && !m->may_lack_pair)
        return usage_error(o->command, "option '--pair' is missing");
    return noise_check(o);
}

int pair_run(const struct pair_mode *m, const struct options *o)
{
    struct pair p = { 0 };
    char *program;
    int code = check_options(m, o);

    if (code)
        return code;
    program = program_find(o->arguments[0]);
    if (!program) {
        own_failure("cannot run '%s': no such program", o->arguments[0]);
        return EXIT_NOT_FOUND;
    }
    code = find_pair(&p, o, program);
    if (code == 0)
        code = run_program(m, o, &p, program);
    free(program);
    pair_release(&p);
    return code;
}

/* ---- a program that runs ---- */

struct change {
    const struct pair_mode *mode;
    const struct options *options;
    const struct pair *pair;
};

/* Without a pair (--stop) the numbers stay as they are; they were checked before. */
static void production_pair_fill(struct prod_control *c, void *arg)
{
    const struct change *to = arg;

    if (option_is(to->options, OPT_PAIR))
        to->mode->numbers(c, to->options);
    set_sites(c, to->pair);
}

static int production_pair_change(const struct pair_mode *m, const struct options *o,
                                  struct production *run, const struct pair *p)
{
    struct change to = { m, o, p };
    int pid = (int)run->pid;

    if (run->control->mode != (uint32_t)m->mode)
        return bad_input("process %d does not run under 'heddle %s'", pid, o->command->name);
    if (!production_change(run, production_pair_fill, &to, PATIENCE_MS)) {
        if (production_has_ended(run))
            return bad_input("process %d has ended before it took up the change", pid);
        warn("note", "process %d has not taken it up yet: it has no threads, or is stopped", pid);
    } else if (run->control->unknown) {
        warn("note", "%" PRIu32 " of the sites are in no module that process %d has loaded",
             run->control->unknown, pid);
    }
    return 0;
}

static int switch_process(const struct pair_mode *m, const struct options *o, pid_t pid)
{
    char *exe = xasprintf("/proc/%d/exe", (int)pid);
    struct production run;
    struct pair p = { 0 };
    int code = production_attach(&run, pid);

    if (code == 0) {
        code = find_pair(&p, o, exe);
        if (code == 0)
            code = production_pair_change(m, o, &run, &p);
        production_close(&run);
    }
    pair_release(&p);
    free(exe);
    return code;
}

int pair_switch(const struct pair_mode *m, const struct options *o)
{
    if (o->narguments)
        return usage_error(o->command, "with '--pid' no program is started");
    if (option_is(o, OPT_PAIR) == option_is(o, OPT_STOP))
        return usage_error(o->command, "with '--pid' goes either '--pair' or '--stop'");
    if (o->numbers[OPT_PID] == 0 || o->numbers[OPT_PID] > INT32_MAX)
        return usage_error(o->command, "there is no process '%s'", o->texts[OPT_PID]);
    return switch_process(m, o, (pid_t)o->numbers[OPT_PID]);
}
