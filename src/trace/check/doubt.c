/* doubt.c - is all synchronisation of an execution in its trace, and in its order? */
#include "trace/trace.h"

#include <string.h>

/* What the runtime says where it cannot record synchronisation (runtime/core/image.c, sandbox.c).
 */
static bool is_gap(const char *note)
{
    return strstr(note, "synchronise is not seen") ||
           strstr(note, "nothing more of this thread is recorded");
}

static bool has_gaps(const struct process *p)
{
    if (p->numbers[PROCESS_LATE] || p->numbers[PROCESS_DAMAGED] || p->numbers[PROCESS_DROPPED])
        return true;
    for (size_t i = 0; i < p->nnotes; i++)
        if (is_gap(p->notes[i]))
            return true;
    return false;
}

const char *trace_doubt(const struct trace *t)
{
    const struct trace_info *info = trace_info(t);

    if (info->order == TRACE_UNKNOWN)
        return "the order of synchronisation in this recording is not known for sure";
    if (info->loss[0])
        return "a part of the recording was lost, and synchronisation may have been in it";
    if (diags_unsure(trace_diags(t)))
        return "the recording has impossible events, so synchronisation may be missing from it";
    if (has_gaps(&trace_tables(t)->process))
        return "some synchronisation was not recorded, as the notes and numbers above say";
    return NULL;
}
