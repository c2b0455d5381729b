// Before the first thread and behind its join nothing else runs; between them everything may.
// pair: during work
// never: before work
// never: behind work
// never: behind second
// pair: between second
// never: work second
#include <pthread.h>

int shared, other;

static void *work(void *arg)
{
    (void)arg;
    shared++; // [work]
    return NULL;
}

static void *second(void *arg)
{
    (void)arg;
    shared += 2; // [second]
    return NULL;
}

int main(void)
{
    pthread_t t, u;

    shared = 1; // [before]
    pthread_create(&t, NULL, work, NULL);
    shared = 2; // [during]
    pthread_join(t, NULL);
    shared = 3; // [behind]
    pthread_create(&u, NULL, second, NULL);
    shared = 4; // [between]
    pthread_join(u, NULL);
    shared = 5;    // [behind]
    return shared; // [behind]
}
