// Too little address space for a recording: the program has all of it for its threads.
// stdout: 8
#include "prog.h"
#include <sys/resource.h>

THREAD(waits)
{
    pthread_barrier_wait(arg);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[8];
    pthread_barrier_t together;
    int made = 0;

    if (argc == 1) {
        struct rlimit space = { (rlim_t)200 << 20, (rlim_t)200 << 20 };
        setrlimit(RLIMIT_AS, &space);
        execl("/proc/self/exe", argv[0], "again", NULL);
        return 1;
    }
    pthread_barrier_init(&together, NULL, 8);
    while (made < 8 && pthread_create(&threads[made], NULL, waits, &together) == 0)
        made++;
    printf("%d\n", made);
    fflush(stdout);
    if (made < 8)
        _exit(1);
    while (made)
        pthread_join(threads[--made], NULL);
    return 0;
}
