// The sender writes after it has sent.
// race: a b
#include "prog.h"
#include <sys/socket.h>

int data, ends[2];

THREAD(sender)
{
    USE(send(ends[0], "x", 1, 0));
    data = 1; // [a]
    return NULL;
}

THREAD(receiver)
{
    char byte;
    USE(recv(ends[1], &byte, 1, 0));
    data = 2; // [b]
    return NULL;
}

int main(void)
{
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        return 1;
    run_two(sender, receiver);
    return 0;
}
