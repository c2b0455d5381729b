/* record.c - heddle record: run a program and keep its trace */
#include "cmd/commands.h"
#include "base/plural.h"
#include "cmd/common.h"
#include "cmd/recording.h"
#include "report/recorded.h"

#include <inttypes.h>

/* A line about a trace, and what it says about its making into `f`. */
static void tell_trace(struct findings *f, const struct trace_file *file)
{
    struct error err;
    struct trace *t = trace_open(file->path, &err);
    struct findings one = { 0 };
    const struct process *p;
    const char *end;
    char text[64];

    if (!t) {
        warn("", "%s", err.text);
        return;
    }
    p = &trace_tables(t)->process;
    end = p->known ? process_end_text(p, text, sizeof(text)) : NULL;
    warn("", "'%s': %" PRIu64 " event%s%s%s%s%s", file->path, trace_info(t)->expected_events,
         plural(trace_info(t)->expected_events), p->command ? ", " : "",
         p->command ? p->command : "", end ? ", " : "", end ? end : "");
    findings_set_recording(&one, trace_tables(t));
    findings_join_recording(f, &one.trace.recording);
    findings_release(&one);
    trace_close(t);
}

static void record_tell(const struct recording *r)
{
    struct findings all = { 0 };

    for (size_t i = 0; i < r->traces.count; i++)
        tell_trace(&all, &r->traces.files[i]);
    recording_text(&all.trace.recording, stderr);
    findings_release(&all);
}

int cmd_record(const struct options *o)
{
    struct recording r = { 0 };
    int code = recording_run(&r, o, o->texts[OPT_OUTPUT], false);

    if (code == 0) {
        recording_says(&r, o->arguments[0]);
        if (option_is(o, OPT_VERBOSE))
            record_tell(&r);
        code = r.code;
    }
    recording_release(&r);
    return code;
}
