// A sum of many terms by a reduction.
// issue: https://github.com/PRUNERS/archer/issues/22
// tool: Archer
// there: crash; a segmentation fault in reductions with more than four threads
// verdict: no race; each thread adds to a copy, the copies are combined before the region ends
// flags: -fopenmp
int main(void)
{
    double pi = 0;

#pragma omp parallel for reduction(+ : pi) num_threads(6)
    for (int i = 0; i < 1000; i++)
        pi += (i & 1 ? -4.0 : 4.0) / (2 * i + 1);
    return pi < 3.1 || pi > 3.2;
}
