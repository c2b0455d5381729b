/* confirm_keep.c - the race.schedule of a confirmed race (docs/format/schedule.md) */
#include "cmd/common.h"
#include "cmd/confirm/confirm.h"
#include "cmd/confirm/schedule_make.h"

int confirm_keep(const struct confirmation *c, FILE *out)
{
    struct race_schedule s = { 0 };
    struct error err;
    struct trace *t = trace_open(c->trace, &err);
    int made = t ? schedule_make(&s, c->met, c->race, t, &err) : -1;

    if (made == 0)
        race_schedule_write(&s, out);
    trace_close(t);
    race_schedule_release(&s);
    return made < 0 ? bad_input("cannot write the schedule of race %s: %s", c->race->id, err.text)
                    : 0;
}
