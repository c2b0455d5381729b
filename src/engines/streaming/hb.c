/* hb.c - happens-before races, all pairs of concurrent last accesses (HBP)
 *
 * Unordered by HB is not yet a proof: only the first race of a trace is sure
 * to be possible. See shb.c for the order that is sound for every race.
 */
#include "engines/streaming/pairs.h"

static void *hb_engine_open(struct engine_result *result, const struct engine_options *options)
{
    (void)options;
    return pairs_new(result, false);
}

const struct engine engine_hb = {
    .name = "hb",
    .summary = "happens-before races: each access against the concurrent last accesses",
    .proves = STRENGTH_MAYBE,
    .sees_all = true,
    .open = hb_engine_open,
    .steps = pairs_steps,
    .finish = pairs_finish,
    .close = pairs_free,
};
