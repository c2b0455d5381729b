/* hbpair.c - heddle litehb, heddle fullhb: happens-before for one pair of sites
 *
 * For comparison with chase only.
 *
 * The runtime does the work (runtime/production/hbpair_mode.c).
 */
#include "cmd/commands.h"
#include "cmd/production/production_pair.h"

static int take_numbers(struct prod_control *c, const struct options *o)
{
    (void)c;
    (void)o;
    return 0;
}

static void add_counters(struct findings *f, const struct prod_control *c)
{
    findings_add_counter(f, 0, "synchronisations", c->counter[HB_SYNCS]);
    findings_add_counter(f, 0, "atomics", c->counter[HB_ATOMICS]);
    findings_add_counter(f, 0, "starts", c->counter[HB_STARTS]);
    findings_add_counter(f, 0, "tracked_us", c->counter[HB_TRACKED_NS] / 1000);
    findings_add_counter(f, 0, "forgotten", c->counter[HB_FORGOT]);
    findings_add_counter(f, 0, "threads_not_tracked", c->counter[HB_NO_THREAD]);
    findings_add_counter(f, 0, "most_accesses_kept", c->counter[HB_CELLS_MOST]);
    findings_add_counter(f, 0, "most_objects_kept", c->counter[HB_OBJECTS_MOST]);
}

static bool hbpair_is_complete(const struct prod_control *c)
{
    return c->unknown == 0 && c->counter[HB_FORGOT] == 0 && c->counter[HB_NO_THREAD] == 0;
}

static int hbpair_run(const struct options *o, enum prod_mode_kind kind, const char *name)
{
    const struct pair_mode mode = { .mode = kind,
                                    .engine = name,
                                    .strength = STRENGTH_MAYBE,
                                    .numbers = take_numbers,
                                    .counters = add_counters,
                                    .complete = hbpair_is_complete };

    return pair_run(&mode, o);
}

int cmd_litehb(const struct options *o)
{
    return hbpair_run(o, PROD_LITEHB, "litehb");
}

int cmd_fullhb(const struct options *o)
{
    return hbpair_run(o, PROD_FULLHB, "fullhb");
}
