/* check.c - heddle check: read everything, print what is odd */
#include "cmd/commands.h"
#include "base/plural.h"
#include "cmd/common.h"
#include "cmd/progress.h"

#include <inttypes.h>

static void print_diagnoses(const struct diags *d)
{
    uint64_t shown[DIAG_KINDS] = { 0 };

    for (size_t i = 0; i < d->count; i++) {
        const struct diag *one = &d->list[i];

        printf("event %" PRIu64 ": %s: %s\n", one->position,
               diag_level(one->kind) == DIAG_NOTE ? "note" : "repaired", one->text);
        shown[one->kind]++;
    }
    for (int k = 0; k < DIAG_KINDS; k++)
        if (d->total[k] > shown[k])
            printf("%" PRIu64 " more of the kind '%s'\n", d->total[k] - shown[k],
                   diag_kind_name((enum diag_kind)k));
}

static int check_trace(const struct operand *in, struct trace *t, void *arg)
{
    const struct trace_info *info = trace_info(t);
    struct progress progress;
    struct error err;
    struct batch b;
    uint64_t repaired;
    int r;

    (void)arg;
    progress_start(&progress, true, NULL);
    while ((r = progress_next(&progress, t, &b, &err)) > 0)
        ;
    print_diagnoses(trace_diags(t));
    if (r < 0)
        return operand_error(in, &err);
    repaired = diags_repaired(trace_diags(t));
    if (info->loss[0])
        printf("lost: %s\n", info->loss);
    printf("%s: %" PRIu64 " event%s, %" PRIu64 " repaired, %" PRIu64 " byte%s lost\n",
           repaired || info->loss[0] ? "faulty" : "sound", info->events, plural(info->events),
           repaired, info->lost_bytes, plural(info->lost_bytes));
    return repaired || info->loss[0] ? EXIT_BAD_INPUT : EXIT_NOTHING;
}

int cmd_check(const struct options *o)
{
    return with_trace(o->arguments[0], check_trace, NULL);
}
