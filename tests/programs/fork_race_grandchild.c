// A child of a child, whose parent is gone: it still records.
// race: a b
// gcc: also
#include "prog.h"
#include <sys/wait.h>

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
    if (fork() == 0) {
        if (fork())
            _exit(0);
        close(files[0]);
        run_two(first, second);
        return 0;
    }
    close(files[1]);
    wait(NULL);
    return read(files[0], &byte, 1) != 0;
}
