/* shb.c - schedulable happens-before races (SHBP)
 *
 * Mathur, Kini and Viswanathan 2018: a read is ordered after the write it
 * saw. Where the order of the trace is exact, every race it finds is
 * possible: analysis_witness() builds the reordering that shows it.
 */
#include "engines/pairs.h"

static void *shb_engine_open(struct engine_result *result)
{
    return pairs_new(result, true);
}

const struct engine engine_shb = {
    .name = "shb",
    .summary = "schedulable happens-before: reads keep their writers, so every race is possible",
    .proves = STRENGTH_MAYBE,
    .open = shb_engine_open,
    .steps = pairs_steps,
    .finish = pairs_finish,
    .close = pairs_free,
};
