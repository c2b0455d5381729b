// Many barriers in a row, with work on each other's cells between them.
// flags: -fopenmp
// gcc: also
#include "prog.h"

#include <omp.h>

enum { T = 4 };
int cell[2][T];

int main(void)
{
#pragma omp parallel num_threads(T)
    {
        int me = omp_get_thread_num();
        for (int round = 0; round < 50; round++) {
            cell[round % 2][me] = cell[(round + 1) % 2][(me + 1) % T] + 1;
#pragma omp barrier
        }
    }
    return cell[1][0] != 50;
}
