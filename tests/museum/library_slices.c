// An allocator of blocks of one size, with a list of free ones under a lock of its own.
#include <pthread.h>
#include <stdlib.h>

struct block {
    struct block *next;
    char rest[56];
};
static struct block *unused;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *slice_get(void);
void slice_put(void *block);

void *slice_get(void)
{
    pthread_mutex_lock(&lock);
    struct block *found = unused;
    if (found)
        unused = found->next;
    pthread_mutex_unlock(&lock);
    return found ? found : malloc(sizeof(*found));
}

void slice_put(void *block)
{
    struct block *back = block;

    pthread_mutex_lock(&lock);
    back->next = unused;
    unused = back;
    pthread_mutex_unlock(&lock);
}
