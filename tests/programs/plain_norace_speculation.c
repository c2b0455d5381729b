// Loads that the program does not make: the optimiser would make some, and choose afterwards.
// flags: -O1
// flags: -O2
// flags: -O3
#include "prog.h"

int shared, other[8];
volatile int zero;

__attribute__((noinline)) static int choose(int may)
{
    if (may)
        return shared;
    return 0;
}

__attribute__((noinline)) static int in_loop(const int *may, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        if (may[i])
            sum += shared;
    return sum;
}

__attribute__((noinline)) static int both_sides(int may, int index)
{
    return may ? other[index] : other[index + 4];
}

THREAD(reader)
{
    static const int no[4];
    volatile int sum = 0;
    for (int i = 0; i < 4; i++) {
        sum += choose(zero);
        sum += in_loop(no, 4 + zero);
        sum += both_sides(zero, i);
        pause_ms(1);
    }
    return NULL;
}

THREAD(writer)
{
    for (int i = 0; i < 4; i++) {
        shared++;
        other[i]++; /* the reader looks at the other half */
        pause_ms(1);
    }
    return NULL;
}

int main(void)
{
    run_two(reader, writer);
    return 0;
}
