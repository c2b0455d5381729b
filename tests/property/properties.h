/* properties.h - the relations of spec/model.md, each as a question to a trace */
#ifndef HEDDLE_PROPERTY_PROPERTIES_H
#define HEDDLE_PROPERTY_PROPERTIES_H

#include "subject.h"

enum verdict { HOLDS, VIOLATED, DOES_NOT_APPLY };

struct property {
    const char *name;
    /* Says in `why` what differs when violated. */
    enum verdict (*check)(struct subject *s, struct buf *why);
    unsigned every; /* costly ones look at one trace of so many; 0 and 1: at all */
};

extern const struct property properties[]; /* ends with a NULL name */

#endif
