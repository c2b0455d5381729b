/* stacks_main.c - a race of main() with a thread, which comes after main() has ended if there is an
 * argument */
#include <pthread.h>
#include <unistd.h>

static int shared;

static void *work(void *arg)
{
    usleep(arg ? 200000 : 0);
    shared++; // [thread]
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t t;

    pthread_create(&t, NULL, work, argc > 1 ? argv[1] : NULL);
    shared++; // [main]
    if (argc > 1)
        pthread_exit(NULL);
    pthread_join(t, NULL);
    return 0;
}
