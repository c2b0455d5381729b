/* abreast.c - the same work by several threads */
#include "base/abreast.h"
#include "base/alloc.h"

#include <pthread.h>
#include <stdlib.h>

void abreast(unsigned n, void *(*work)(void *item), void *items, size_t item_bytes)
{
    pthread_t *threads = xcalloc(n, sizeof(*threads));
    unsigned started = 1;

    while (started < n &&
           !pthread_create(&threads[started], NULL, work, (char *)items + started * item_bytes))
        started++;
    work(items);
    while (started-- > 1)
        pthread_join(threads[started], NULL);
    free(threads);
}
