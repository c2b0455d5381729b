// A plain store races with an atomic load and with an atomic increment of part of it.
// race: a c
// race: b c
// tsan: misses
#include "prog.h"

union {
    long whole;
    int half[2];
} u;

THREAD(first)
{
    USE(__atomic_load_n(&u.whole, __ATOMIC_ACQUIRE)); // [a]
    return NULL;
}

THREAD(third)
{
    __atomic_fetch_add(&u.half[1], 1, __ATOMIC_ACQ_REL); // [b]
    return NULL;
}

THREAD(second)
{
    u.whole = 7; // [c]
    return NULL;
}

int main(void)
{
    pthread_t t = start(third, NULL);
    run_two(first, second);
    pthread_join(t, NULL);
    return 0;
}
