// A 16-byte compare and swap protects a counted pointer.
// flags: -O2 -mcx16 -latomic
#include "prog.h"

struct __attribute__((aligned(16))) tagged {
    long pointer, tag;
};
struct tagged top;

THREAD(work)
{
    struct tagged old, new;
    for (int i = 0; i < 20; i++) {
        __atomic_load(&top, &old, __ATOMIC_ACQUIRE);
        do
            new = (struct tagged){ old.pointer + 1, old.tag + 1 };
        while (!__atomic_compare_exchange(&top, &old, &new, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
    }
    return NULL;
}

int main(void)
{
    run_two(work, work);
    return (int)top.tag - 40;
}
