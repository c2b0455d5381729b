// 100,000 frames that each write an escaping local.
// flags: -O1 -fno-optimize-sibling-calls
// gcc: also
// tsan: hangs
#include "prog.h"

static int __attribute__((noinline)) dive(int n, int *parent)
{
    int mine = *parent + 1;
    __asm__ volatile("" : : "r"(&mine) : "memory");
    return n ? dive(n - 1, &mine) : mine;
}

THREAD(deep)
{
    int zero = 0;
    return (void *)(intptr_t)dive(100000, &zero);
}

int main(void)
{
    pthread_attr_t big;
    pthread_t t;
    void *result;
    pthread_attr_init(&big);
    pthread_attr_setstacksize(&big, 256 << 20);
    pthread_create(&t, &big, deep, NULL);
    pthread_join(t, &result);
    return (intptr_t)result != 100001;
}
