// The first and the last element that loops access, which run up and down.
// race: up low
// race: up high
// race: down first
// race: down last
#include <pthread.h>

enum { N = 100 };
int a[N];
char b[N];
static volatile int stop_at = N; // not known to the compiler

static void *run(void *arg)
{
    int n = stop_at, i;
    for (i = 0; i < n; i++)
        a[i] = i * 3; // [up]
    for (i = n - 1; i >= 0; i--)
        b[i] = (char)(i * 5); // [down]
    return arg;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    a[0] = 1;     // [low]
    a[N - 1] = 2; // [high]
    b[0] = 3;     // [first]
    b[N - 1] = 4; // [last]
    pthread_join(t, 0);
    return 0;
}
