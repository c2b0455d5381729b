// Vectors side by side in one array.
// flags: -O2
// gcc: also
#include "prog.h"

typedef float four __attribute__((vector_size(16)));
four lanes[4];

THREAD(first)
{
    lanes[0] = (four){ 1, 1, 1, 1 };
    lanes[2] = lanes[0] * 2;
    return NULL;
}

THREAD(second)
{
    lanes[1] = (four){ 2, 2, 2, 2 };
    lanes[3] = lanes[1] + 1;
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return (int)(lanes[2][0] + lanes[3][3]) - 5;
}
