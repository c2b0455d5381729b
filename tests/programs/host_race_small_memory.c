// The address space is limited before the program starts again; its threads still have room.
// race: a b
// tsan: cannot run
#include "prog.h"
#include <sys/resource.h>

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
        struct rlimit space = { (rlim_t)1 << 30, (rlim_t)1 << 30 };
        setrlimit(RLIMIT_AS, &space);
        execl("/proc/self/exe", argv[0], "again", NULL);
        return 1;
    }
    run_two(first, second);
    return 0;
}
