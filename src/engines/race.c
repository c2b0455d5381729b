/* race.c - the table of racing site pairs */
#include "engines/race.h"
#include "base/alloc.h"
#include "base/assert.h"

#include <stdlib.h>

/* Racy loops report the same few pairs over and over; a direct-mapped cache of this many
 * entries answers them without touching the map. */
enum { RECENT = 256 };

const char *const strength_names[STRENGTH_COUNT] = { "confirmed",  "witnessed", "observed",
                                                     "guaranteed", "maybe",     "potential" };

void race_table_init(struct race_table *t)
{
    *t = (struct race_table){ 0 };
    t->recent = xcalloc(RECENT, sizeof(*t->recent));
}

void race_forget(struct race *r)
{
    for (size_t i = 0; i < r->nflips; i++)
        free(r->flips[i].events);
    free(r->flips);
    free(r->changes);
    free(r->witness);
    r->flips = NULL;
    r->changes = NULL;
    r->witness = NULL;
    r->nflips = r->nchanges = r->nwitness = 0;
    r->after = r->part = r->long_witness = 0;
    r->by_values = r->holds_with_calls = false;
}

void race_table_release(struct race_table *t)
{
    for (size_t i = 0; i < t->count; i++)
        race_forget(&t->races[i]);
    free(t->races);
    free(t->recent);
    map_release(&t->by_sites);
    *t = (struct race_table){ 0 };
}

/* Number of the race with these sites, which may be new; UINT32_MAX where the table is full. */
static uint32_t find_race(struct race_table *t, struct access earlier, struct access later,
                          enum strength strength)
{
    uint64_t pair = site_pair(earlier.site, later.site);
    uint32_t *index;

    if (t->count >= RACES_MAX) {
        index = map_get(&t->by_sites, pair);
        return index ? *index : UINT32_MAX;
    }
    index = map_put(&t->by_sites, pair, UINT32_MAX);
    if (*index == UINT32_MAX) {
        *index = (uint32_t)t->count;
        GROW(t->races, t->cap, t->count + 1);
        t->races[t->count++] =
            (struct race){ .first = earlier, .second = later, .strength = strength };
    }
    return *index;
}

void race_table_add(struct race_table *t, struct access earlier, struct access later,
                    enum strength strength)
{
    uint64_t pair = site_pair(earlier.site, later.site);
    uint32_t *recent = &t->recent[map_hash(pair) % RECENT];
    struct race *r;

    invariant(earlier.position <= later.position && strength < STRENGTH_COUNT);
    if (*recent >= t->count ||
        site_pair(t->races[*recent].first.site, t->races[*recent].second.site) != pair) {
        uint32_t found = find_race(t, earlier, later, strength);

        if (found == UINT32_MAX) {
            t->dropped++;
            return;
        }
        *recent = found;
    }
    r = &t->races[*recent];
    invariant(site_pair(r->first.site, r->second.site) == pair);
    if (strength < r->strength && !r->witness) {
        r->first = earlier;
        r->second = later;
        r->strength = strength;
    }
    if (r->count && r->last_first == earlier.position && r->last_second == later.position)
        return; /* another variable of the same two accesses */
    r->last_first = earlier.position;
    r->last_second = later.position;
    r->count++;
}

struct race *race_table_find(const struct race_table *t, uint32_t site, uint32_t other)
{
    const uint32_t *index = map_get(&t->by_sites, site_pair(site, other));

    return index ? &t->races[*index] : NULL;
}

void race_table_keep(struct race_table *t, bool (*keep)(void *arg, const struct race *r), void *arg)
{
    size_t kept = 0;

    map_clear(&t->by_sites);
    for (size_t i = 0; i < t->count; i++) {
        struct race *r = &t->races[i];

        if (!keep(arg, r)) {
            race_forget(r);
            continue;
        }
        *map_put(&t->by_sites, site_pair(r->first.site, r->second.site), 0) = (uint32_t)kept;
        t->races[kept++] = *r;
    }
    t->count = kept;
    invariant(t->by_sites.count == kept);
    for (size_t i = 0; i < RECENT; i++)
        t->recent[i] = UINT32_MAX;
}
