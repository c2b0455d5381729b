// The first thread writes the variable before a reduction; nothing is between the two.
// issue: https://github.com/llvm/llvm-project/pull/74631
// tool: Archer
// there: miss; accesses of a reduction were ignored, so a race of a plain one with them was missed
// verdict: race; a thread that combines its copy does not wait for the first thread's write
// race: write combine
// may: write write
// flags: -fopenmp
#include "prog.h"
#include <omp.h>

int sum, combined;

int main(void)
{
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0)
            sum = 5;                                          // [write]
#pragma omp for reduction(+ : sum) nowait schedule(static, 1) // [combine]
        for (int i = 0; i < 2; i++)
            sum += i;
    }
    USE(sum);
    return 0;
}
