/* hbpair_stack.c - the call stacks of kept accesses, each kept once
 *
 * A kept access may be reported long after it was made, so it needs its stack. A thread mostly
 * comes by the same way again: the last stack it had is compared first, without a lock.
 */
#include "runtime/production/hbpair.h"

#include <string.h>

enum { STACKS = 1 << 13, STACK_BUCKETS = 1 << 14 };

struct stack {
    uint64_t hash;
    uint32_t n;
    uint64_t frame[PROD_FRAMES_MAX];
};

static struct stack *stacks; /* [0] is not used */
static uint16_t *buckets;
static struct pair_mutex stack_lock;
static uint32_t nstacks;

static _Thread_local struct {
    uint64_t hash;
    uint32_t number;
} last __attribute__((tls_model("initial-exec")));

/* Equal hashes are taken for equal stacks: 64 bits, and what hangs on it is a text. */
static uint32_t hbpair_stack_find(const uint64_t *frames, uint32_t n, uint64_t hash)
{
    uint32_t at, found;

    pair_mutex_lock(&stack_lock);
    at = hash % STACK_BUCKETS;
    while (buckets[at] && stacks[buckets[at]].hash != hash)
        at = (at + 1) % STACK_BUCKETS;
    found = buckets[at];
    if (!found && nstacks + 1 < STACKS) {
        found = ++nstacks;
        stacks[found].hash = hash;
        stacks[found].n = n;
        memcpy(stacks[found].frame, frames, n * sizeof(*frames));
        buckets[at] = (uint16_t)found;
    }
    pair_mutex_unlock(&stack_lock);
    return found;
}

uint32_t hb_stack_of(const struct prod_hit *h)
{
    uint64_t frames[PROD_FRAMES_MAX], hash;
    uint32_t n = prod_backtrace(h, frames, PROD_FRAMES_MAX);

    hash = n;
    for (uint32_t i = 0; i < n; i++)
        hash = hb_hash(hash ^ frames[i]) + i;
    if (last.hash != hash || !last.number) {
        last.number = hbpair_stack_find(frames, n, hash);
        last.hash = hash;
    }
    return last.number;
}

uint32_t hb_stack_get(uint32_t stack, uint64_t *frames, uint32_t room)
{
    uint32_t n = stack ? stacks[stack].n : 0;

    n = n < room ? n : room;
    memcpy(frames, stacks[stack].frame, n * sizeof(*frames));
    return n;
}

bool hb_stacks_init(void)
{
    stack_lock.state = 0;
    if (!stacks)
        stacks = hb_pages(STACKS * sizeof(*stacks));
    if (!buckets)
        buckets = hb_pages(STACK_BUCKETS * sizeof(*buckets));
    return stacks && buckets;
}
