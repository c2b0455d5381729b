// Parent and child share memory and a process-shared lock.
#include "prog.h"
#include <sys/mman.h>
#include <sys/wait.h>

struct shared {
    pthread_mutex_t lock;
    int x;
} *s;

THREAD(work)
{
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&s->lock);
        s->x++;
        pthread_mutex_unlock(&s->lock);
    }
    return NULL;
}

int main(void)
{
    pthread_mutexattr_t a;
    s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_init(&a);
    pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&s->lock, &a);
    pid_t child = fork();
    run_two(work, work);
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    return s->x - 400;
}
