// daemon(): the work is done by a process that nobody waits for.
// race: a b
#include "prog.h"

int x, files[2];

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

int main(void)
{
    char byte;
    if (pipe(files))
        return 1;
    if (fork()) {
        close(files[1]);
        return read(files[0], &byte, 1) != 0;
    }
    if (daemon(1, 1))
        return 2;
    run_two(first, second);
    return 0;
}
