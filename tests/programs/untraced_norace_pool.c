// A library's threads run functions of the program; what it orders is hidden in it.
// library: untraced_pool.c untraced
#include "prog.h"
#include "untraced_pool.h"

static int in[40], out[40], sum;

static void twice(void *arg)
{
    int *p = arg;
    out[p - in] = 2 * *p;
}

static void total(void *arg)
{
    (void)arg;
    for (int i = 0; i < 40; i++)
        sum += out[i];
}

int main(void)
{
    pool_start(3);
    for (int i = 0; i < 40; i++) {
        in[i] = i;
        pool_push(twice, &in[i]);
    }
    pool_wait();
    pool_push(total, NULL);
    pool_wait();
    sum -= 1560;
    pool_stop();
    return sum;
}
