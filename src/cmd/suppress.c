/* suppress.c - heddle suppress: rules for races of a result
 *
 * A rule names the race by its id, which stays the same in every run; the
 * comment above it says what that is.
 */
#include "cmd/commands.h"
#include "cmd/noise.h"
#include "report/phrase.h"

static void print_rule(const struct findings *f, size_t i)
{
    struct buf b = { 0 };
    bool race = i < f->count;

    if (race)
        phrase_race(&b, &f->races[i]);
    else
        phrase_deadlock(&b, &f->deadlocks[i - f->count]);
    printf("# %s\nid:%s\n", b.data, race ? f->races[i].id : f->deadlocks[i - f->count].id);
    buf_release(&b);
}

int cmd_suppress(const struct options *o)
{
    struct findings f = { 0 };
    struct intern ids = { 0 };
    struct error err;
    int code = read_result_file(o->arguments[0], &f);

    findings_list_ids(&f, &ids);
    for (int i = 1; i < o->narguments && code == 0; i++) {
        size_t found = findings_find_in(&f, &ids, o->arguments[i], &err);

        if (found == SIZE_MAX)
            code = bad_input("%s", err.text);
        else
            print_rule(&f, found);
    }
    intern_release(&ids);
    findings_release(&f);
    return code;
}
