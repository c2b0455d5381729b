/* analyze.c - heddle analyze: run engines over a trace and report */
#include "cmd/commands.h"
#include "cmd/mpi.h"
#include "cmd/noise.h"
#include "cmd/pipeline.h"

int cmd_analyze(const struct options *o)
{
    struct result r;
    int code = noise_check(o);

    if (code == 0)
        code = mpi_start(o);
    if (code == 0)
        code = result_analyse(&r, o, o->arguments[0]);
    mpi_finish(code == 0 && !option_is(o, OPT_QUIET));
    if (code)
        return code;
    code = result_show(&r, o, stdout);
    result_release(&r);
    return code;
}
