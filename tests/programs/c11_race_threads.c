// C11 threads race like others; create and join order.
// race: a b
// gcc: also
// tsan: misses
#include <threads.h>

int x, before, after;

static int first(void *arg)
{
    (void)arg;
    after = before;
    x = 1; // [a]
    return 0;
}

static int second(void *arg)
{
    (void)arg;
    x = 2; // [b]
    thrd_exit(1);
}

int main(void)
{
    thrd_t a, b;
    before = 1;
    thrd_create(&a, first, NULL);
    thrd_create(&b, second, NULL);
    thrd_join(a, NULL);
    after++;
    thrd_join(b, NULL);
    return 0;
}
