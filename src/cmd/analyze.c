/* analyze.c - heddle analyze: run engines over a trace and report */
#include "cmd/commands.h"
#include "cmd/pipeline.h"

int cmd_analyze(const struct options *o)
{
    struct result r;
    int code = result_analyse(&r, o, o->arguments[0]);

    if (code)
        return code;
    code = result_show(&r, o, stdout);
    result_release(&r);
    return code;
}
