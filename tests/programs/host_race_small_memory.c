// The address space is limited to one gigabyte before the program starts again.
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
        struct rlimit gigabyte = { 1 << 30, 1 << 30 };
        setrlimit(RLIMIT_AS, &gigabyte);
        execl("/proc/self/exe", argv[0], "again", NULL);
        return 1;
    }
    run_two(first, second);
    return 0;
}
