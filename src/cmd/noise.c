/* noise.c - findings that the user does not want to see */
#include "cmd/noise.h"

#include <stdlib.h>
#include <string.h>

int read_result_file(const char *path, struct findings *f)
{
    struct operand in;
    int code = operand_open(&in, path);

    if (code)
        return code;
    if (operand_is_result(&in))
        code = operand_read_result(&in, f);
    else
        code = bad_input("'%s' is no result (of 'heddle analyze --format json')", path);
    operand_close(&in);
    return code;
}

int noise_load(struct noise *n, const struct options *o)
{
    const struct option_list *files = &o->lists[OPT_SUPPRESSIONS];
    struct error err;

    *n = (struct noise){ .baseline_path = o->texts[OPT_BASELINE] };
    for (size_t i = 0; i < files->count; i++)
        if (suppressions_read(&n->rules, files->texts[i], &err))
            return bad_input("%s", err.text);
    return n->baseline_path ? read_result_file(n->baseline_path, &n->baseline) : 0;
}

static bool is_known(const struct noise *n, const char *id)
{
    for (size_t i = 0; i < n->baseline.count; i++)
        if (strcmp(n->baseline.races[i].id, id) == 0)
            return true;
    for (size_t i = 0; i < n->baseline.ndeadlocks; i++)
        if (strcmp(n->baseline.deadlocks[i].id, id) == 0)
            return true;
    return false;
}

static void leave_out_known(const struct noise *n, struct findings *f)
{
    size_t races = 0, deadlocks = 0;

    for (size_t i = 0; i < f->count; i++) {
        if (is_known(n, f->races[i].id))
            free(f->races[i].witness);
        else
            f->races[races++] = f->races[i];
    }
    for (size_t i = 0; i < f->ndeadlocks; i++) {
        if (is_known(n, f->deadlocks[i].id))
            free(f->deadlocks[i].witness);
        else
            f->deadlocks[deadlocks++] = f->deadlocks[i];
    }
    f->known = f->count - races + f->ndeadlocks - deadlocks;
    f->baseline = findings_string(f, n->baseline_path);
    f->count = races;
    f->ndeadlocks = deadlocks;
    findings_recount(f);
}

void noise_apply(struct noise *n, struct findings *f)
{
    if (n->rules.count)
        suppressions_apply(&n->rules, f);
    if (n->baseline_path)
        leave_out_known(n, f);
}

void noise_release(struct noise *n)
{
    suppressions_release(&n->rules);
    findings_release(&n->baseline);
}

int noise_check(const struct options *o)
{
    struct noise n;
    int code = noise_load(&n, o);

    noise_release(&n);
    return code;
}
