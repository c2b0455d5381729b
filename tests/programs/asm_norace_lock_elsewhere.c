// A lock in assembly is in another file.
// library: library_lock.c traced
// tsan: false alarm
#include "prog.h"

void take_lock(volatile int *lock);
void give_lock(volatile int *lock);
volatile int locked;
int x;

THREAD(work)
{
    for (int i = 0; i < 50; i++) {
        take_lock(&locked);
        x++;
        give_lock(&locked);
        pause_ms(0);
    }
    return NULL;
}

int main(void)
{
    run_two(work, work);
    return x - 100;
}
