// Every function that allocates; blocks are given back by the other thread.
// gcc: also
#include "prog.h"
#include <malloc.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
void *shelf[8];

static void *make(int kind)
{
    void *p = NULL;
    switch (kind) {
    case 0:
        return malloc(50);
    case 1:
        return calloc(5, 10);
    case 2:
        return realloc(NULL, 50);
    case 3:
        return posix_memalign(&p, 64, 50) ? NULL : p;
    case 4:
        return aligned_alloc(32, 64);
    case 5:
        return memalign(128, 50);
    case 6:
        return reallocarray(malloc(3), 5, 10);
    default:
        return strndup("a string of more than fifty characters, to be cut off", 50);
    }
}

THREAD(work)
{
    for (int i = 0; i < 80; i++) {
        char *p = make(i % 8);
        p[0] = p[49] = 1;
        pthread_mutex_lock(&lock);
        void *old = shelf[i % 8];
        shelf[i % 8] = p;
        pthread_mutex_unlock(&lock);
        free(old);
    }
    return NULL;
}

int main(void)
{
    run_two(work, work);
    for (int i = 0; i < 8; i++)
        free(shelf[i]);
    free(NULL);
    return 0;
}
