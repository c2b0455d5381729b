/* runs.c - accesses in a row, of which the trace must hold exactly those bytes
 *
 * Prints for each array its name, where it is, its bytes, and those of an element.
 */
#include <pthread.h>
#include <stdio.h>

enum { N = 1000, BIG = 200000 };

static int up[N], down[N], both[N], calls[N];
static short steps[4 * N];
static long back[4 * N];
static char big[BIG];

static __attribute__((noinline)) void one(int *p, int i)
{
    *p = i;
}

/* Both ends of what was touched grow, by one site. */
static void from_the_middle(int n)
{
    for (int i = 0; i < n; i++)
        both[i & 1 ? N / 2 + i / 2 : N / 2 - 1 - i / 2] = i * 5;
}

static void *touch(void *arg)
{
    for (int i = 0; i < N; i++)
        up[i] = i * 3;
    for (int i = N; i-- > 0;)
        down[i] = i * 3;
    from_the_middle(400);
    for (int i = 0; i < 4 * N; i += 3)
        steps[i] = (short)(i * 3);
    for (int i = 4 * N - 1; i >= 0; i -= 5)
        back[i] = i * 3;
    for (int i = 0; i < BIG - 1; i++)
        big[i] = (char)(i * 3);
    for (int i = 0; i < N; i += 2)
        one(&calls[i], i);
    return arg;
}

#define SHOW(a) printf("%s %p %zu %zu\n", #a, (void *)(a), sizeof(a), sizeof((a)[0]))

int main(void)
{
    pthread_t t;

    pthread_create(&t, NULL, touch, NULL);
    pthread_join(t, NULL);
    SHOW(up);
    SHOW(down);
    SHOW(both);
    SHOW(steps);
    SHOW(back);
    SHOW(big);
    SHOW(calls);
    return 0;
}
