// The program execs itself; the race is in the second image.
// race: a b
#include "prog.h"

int x;

THREAD(first)
{
    x = 1; // [a]
    return NULL;
}

THREAD(second)
{
    x = 2; // [b]
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc == 1) {
        pthread_join(start(first, NULL), NULL);
        x = 3;
        execl("/proc/self/exe", argv[0], "again", NULL);
        return 1;
    }
    run_two(first, second);
    return 0;
}
