// The program has functions of its own with the names of libc's and pthread's.
// tsan: differs
#include "prog.h"

int x;

char *getenv(const char *name)
{
    x += name[0] == 'A';
    return NULL;
}

int flock(int fd, int operation)
{
    x += fd + operation;
    return 5;
}

int pthread_spin_lock(pthread_spinlock_t *lock)
{
    return (int)*lock;
}

THREAD(work)
{
    pthread_spinlock_t lock = 8;
    return (void *)(intptr_t)(getenv("A") == NULL && flock(1, 2) == 5 &&
                              pthread_spin_lock(&lock) == 8);
}

int main(void)
{
    void *fine;
    pthread_join(start(work, NULL), &fine);
    return !fine || x != 4;
}
