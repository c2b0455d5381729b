// Locks, atomics and semaphores in a file that is mapped two or three times are one object each,
// whichever mapping is used, and also when the first mapping has gone.
// gcc: also
// tsan: false alarm
#define _GNU_SOURCE
#include "prog.h"
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

struct shared {
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
    pthread_spinlock_t spin;
    sem_t sem;
    _Atomic int flag;
};

enum { BYTES = 8192 };
static struct shared *views[3];
static int under_mutex, under_rwlock, under_spin, sent, published;

static struct shared *map(int fd, size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096);

    if (p == MAP_FAILED)
        abort();
    return p;
}

static void count(struct shared *s)
{
    pthread_mutex_lock(&s->mutex);
    under_mutex++;
    pthread_mutex_unlock(&s->mutex);
    pthread_rwlock_wrlock(&s->rwlock);
    under_rwlock++;
    pthread_rwlock_unlock(&s->rwlock);
    while (pthread_spin_trylock(&s->spin))
        ;
    under_spin++;
    pthread_spin_unlock(&s->spin);
}

THREAD(first)
{
    for (int i = 0; i < 20; i++)
        count(views[0]);
    sent = 1;
    sem_post(&views[0]->sem);
    published = 1;
    atomic_store_explicit(&views[0]->flag, 1, memory_order_release);
    return NULL;
}

THREAD(second)
{
    for (int i = 0; i < 20; i++)
        count(views[1 + i % 2]);
    while (sem_wait(&views[2]->sem))
        ;
    USE(sent);
    while (!atomic_load_explicit(&views[1]->flag, memory_order_acquire))
        ;
    USE(published);
    return NULL;
}

static void init(struct shared *s)
{
    pthread_mutexattr_t mutex;
    pthread_rwlockattr_t rwlock;

    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    pthread_rwlockattr_init(&rwlock);
    pthread_rwlockattr_setpshared(&rwlock, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&s->mutex, &mutex);
    pthread_rwlock_init(&s->rwlock, &rwlock);
    pthread_spin_init(&s->spin, PTHREAD_PROCESS_SHARED);
    sem_init(&s->sem, 1, 0);
}

int main(void)
{
    int fd = memfd_create("two", 0);
    struct shared *gone;

    if (fd < 0 || ftruncate(fd, 4096 + BYTES))
        return 1;
    gone = map(fd, BYTES);
    init(gone);
    views[0] = map(fd, 4096);
    views[1] = map(fd, BYTES);
    pthread_mutex_lock(&gone->mutex);
    pthread_mutex_unlock(&views[0]->mutex);
    munmap(gone, BYTES);
    views[2] = map(fd, 4096);
    views[2] = mremap(views[2], 4096, BYTES, MREMAP_MAYMOVE);
    if (views[2] == MAP_FAILED)
        return 1;
    run_two(first, second);
    return under_mutex != 40;
}
