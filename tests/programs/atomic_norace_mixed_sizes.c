// Atomics of all sizes, all threads: no race between atomics, whatever their order.
// gcc: also
// flags: -O2 -mcx16
#include "prog.h"

char b1;
short b2;
int b4;
long b8;

THREAD(work)
{
    for (int i = 0; i < 20; i++) {
        __atomic_fetch_add(&b1, 1, __ATOMIC_RELAXED);
        __atomic_fetch_or(&b2, 1, __ATOMIC_RELEASE);
        __atomic_fetch_nand(&b4, 3, __ATOMIC_ACQUIRE);
        __atomic_fetch_xor(&b8, 5, __ATOMIC_SEQ_CST);
        __atomic_exchange_n(&b4, 2, __ATOMIC_ACQ_REL);
        __atomic_sub_fetch(&b8, 1, __ATOMIC_RELAXED);
        __atomic_and_fetch(&b2, 7, __ATOMIC_RELAXED);
    }
    return NULL;
}

int main(void)
{
    run_two(work, work);
    return b1 - 40;
}
