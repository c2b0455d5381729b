// Two threads close a descriptor: the second may close what somebody else has opened.
// race: a b
#include "prog.h"
#include <fcntl.h>

int fd, closed;

THREAD(first)
{
    close(fd); // [a]
    tell(&closed);
    return NULL;
}

THREAD(second)
{
    await(&closed);
    close(fd); // [b]
    return NULL;
}

int main(void)
{
    fd = open("/dev/null", O_RDONLY);
    run_two(first, second);
    return 0;
}
