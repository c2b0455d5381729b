// Calls through pointers, pointers through memcpy, variable arguments, integers and callbacks.
// pair: a set
// pair: b set
// pair: c set
// pair: d set
// pair: e set
// never: f set
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int one, two, three, four, five, six;
struct ops {
    void (*call)(int *);
    int *what;
};

__attribute__((noinline)) static void set(int *p)
{
    *p = 1; // [set]
}

__attribute__((noinline)) static void all(int n, ...)
{
    va_list ap;

    va_start(ap, n);
    while (n-- > 0)
        set(va_arg(ap, int *));
    va_end(ap);
}

static int compare(const void *x, const void *y)
{
    set(*(int *const *)x);
    return x < y;
}

static struct ops table[2] = { { set, &one }, { set, NULL } };

static void *work(void *arg)
{
    struct ops copy;
    uintptr_t bits = (uintptr_t)&four | 1;
    int *sorted[2] = { &five, &five };

    memcpy(&copy, arg, sizeof(copy));
    copy.call(copy.what);
    all(2, &two, &three);
    set((int *)(bits & ~(uintptr_t)1));
    qsort(sorted, 2, sizeof(*sorted), compare);
    return NULL;
}

int main(void)
{
    pthread_t t;
    int n;

    pthread_create(&t, NULL, work, &table[0]);
    n = one;    // [a]
    n += two;   // [b]
    n += three; // [c]
    n += four;  // [d]
    n += five;  // [e]
    six = n;    // [f]
    pthread_join(t, NULL);
    return six == 7;
}
