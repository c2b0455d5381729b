// Threads write an element each, and read their neighbour's behind a barrier.
// issue: https://github.com/AutoPas/AutoPas/issues/46
// tool: Archer
// there: unusable report; ThreadSanitizer alone cannot be used with OpenMP, a clang bug kept
//   Archer off
// verdict: no race; the barrier is between the writes and the reads
// flags: -fopenmp
#include <omp.h>

int mine[4], sum;

int main(void)
{
#pragma omp parallel num_threads(4)
    {
        int me = omp_get_thread_num(), all = omp_get_num_threads();
        mine[me] = me;
#pragma omp barrier
        int next = mine[(me + 1) % all];
#pragma omp atomic
        sum += next;
    }
    return sum < 0;
}
