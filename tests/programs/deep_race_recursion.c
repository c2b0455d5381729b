// 100,000 frames deep, then a race: more than the shadow stack holds.
// race: a b
// flags: -O0
// flags: -O2
// tsan: hangs
#include "prog.h"

int x;

static int __attribute__((noinline)) dive(int n)
{
    if (n == 0) {
        x = 1; // [a]
        return 0;
    }
    int depth = dive(n - 1);
    __asm__ volatile("" : "+r"(depth));
    return depth + 1;
}

THREAD(deep)
{
    USE(dive(100000));
    return NULL;
}

int main(void)
{
    pthread_attr_t big;
    pthread_t t;
    pthread_attr_init(&big);
    pthread_attr_setstacksize(&big, 256 << 20);
    pthread_create(&t, &big, deep, NULL);
    x = 2; // [b]
    pthread_join(t, NULL);
    return 0;
}
