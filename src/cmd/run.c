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

#include <inttypes.h>

/* The code of the whole: races, our trouble, else the program's own. */
static int final_code(const struct options *o, int code, int program_code)
{
    if (code == EXIT_RACES)
        return (int)o->numbers[OPT_ERROR_EXITCODE];
    return code == EXIT_NOTHING ? program_code : code;
}

static int analyse(const struct recording *rec, const struct options *o)
{
    struct result r;
    int code = result_analyse_all(&r, o, rec->directory, &rec->traces);

    if (code)
        return code;
    code = result_show(&r, o, stderr);
    result_release(&r);
    return code;
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
    code = recording_run(&r, o, o->texts[OPT_TRACE]);
    if (code == 0 && !recording_says(&r, o->arguments[0]))
        code = EXIT_BAD_INPUT;
    else if (code == 0)
        code = final_code(o, analyse(&r, o), r.code);
    recording_release(&r);
    return code;
}
