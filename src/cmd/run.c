/* run.c - heddle run: record a program, analyse what was recorded, report
 *
 * The report goes to standard error: standard output is the program's.
 */
#include "cmd/choice.h"
#include "cmd/commands.h"
#include "cmd/exclusion.h"
#include "cmd/noise.h"
#include "cmd/pipeline.h"
#include "cmd/recording.h"
#include "report/json.h"

#include "base/buf.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

/* The code of the whole: races, our trouble, else the program's own. */
static int final_code(const struct options *o, int code, int program_code)
{
    if (code == EXIT_RACES)
        return (int)o->numbers[OPT_ERROR_EXITCODE];
    return code == EXIT_NOTHING ? program_code : code;
}

/* Without its folders. */
static const char *program_name(const struct options *o)
{
    const char *slash = strrchr(o->arguments[0], '/');

    return slash ? slash + 1 : o->arguments[0];
}

/* The test's name: as the user says, else the program with its arguments. */
static const char *test_name(struct findings *f, const struct options *o)
{
    struct buf b = { 0 };
    const char *name;

    if (o->texts[OPT_TEST] || !o->texts[OPT_SAVE])
        return findings_string(f, o->texts[OPT_TEST]);
    buf_addstr(&b, program_name(o));
    for (int i = 1; i < o->narguments && b.len < 200; i++)
        buf_addf(&b, " %s", o->arguments[i]);
    name = findings_string(f, b.data);
    buf_release(&b);
    return name;
}

/* A name in the directory that no other run has: tests run side by side. */
static void name_file(struct buf *path, const struct options *o, pid_t pid)
{
    const char *where = o->texts[OPT_SAVE];

    buf_addstr(path, where);
    if (where[0] && where[strlen(where) - 1] == '/')
        buf_addf(path, "%s-%ld.json", program_name(o), (long)pid);
}

static int save(const struct result *r, const struct options *o, pid_t pid)
{
    struct buf path = { 0 };
    struct outfile out;
    int code = 0;

    if (!o->texts[OPT_SAVE])
        return 0;
    name_file(&path, o, pid);
    if (strcmp(path.data, o->texts[OPT_SAVE]) != 0 && mkdir(o->texts[OPT_SAVE], 0777) < 0 &&
        errno != EEXIST)
        code = own_failure("cannot make '%s': %s", o->texts[OPT_SAVE], strerror(errno));
    if (code == 0)
        code = outfile_open(&out, path.data, stdout);
    if (code == 0) {
        json_write(&r->findings, out.file);
        code = outfile_close(&out, true);
    }
    buf_release(&path);
    return code;
}

/* Of the run: what prediction may cost. */
#define EFFORT_PART  0.25
#define EFFORT_LEAST 1.0

static bool run_is_complete(const struct findings *f)
{
    bool complete = true;

    for (size_t i = 0; i < f->nengines; i++)
        complete &= f->engines[i].complete;
    return complete;
}

/* What was left undecided is in the report. */
static void say_budget(const struct findings *f, const char *seconds, const struct recording *rec)
{
    if (!run_is_complete(f))
        warn("note",
             "prediction was limited to %s s of work; 'heddle analyze --effort thorough %s' has no "
             "limit",
             seconds, rec->directory);
}

/* The options of the analysis: `seconds` becomes the budget where the user names none. */
static struct options with_budget(const struct options *o, const struct recording *rec,
                                  char seconds[32])
{
    double part = rec->seconds * EFFORT_PART;
    struct options with = *o;

    snprintf(seconds, 32, "%.1f", part > EFFORT_LEAST ? part : EFFORT_LEAST);
    if (strcmp(o->texts[OPT_EFFORT], EFFORT_AUTO) == 0)
        with.texts[OPT_EFFORT] = seconds;
    return with;
}

static int run_analyse(const struct recording *rec, const struct options *given)
{
    char seconds[32];
    struct options with = with_budget(given, rec, seconds);
    const struct options *o = &with;
    struct result r;
    int code = result_analyse_all(&r, o, rec->directory, &rec->traces), failed;

    if (code)
        return code;
    if (o->texts[OPT_EFFORT] == seconds && !option_is(o, OPT_QUIET))
        say_budget(&r.findings, seconds, rec);
    r.findings.test = test_name(&r.findings, o);
    if (option_is(o, OPT_CONFIRM))
        code = confirm_findings(&r.findings, o,
                                o->numbers[OPT_CONFIRM] ? o->numbers[OPT_CONFIRM] : CONFIRM_RACES);
    if (code) {
        result_release(&r);
        return code;
    }
    code = result_show(&r, o, stderr);
    failed = save(&r, o, rec->pid);
    result_release(&r);
    return failed ? failed : code;
}

/* What was told of a part that was dropped is in no report. */
static int with_told(const struct recording *rec, const struct options *o, int code)
{
    if (code != EXIT_NOTHING || !rec->told || !option_is(o, OPT_LAST))
        return code;
    warn("note", "%zu race%s told above %s in the part that was dropped (--last)", rec->told,
         rec->told == 1 ? "" : "s", rec->told == 1 ? "is" : "are");
    return EXIT_RACES;
}

/* Everything that can be wrong with the command line is said before the program runs. */
static int check_options(const struct options *o)
{
    struct choice unused;
    int code;

    if (o->numbers[OPT_ERROR_EXITCODE] > 255)
        return usage_error(o->command, "option '--error-exitcode' takes 0 to 255, not '%s'",
                           o->texts[OPT_ERROR_EXITCODE]);
    code = choice_make(&unused, o);
    if (code == 0)
        code = exclusion_check(o);
    return code ? code : noise_check(o);
}

int cmd_run(const struct options *o)
{
    struct recording r = { 0 };
    int code = check_options(o);

    if (code)
        return code;
    code = recording_run(&r, o, o->texts[OPT_TRACE], true);
    if (code == 0 && !recording_says(&r, o->arguments[0]))
        code = EXIT_BAD_INPUT;
    else if (code == 0)
        code = final_code(o, with_told(&r, o, run_analyse(&r, o)), r.code);
    recording_release(&r);
    return code;
}
