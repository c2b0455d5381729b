// Memory of a thread's own is no pair, even where all run the same code; what is handed on is.
// never: own own
// pair: kept read
// never: own read
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

int *published;

static void *xmalloc(size_t n)
{
    void *p = malloc(n);

    if (!p)
        abort();
    return p;
}

__attribute__((noinline)) static int sum(int *p, int n)
{
    int s = 0;

    for (int i = 0; i < n; i++) {
        p[i] = i;  // [own]
        s += p[i]; // [own]
    }
    return s;
}

static void *work(void *arg)
{
    int *mine = xmalloc(40), *theirs = xmalloc(40);

    sum(mine, 10);
    *theirs = 3; // [kept]
    published = theirs;
    *theirs = 4; // [kept]
    free(mine);
    return arg;
}

int main(void)
{
    pthread_t t[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, work, NULL);
    if (published)
        exit(*published); // [read]
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
