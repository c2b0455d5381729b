/* caper_show.h - the state of caper for people and scripts */
#ifndef HEDDLE_CMD_PRODUCTION_CAPER_SHOW_H
#define HEDDLE_CMD_PRODUCTION_CAPER_SHOW_H

#include <stdio.h>

#include "static/caper_state.h"
#include "symbol/linked.h"

/* How many executed accesses of all are at sites of these sets (the paper's Table 4). */
struct caper_shares {
    uint64_t all, in_static, in_dp;
};

struct caper_what {
    bool unseen;   /* the pairs that are only statically possible, too */
    uint64_t most; /* of each set; the numbers are said of all */
};
/* `l` names the sites and may be empty. The state is loaded (caper_state_load). */
void caper_show_text(const struct caper_state *s, const struct linked *l,
                     const struct caper_what *what, FILE *out);
void caper_show_json(const struct caper_state *s, const struct linked *l,
                     const struct caper_what *what, const struct caper_shares *shares, FILE *out);

/* Pairs one by one, for alias, too. */
struct emitter;
void caper_pair_text(const struct linked *l, const struct prod_site pair[2], FILE *out);
void caper_pair_json(const struct linked *l, const struct prod_site pair[2], struct emitter *e);

#endif
