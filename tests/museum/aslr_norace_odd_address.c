// Memory where the tool of the issue keeps its own; a lock guards it.
// issue: https://github.com/google/sanitizers/issues/1237
//   https://github.com/compiler-explorer/compiler-explorer/issues/6716
// tool: ThreadSanitizer
// there: crash; 'unexpected memory mapping 0x607fe7daa000' before main
// verdict: no race; both threads hold the mutex
#include "prog.h"
#include <sys/mman.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int *counter;

THREAD(adds)
{
    pthread_mutex_lock(&lock);
    (*counter)++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    void *where = (void *)0x607fe7daa000;

    counter = mmap(where, 4096, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (counter != where)
        return 1;
    run_two(adds, adds);
    return *counter - 2;
}
