/* production_pair.h - watch one pair of sites in a program: what chase, litehb and fullhb share
 *
 * Finds the sites that the user names, runs the program (or changes one that runs), and reports
 * what was seen as `heddle run` does.
 */
#ifndef HEDDLE_CMD_PRODUCTION_PRODUCTION_PAIR_H
#define HEDDLE_CMD_PRODUCTION_PRODUCTION_PAIR_H

#include "cmd/common.h"
#include "cmd/production/production.h"
#include "cmd/site_name.h"

/* The command. */
struct pair_mode {
    enum prod_mode_kind mode;
    const char *engine;
    enum strength strength;
    /* Numbers of the command's own options; 0, or the exit code after a message. */
    int (*numbers)(struct prod_control *c, const struct options *o);
    void (*before)(struct prod_control *c); /* right before the program starts; may be NULL */
    void (*counters)(struct findings *f, const struct prod_control *c);
    bool (*complete)(const struct prod_control *c);
    bool may_lack_pair; /* a program may run without one, to be given one later (--pid) */
};

/* The exit code: 66 (or --error-exitcode) if the pair was seen, else the program's own. */
int pair_run(const struct pair_mode *m, const struct options *o);
/* Give a process that runs under the same mode another pair, or none (--stop). */
int pair_switch(const struct pair_mode *m, const struct options *o);

#endif
