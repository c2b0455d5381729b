/* prop_osr.c - osr between syncp and the exhaustive search */
#include "properties.h"

static enum verdict osr_races_are_predictable(struct subject *s, struct buf *why)
{
    if (!s->exact || !s->oracle.complete)
        return DOES_NOT_APPLY;
    return subset(subject_found(s, &engine_osr), &s->oracle.pairs,
                  "is a race of osr but not predictable", why);
}

static enum verdict osr_races_have_witnesses(struct subject *s, struct buf *why)
{
    return races_have_witnesses(s, &engine_osr, why);
}

static enum verdict syncp_races_are_osr_races(struct subject *s, struct buf *why)
{
    return subset(subject_found(s, &engine_syncp), subject_found(s, &engine_osr),
                  "is a race of syncp but not of osr", why);
}

const struct property properties_osr[] = {
    { "osr-races-are-predictable", osr_races_are_predictable, 1 },
    { "osr-races-have-witnesses", osr_races_have_witnesses, 1 },
    { "syncp-races-are-osr-races", syncp_races_are_osr_races, 1 },
    { NULL, NULL, 0 },
};
