// The copies of a reduction are assigned, not added to.
// issue: https://github.com/PRUNERS/archer/issues/32
// tool: Archer
// there: false alarm; as one of its developers took it: is an assignment in a reduction a race?
// verdict: no race; `var` in the loop is the thread's copy (OpenMP 5.2, 5.5.8)
// flags: -fopenmp
int main(void)
{
    int var = 0;

#pragma omp parallel for num_threads(5) reduction(+ : var) schedule(static, 1)
    for (int i = 0; i < 5; i++)
        var = 1;
    return var - 5;
}
