// A reduction without a barrier at its end, followed by tasks and a barrier.
// issue: https://github.com/PRUNERS/archer/issues/89
// tool: Archer
// there: crash; 'One of the following ignores was not ended' at a reduction
// verdict: no race; the sum is read behind the barrier
// flags: -fopenmp
int sum, seen, work_done[4];

int main(void)
{
#pragma omp parallel num_threads(4)
    {
#pragma omp for reduction(+ : sum) nowait
        for (int i = 0; i < 16; i++)
            sum += i;
#pragma omp single nowait
        for (int i = 0; i < 4; i++)
#pragma omp task firstprivate(i)
            work_done[i] = 1;
#pragma omp barrier
#pragma omp single
        seen = sum;
    }
    return seen - 120;
}
