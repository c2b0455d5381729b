/* chase.c - heddle chase: catch a race of one pair of sites in the act (docs/design/production.md)
 *
 * The runtime does the work (runtime/production/chase_mode.c); here are the numbers of its budget.
 */
#include "cmd/commands.h"
#include "cmd/production/production_pair.h"

#include <time.h>

static int take_numbers(struct prod_control *c, const struct options *o)
{
    int code = take_max_overhead(o, &c->max_ppm);

    if (code)
        return code;
    if (!parse_duration(o->texts[OPT_DELAY], &c->delay_ns) || !c->delay_ns)
        return usage_error(o->command, "option '--delay' takes a time like '10ms', not '%s'",
                           o->texts[OPT_DELAY]);
    code = take_min_time(o, &c->least_ns);
    if (code)
        return code;
    c->seed = (uint32_t)o->numbers[OPT_SEED];
    c->flags = option_is(o, OPT_BOTH_ORDERS) ? CHASE_BOTH_ORDERS : 0;
    return 0;
}

/* The budget pays for us, too. */
static void charge_start(struct prod_control *c)
{
    struct timespec t = { 0 };

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    c->counter[CHASE_OWN_NS] = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void add_counters(struct findings *f, const struct prod_control *c)
{
    findings_add_counter(f, 0, "waits", c->waits);
    findings_add_counter(f, 0, "waited_us", c->waited_ns / 1000);
    findings_add_counter(f, 0, "late_us", c->counter[CHASE_LATE_NS] / 1000);
    findings_add_counter(f, 0, "own_us", c->counter[CHASE_OWN_NS] / 1000);
    findings_add_counter(f, 0, "ran_us", c->counter[CHASE_RAN_NS] / 1000);
    findings_add_counter(f, 0, "waits_met", c->counter[CHASE_MET]);
    findings_add_counter(f, 0, "waits_ended_by_signals", c->counter[CHASE_SIGNALS]);
    findings_add_counter(f, 0, "waits_without_place", c->counter[CHASE_NO_PLACE]);
    findings_add_counter(f, 0, "unpatched_hot", c->unpatched_hot);
    findings_add_counter(f, 0, "patched_on_demand", c->counter[CHASE_ON_DEMAND]);
}

/* Sampling never sees all there is; what it was to do, it did. */
static bool chase_is_complete(const struct prod_control *c)
{
    return c->unknown == 0;
}

static const struct pair_mode mode = { .mode = PROD_CHASE,
                                       .engine = "chase",
                                       .strength = STRENGTH_CONFIRMED,
                                       .numbers = take_numbers,
                                       .before = charge_start,
                                       .counters = add_counters,
                                       .complete = chase_is_complete,
                                       .may_lack_pair = true };

int cmd_chase(const struct options *o)
{
    struct prod_control unused = { 0 };
    int code = take_numbers(&unused, o);

    if (code)
        return code;
    if (option_is(o, OPT_PID))
        return pair_switch(&mode, o);
    if (option_is(o, OPT_STOP))
        return usage_error(o->command, "option '--stop' goes with '--pid'");
    return pair_run(&mode, o);
}
