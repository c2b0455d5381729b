/* report.c - heddle report: render a result again; a trace is analysed first */
#include "cmd/commands.h"
#include "cmd/noise.h"
#include "cmd/pipeline.h"

int cmd_report(const struct options *o)
{
    struct result r;
    int code = noise_check(o);

    if (code == 0)
        code = result_load_all(&r, o, o->arguments, o->narguments);
    if (code)
        return code;
    code = result_show(&r, o, stdout);
    result_release(&r);
    return code;
}
