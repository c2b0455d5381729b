// Sums by a lock, by atomics and by a tree, over few and many threads.
// stdout: 4950 4950 19800
// flags: -fopenmp
// gcc: also
#include "prog.h"

#include <omp.h>

struct wide {
    long a, b, c, d;
};

#pragma omp declare reduction(plus : struct wide : omp_out.a += omp_in.a, omp_out.b += omp_in.b,   \
                                  omp_out.c += omp_in.c, omp_out.d += omp_in.d)                    \
    initializer(omp_priv = (struct wide){ 0 })

long sum, other;
struct wide w;

int main(void)
{
#pragma omp parallel for num_threads(2) reduction(+ : sum)
    for (int i = 0; i < 100; i++)
        sum += i;
#pragma omp parallel num_threads(8)
    {
#pragma omp for reduction(+ : other) reduction(plus : w)
        for (int i = 0; i < 100; i++)
            other += i, w.a += i, w.b += i, w.c += i, w.d += i;
        USE(other);
#pragma omp barrier // else a thread that is done adds while others still read
#pragma omp for reduction(+ : other)
        for (int i = 0; i < 8; i++)
            other += 0;
    }
    printf("%ld %ld %ld\n", sum, other, w.a + w.b + w.c + w.d);
    return 0;
}
