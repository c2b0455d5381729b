// What is written to a file and found there by another thread was written before.
#include "prog.h"
#include <fcntl.h>

int data;

THREAD(sender)
{
    int fd = open("mailbox", O_WRONLY | O_CREAT, 0600);
    data = 1;
    if (write(fd, "x", 1) != 1)
        abort();
    close(fd);
    return NULL;
}

THREAD(receiver)
{
    char byte = 0;
    while (byte != 'x') {
        int fd = open("mailbox", O_RDONLY);
        if (fd < 0 || read(fd, &byte, 1) != 1)
            sched_yield();
        if (fd >= 0)
            close(fd);
    }
    data = 2;
    return NULL;
}

int main(void)
{
    run_two(sender, receiver);
    unlink("mailbox");
    return data - 2;
}
