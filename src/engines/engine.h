/* engine.h - what every race detection engine implements
 *
 * Engines see the trace as steps (order/step.h): variables, objects and
 * threads are dense numbers, an access that covers several variables is
 * several steps. They never print, exit or open files: they put races into
 * the table and numbers into counters.
 *
 * To add an engine: one file with a `const struct engine engine_x`, one line
 * in registry.c.
 */
#ifndef HEDDLE_ENGINES_ENGINE_H
#define HEDDLE_ENGINES_ENGINE_H

#include <stdbool.h>

#include "engines/race.h"
#include "order/step.h"

struct counter {
    const char *name; /* static */
    uint64_t value;
};

enum { ENGINE_COUNTERS = 16 };

/* What an engine leaves behind. */
struct engine_result {
    struct race_table races;
    struct counter counters[ENGINE_COUNTERS];
    size_t ncounters;
    bool complete; /* false: stopped early, see counters */
};

void engine_count(struct engine_result *r, const char *name, uint64_t value);

struct engine {
    const char *name;
    const char *summary;  /* one line for `heddle help` */
    enum strength proves; /* strength of its races before any witness is checked */

    /* Called once before the first step; the result outlives the state. */
    void *(*open)(struct engine_result *result);
    /* Called with consecutive pieces of the trace. */
    void (*steps)(void *state, const struct span *span);
    /* Called once after the last step: what can only be decided at the end, and counters. */
    void (*finish)(void *state);
    /* Called last, also without finish(). */
    void (*close)(void *state);
};

extern const struct engine engine_fasttrack;
extern const struct engine engine_hb;
extern const struct engine engine_shb;
extern const struct engine engine_lockset;

/* All engines, in the order of their cost; ends with NULL. */
extern const struct engine *const engine_registry[];
const struct engine *engine_find(const char *name, size_t len);

#endif
