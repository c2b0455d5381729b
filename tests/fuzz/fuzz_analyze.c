/* fuzz_analyze.c - any bytes through the whole way: format, source, check, numbering, engines
 *
 * The targets of the single parsers reach deeper into their formats; this one looks for traces
 * that parse and then break something behind the parser. A second pass must deliver the same
 * events as the first and diagnose nothing new.
 */
#include "engines/analysis.h"
#include "trace/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Engines keep state per variable and per thread; a few thousand events show what there is to
 * see and keep a run below a millisecond. */
enum { MAX_BYTES = 16384 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run_engines(struct trace *t)
{
    struct analysis a;
    struct error err;
    size_t n = 0;

    while (engine_registry[n])
        n++;
    if (!analysis_run(t, engine_registry, n, NULL, NULL, &a, &err))
        analysis_release(&a);
}

static void run_again(struct trace *t)
{
    uint64_t events = trace_info(t)->events, repaired = diags_repaired(trace_diags(t)), seen = 0;
    struct batch b;
    struct error err;
    int r;

    if (trace_rewind(t, &err) < 0)
        abort();
    while ((r = trace_next(t, &b, &err)) > 0)
        seen += b.count;
    if (r == 0 && (seen != events || diags_repaired(trace_diags(t)) != repaired))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct error err;
    struct trace *t;
    int fd;

    if (size > MAX_BYTES)
        return -1; /* not worth keeping */
    fd = memfd_create("trace", 0);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    t = trace_open(path, &err);
    if (t) {
        run_engines(t);
        run_again(t);
        trace_close(t);
    }
    close(fd);
    return 0;
}
