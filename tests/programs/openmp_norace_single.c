// single, master with a barrier, sections, copyprivate.
// flags: -fopenmp
// gcc: also
#include "prog.h"

#include <omp.h>

int x, y, part[2];

int main(void)
{
    int bad = 0;
#pragma omp parallel num_threads(4) reduction(+ : bad)
    {
        int mine = 0;
#pragma omp single
        x = 5;
        bad += x != 5;
#pragma omp master
        y = 6;
#pragma omp barrier
        bad += y != 6;
#pragma omp sections
        {
#pragma omp section
            part[0] = 7;
#pragma omp section
            part[1] = 8;
        }
        bad += part[0] + part[1] != 15;
#pragma omp single copyprivate(mine)
        mine = 9;
        bad += mine != 9;
    }
    return bad;
}
