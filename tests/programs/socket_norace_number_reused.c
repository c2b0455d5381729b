// A table indexed by the descriptor's number: closing gives the entry to whom gets the number next.
// tsan: false alarm
#include "prog.h"
#include <sys/socket.h>

int table[1024], closed;

THREAD(first)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    table[fd] = 1;
    close(fd);
    tell(&closed);
    return NULL;
}

THREAD(second)
{
    await(&closed);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    table[fd] = 2;
    close(fd);
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
