// A named semaphore.
#include "prog.h"
#include <fcntl.h>
#include <semaphore.h>

sem_t *sem;
int x;

THREAD(work)
{
    x = 1;
    sem_post(sem);
    return NULL;
}

int main(void)
{
    char name[64];
    snprintf(name, sizeof(name), "/heddle-test-%d", (int)getpid());
    sem = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
    if (sem == SEM_FAILED)
        return 1;
    sem_unlink(name);
    pthread_t t = start(work, NULL);
    sem_wait(sem);
    x = 2;
    pthread_join(t, NULL);
    sem_close(sem);
    return 0;
}
