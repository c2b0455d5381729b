// Two tasks without a dependence change one variable.
// issue: https://github.com/PRUNERS/archer/issues/76
// tool: Archer
// there: miss; the tests with racy tasks fail on that system, with reports where no race is
// verdict: race; nothing orders sibling tasks without dependences
// race: a b
// flags: -fopenmp
int var;

int main(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task
        var++; // [a]
#pragma omp task
        var++; // [b]
    }
    return 0;
}
