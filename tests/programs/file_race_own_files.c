// Each thread writes a file of its own: no edge from one to the other.
// race: a b
#include "prog.h"
#include <fcntl.h>

int x;

THREAD(first)
{
    int fd = open("one", O_WRONLY | O_CREAT, 0600);
    x = 1; // [a]
    USE(write(fd, "x", 1));
    close(fd);
    unlink("one");
    return NULL;
}

THREAD(second)
{
    int fd = open("two", O_WRONLY | O_CREAT, 0600);
    USE(write(fd, "x", 1));
    close(fd);
    x = 2; // [b]
    unlink("two");
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
