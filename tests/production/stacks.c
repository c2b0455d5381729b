/* stacks.c - accesses in functions of all shapes; two threads make each, so that all of them race
 *
 * The test (stacks.py) has the stacks that it expects by the names here: shape_X, called by
 * caller_X, called by work.
 */
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

static int plain[16];
static char from[256], to[256];
static volatile int sink;

NOINLINE static void use(const void *p)
{
    __asm__ volatile("" : : "r"(p) : "memory");
}

NOINLINE static int nine(int a, int b, int c, int d, int e, int f, int g, int h, int i)
{
    use(&plain);
    return a + b + c + d + e + f + g + h + i;
}

/* Leaves before it has a frame, mostly. */
NOINLINE static int shape_early(int n)
{
    int s = 0;

    if (plain[0]++ != -1) // [early]
        return n;
    for (int i = 0; i < n; i++)
        s += nine(i, n, s, i, n, s, i, n, s) * rand();
    return s;
}

/* An argument of many, some of which are on the stack already. */
NOINLINE static int shape_pushes(int n, int m)
{
    int s = nine(n, m, n, m, n, m, n, m, plain[1]++); // [pushes]

    return s + nine(s, n, m, s, n, m, plain[1], s, n) + m;
}

NOINLINE static int shape_alloca(int n)
{
    char *p = alloca((size_t)n * 17);

    use(p);
    plain[2]++; // [alloca]
    use(p);
    return p[0];
}

NOINLINE static int shape_aligned(int n)
{
    char line[192] __attribute__((aligned(128)));

    memset(line, n, sizeof(line));
    use(line);
    plain[3] += line[n]; // [aligned]
    use(line);
    return line[1];
}

NOINLINE static int shape_leaf(int n)
{
    return plain[4] += n; // [leaf]
}

NOINLINE static int shape_large(int n)
{
    char pages[20000];

    memset(pages, n, sizeof(pages));
    use(pages);
    plain[5] += pages[n]; // [large]
    use(pages);
    return pages[n + 1];
}

NOINLINE static int shape_call(int n)
{
    use(from);
    memcpy(to, from, (size_t)n); // [call]
    use(to);
    return n;
}

NOINLINE static int shape_deep(int n)
{
    int r;

    if (n == 0)
        return plain[6]++; // [deep]
    r = shape_deep(n - 1);
    use(&r);
    return r + n;
}

/* The compiler may take it for vectors. */
NOINLINE static int shape_vector(int n)
{
    static float sums[64];
    float own[64];

    for (int i = 0; i < 64; i++)
        own[i] = (float)(i * n);
    use(own);
    for (int i = 0; i < 64; i++)
        sums[i] += own[i]; // [vector]
    use(sums);
    return (int)own[n];
}

static int shape_compare(const void *a, const void *b)
{
    plain[7]++; // [compare]
    return *(const int *)a - *(const int *)b;
}

static void shape_handler(int signal)
{
    plain[8] += signal; // [handler]
    use(plain);
}

#define CALLER(name, call)                                                                         \
    NOINLINE static void caller_##name(int n)                                                      \
    {                                                                                              \
        use(&n);                                                                                   \
        sink = call;                                                                               \
        use(&n);                                                                                   \
    }
CALLER(early, shape_early(n))
CALLER(pushes, shape_pushes(n, n + 1))
CALLER(alloca, shape_alloca(n))
CALLER(aligned, shape_aligned(n))
CALLER(leaf, shape_leaf(n))
CALLER(large, shape_large(n))
CALLER(call, shape_call(n))
CALLER(deep, shape_deep(n))
CALLER(vector, shape_vector(n))

NOINLINE static void caller_compare(int n)
{
    int numbers[6] = { 5, 3, n, 2, 9, 1 };

    qsort(numbers, 6, sizeof(*numbers), shape_compare);
    use(numbers);
}

NOINLINE static void caller_handler(int n)
{
    raise(SIGUSR1);
    use(&n);
}

static void *work(void *arg)
{
    int n = 5;

    use(arg);
    caller_early(n);
    caller_pushes(n);
    caller_alloca(n);
    caller_aligned(n);
    caller_leaf(n);
    caller_large(n);
    caller_call(n);
    caller_deep(n);
    caller_vector(n);
    caller_compare(n);
    caller_handler(n);
    use(arg);
    return arg;
}

int main(void)
{
    struct sigaction act = { .sa_handler = shape_handler };
    pthread_t a, b;

    sigaction(SIGUSR1, &act, NULL);
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
