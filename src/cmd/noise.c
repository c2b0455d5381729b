/* noise.c - findings that the user does not want to see */
#include "cmd/noise.h"

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

bool strength_fails(const struct options *o, enum strength s)
{
    enum strength weakest = STRENGTH_CONFIRMED;

    if (!o->texts[OPT_FAIL_ON])
        return true;
    while (strcmp(strength_names[weakest], o->texts[OPT_FAIL_ON]) != 0)
        weakest++;
    return s <= weakest;
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

static void leave_out_known(struct noise *n, struct findings *f)
{
    f->known = findings_subtract(f, &n->baseline);
    f->baseline = findings_string(f, n->baseline_path);
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
