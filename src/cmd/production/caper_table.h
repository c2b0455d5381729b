/* caper_table.h - the control file of caper and alias runs, and its table (abi/rt_caper.h)
 *
 * The file of a caper run stands beside the state (production_open_at), held by the command that
 * runs the program. What is found there and held by nobody is left over from a command that was
 * killed: the next one merges it.
 */
#ifndef HEDDLE_CMD_PRODUCTION_CAPER_TABLE_H
#define HEDDLE_CMD_PRODUCTION_CAPER_TABLE_H

#include "abi/rt_caper.h"
#include "cmd/production/production.h"
#include "static/caper_state.h"
#include "symbol/linked.h"

enum { TABLE_NEW_MODULES = 1024, TABLE_NEW_BYTES = 4 << 20, TABLE_PAIRS = 1 << 20 };

static inline struct caper_table *table_of(const struct production *p)
{
    return (struct caper_table *)(void *)(p->control + 1);
}

/* What a table needs for all modules of these files. */
size_t caper_table_bytes(const struct linked *l, uint32_t flags, bool pairs);
/* Fill it: `wanted` says of a site 0, or CAPER_WANTED and more. */
void caper_table_fill(struct caper_table *t, size_t bytes, const struct linked *l, uint32_t flags,
                      bool pairs,
                      uint8_t (*wanted)(const uint64_t id[2], uint32_t index, void *arg),
                      void *arg);
/* Is it complete, and all in it in its place? */
bool caper_table_check(const struct caper_table *t, size_t bytes);

/* How long a state that another process has locked is waited for, before the program starts and
 * after it has ended: a change takes milliseconds, and the program should not wait for more. */
enum { CAPER_START_MS = 300, CAPER_END_MS = 1000 };

/* Puts what was seen into the state; the number of new sites in *fresh. `after` and CAPER_LOCKED:
 * as in caper_state_change(), and then nothing is said. */
int caper_control_merge(const struct production *p, const char *state, const struct linked *l,
                        int patience_ms, struct caper_state *after, uint64_t *fresh);
/* Removes it, unless processes still write there. */
void caper_control_close(struct production *p);
/* Merges what earlier commands left behind; how many files. 0, or CAPER_LOCKED. */
int caper_control_collect(const char *state, unsigned *merged);

#endif
