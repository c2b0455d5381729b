/* hb.c - happens-before races, all pairs of concurrent last accesses (HBP)
 *
 * Unordered by HB is not yet a proof: only the first race of a trace is sure
 * to be possible. See shb.c for the order that is sound for every race.
 */
#include "engines/pairs.h"

static void *hb_engine_open(struct engine_result *result)
{
    return pairs_new(result, false);
}

static void hb_engine_steps(void *state, const struct span *span)
{
    pairs_steps(state, span);
}

static void hb_engine_finish(void *state)
{
    pairs_finish(state);
}

static void hb_engine_close(void *state)
{
    pairs_free(state);
}

const struct engine engine_hb = {
    .name = "hb",
    .summary = "happens-before races: every access against the concurrent last accesses",
    .proves = STRENGTH_MAYBE,
    .open = hb_engine_open,
    .steps = hb_engine_steps,
    .finish = hb_engine_finish,
    .close = hb_engine_close,
};
