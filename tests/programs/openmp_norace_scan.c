// Prefix sums (inscan) and reductions of tasks, whose memory the library shares out.
// flags: -fopenmp
// gcc: also
// stdout: 45 120 105
// tsan: false alarm
#include "prog.h"
#include <omp.h>

int main(void)
{
    int in[16], up[16], before[16], sum = 0, tasks = 0;

    omp_set_num_threads(3);
#pragma omp parallel reduction(task, + : tasks)
#pragma omp single
    for (int i = 0; i < 10; i++) {
#pragma omp task in_reduction(+ : tasks)
        tasks += i;
    }
    for (int i = 0; i < 16; i++)
        in[i] = i;
#pragma omp parallel for reduction(inscan, + : sum)
    for (int i = 0; i < 16; i++) {
        sum += in[i];
#pragma omp scan inclusive(sum)
        up[i] = sum;
    }
    sum = 0;
#pragma omp parallel for reduction(inscan, + : sum)
    for (int i = 0; i < 16; i++) {
        before[i] = sum;
#pragma omp scan exclusive(sum)
        sum += in[i];
    }
    printf("%d %d %d\n", tasks, up[15], before[15]);
    return 0;
}
