/* record.c - heddle record: run a program and keep its trace */
#include "cmd/commands.h"
#include "cmd/common.h"
#include "cmd/recording.h"

int cmd_record(const struct options *o)
{
    struct recording r = { 0 };
    int code = recording_run(&r, o, o->texts[OPT_OUTPUT]);

    if (code == 0) {
        recording_says(&r, o->arguments[0]);
        code = r.code;
    }
    recording_release(&r);
    return code;
}
