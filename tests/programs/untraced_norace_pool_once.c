// One call creates the threads and waits for them unseen; its D has nothing of them.
// library: untraced_pool.c untraced
#include "prog.h"
#include "untraced_pool.h"

static int cell[4], round;

static void set(void *arg)
{
    cell[(intptr_t)arg] = round;
}

int main(void)
{
    int sum = 0;
    for (round = 1; round < 4; round++) {
        pool_once(set, 4);
        for (int i = 0; i < 4; i++)
            sum += cell[i];
    }
    return sum != 24;
}
