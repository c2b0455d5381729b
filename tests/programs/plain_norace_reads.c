// Any number of threads may read.
// gcc: also
#include "prog.h"

double table[4] = { 1, 2, 3, 4 };

THREAD(reader)
{
    USE(table[1] + table[2]);
    return NULL;
}

int main(void)
{
    table[1] = 5;
    run_two(reader, reader);
    table[1] = 6;
    return 0;
}
