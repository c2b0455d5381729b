// A region writes what the next one reads, split between the threads in another way.
// issue: https://github.com/mrc-ide/covid-sim/issues/372
// tool: ThreadSanitizer
// there: false alarm; gcc's: places race that are in different parallel regions, one after the
//   other
// verdict: no race; the end of a region waits for all of its threads
// flags: -fopenmp
int cell[24], total;

int main(void)
{
#pragma omp parallel for num_threads(3)
    for (int i = 0; i < 24; i++)
        cell[i] = i;
#pragma omp parallel for num_threads(4) reduction(+ : total) schedule(static, 1)
    for (int i = 0; i < 24; i++)
        total += cell[23 - i];
    return total - 276;
}
