/* shb.c - schedulable happens-before races (SHBP)
 *
 * Mathur, Kini and Viswanathan 2018: a read is ordered after the write it
 * saw. Where the order of the trace is exact, every race it finds is
 * possible: observed.c builds the reordering that shows it.
 */
#include "engines/streaming/observed.h"
#include "engines/streaming/pairs.h"

static void *shb_engine_open(struct engine_result *result, const struct engine_options *options)
{
    (void)options;
    return pairs_new(result, true);
}

static int shb_decide(void *state, struct whole *whole, struct error *err)
{
    return observed_witnesses(whole, pairs_result(state), err);
}

const struct engine engine_shb = {
    .name = "shb",
    .summary = "schedulable happens-before: reads keep their writers, so every race can happen",
    .proves = STRENGTH_MAYBE,
    .sees_all = true,
    .follows = &engine_hb,
    .open = shb_engine_open,
    .steps = pairs_steps,
    .finish = pairs_finish,
    .decide = shb_decide,
    .close = pairs_free,
};
