// Two unordered tasks, both run by one thread of the team, since the other one waits.
// issue: https://github.com/llvm/llvm-project/pull/74646
// tool: Archer
// there: miss; an analysis by threads sees no race where tasks share a thread
// verdict: race; the tasks are unordered: the other thread might have run one of them
// race: a b
// flags: -fopenmp
#include "prog.h"
#include <omp.h>

int var, both_done;

int main(void)
{
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1) {
        await(&both_done);
    } else {
#pragma omp task
        var = 1; // [a]
#pragma omp task
        var = 2; // [b]
#pragma omp taskwait
        tell(&both_done);
    }
    return var == 0;
}
