// A move in inline assembly that the compiler may move accesses past is a plain access.
// race: plain clear
// race: write read
#include "prog.h"

int flag, other, data;

static void store(int *p, int v)
{
    __asm__ volatile("movl %1, %0" : "=m"(*p) : "r"(v)); // [plain]
}

THREAD(first)
{
    data = 1; // [write]
    store(&flag, 1);
    tell(&other);
    return NULL;
}

THREAD(second)
{
    await(&other);
    USE(data); // [read]
    flag = 0;  // [clear]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
