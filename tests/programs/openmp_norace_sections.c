// Sections change a variable each.
// full: also
// flags: -fopenmp
// flags: -fopenmp -O2
// flags: -fopenmp -O0
#include "prog.h"

int a, b, cells[64];

int main(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp sections
        {
#pragma omp section
            a++;
#pragma omp section
            b++;
#pragma omp section
            cells[5]++;
        }
    }
    return 0;
}
