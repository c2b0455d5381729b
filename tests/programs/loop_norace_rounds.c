// What loops access, to the byte: other threads are right beside it, and where the rounds end.
#include <pthread.h>

enum { N = 100 };
static int left[2 * N];
static char bytes[2 * N];
static volatile int stop_at = N; // not known to the compiler

static void *lower(void *arg)
{
    int n = stop_at, i;
    for (i = 0; i < n; i++)
        left[i] = i;
    for (i = n - 1; i >= 0; i--)
        bytes[i] = (char)(left[i] * 3);
    for (i = 0;; i++) { // leaves before it would touch what is not its own
        if (i == n)
            break;
        left[i] ^= bytes[i];
    }
    for (i = 0; i < 2 * n; i++) { // by what it finds
        if (left[i] == -1)
            break;
        left[i] = i == n - 1 ? i : -2;
        if (i == n - 1)
            break;
    }
    return arg;
}

static void *upper(void *arg)
{
    int n = stop_at, i;
    for (i = 2 * n - 1; i >= n; i--)
        left[i] = i;
    for (i = n; i < 2 * n; i++)
        bytes[i] = (char)(left[i] * 3);
    i = n;
    do
        left[i] += bytes[i];
    while (++i < 2 * n);
    for (i = n; i < n; i++) // no round
        left[i - n] = 1;
    return arg;
}

int main(void)
{
    pthread_t t[2];
    pthread_create(&t[0], 0, lower, 0);
    pthread_create(&t[1], 0, upper, 0);
    pthread_join(t[0], 0);
    pthread_join(t[1], 0);
    return left[3] == left[2 * N - 1];
}
