// More tasks than have objects of their own in the trace, and than there are logical threads.
// flags: -fopenmp
#include "prog.h"

#include <omp.h>

static int tree(int n)
{
    int left, right;

    if (n < 2)
        return n;
#pragma omp task shared(left)
    left = tree(n - 1);
#pragma omp task shared(right)
    right = tree(n - 2);
#pragma omp taskwait
    return left + right;
}

int main(void)
{
    int result = 0;

#pragma omp parallel num_threads(2)
#pragma omp single
    result = tree(23);
    return result != 28657;
}
