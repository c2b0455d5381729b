// Two files, each mapped twice: what is at one offset of them are two locks.
// race: a a
#define _GNU_SOURCE
#include "prog.h"
#include <sys/mman.h>

static pthread_mutex_t *locks[2];
static int x;

static void *map(const char *name)
{
    int fd = memfd_create(name, 0);

    if (fd < 0 || ftruncate(fd, 4096))
        return MAP_FAILED;
    mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

static void count(pthread_mutex_t *lock)
{
    pthread_mutex_lock(lock);
    x++; // [a]
    pthread_mutex_unlock(lock);
}

THREAD(first)
{
    count(locks[0]);
    return NULL;
}

THREAD(second)
{
    count(locks[1]);
    return NULL;
}

int main(void)
{
    locks[0] = map("one");
    locks[1] = map("two");
    if (locks[0] == MAP_FAILED || locks[1] == MAP_FAILED)
        return 1;
    pthread_mutex_init(locks[0], NULL);
    pthread_mutex_init(locks[1], NULL);
    run_two(first, second);
    return 0;
}
