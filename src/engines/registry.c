/* registry.c - the engines by name, in the order of their cost */
#include "engines/engine.h"
#include "base/assert.h"
#include "engines/whole.h"

#include <string.h>

const struct engine *const engine_registry[] = {
    &engine_fasttrack, &engine_hb,       &engine_shb,    &engine_lockset,
    &engine_sshb,      &engine_deadlock, &engine_syncp,  &engine_wcp,
    &engine_cp,        &engine_osr,      &engine_sb,     &engine_rdit,
    &engine_mc,        &engine_recipe_s, &engine_recipe, NULL,
};

const struct engine *engine_find(const char *name, size_t len)
{
    for (size_t i = 0; engine_registry[i]; i++)
        if (strlen(engine_registry[i]->name) == len && !memcmp(engine_registry[i]->name, name, len))
            return engine_registry[i];
    return NULL;
}

int engine_decide(const struct engine *engine, struct engine_result *result, struct whole *whole,
                  struct error *err)
{
    void *state = engine->open(result, whole_options(whole));
    int r = engine->decide(state, whole, err);

    invariant(!engine->steps && !engine->finish);
    engine->close(state);
    return r;
}

void engine_count(struct engine_result *r, const char *name, uint64_t value)
{
    for (size_t i = 0; i < r->ncounters; i++)
        if (strcmp(r->counters[i].name, name) == 0) {
            r->counters[i].value += value;
            return;
        }
    invariant(r->ncounters < ENGINE_COUNTERS);
    r->counters[r->ncounters++] = (struct counter){ name, value };
}

void engine_leave(struct engine_result *r, const char *name, uint64_t value)
{
    if (!value)
        return;
    engine_count(r, name, value);
    r->complete = false;
}
