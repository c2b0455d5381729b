/* reader.c - what a user of the trace library writes: prints a trace, one event a line */
#include <heddle-trace.h>
#include <heddle.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    char error[200];
    struct heddle_trace *t = heddle_trace_open(argc > 1 ? argv[1] : "", error, sizeof(error));
    struct heddle_trace_counts counts;
    struct heddle_event e;
    int r;

    HEDDLE_THREAD_NAME("reader");
    if (!t) {
        printf("error: %s\n", error);
        return 2;
    }
    while ((r = heddle_trace_next(t, &e, error, sizeof(error))) > 0)
        printf("%s %s(%s) at %s in %s\n", heddle_trace_thread(t, e.thread), e.op,
               heddle_trace_target(t, &e), heddle_trace_location(t, e.site),
               heddle_trace_function(t, e.site) ? heddle_trace_function(t, e.site) : "?");
    heddle_trace_count(t, &counts);
    printf("%d: %d events, %d threads, format %s\n", r, (int)counts.events, (int)counts.threads,
           heddle_trace_format(t));
    heddle_trace_close(t);
    if (r < 0)
        printf("error: %s\n", error);
    return r < 0 ? 2 : 0;
}
