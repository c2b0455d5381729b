// A socket pair, with send/recv, sendmsg/recvmsg and stdio on top.
// gcc: also
#include "prog.h"
#include <sys/socket.h>

int data, ends[2];

THREAD(sender)
{
    data = 1;
    if (send(ends[0], "x", 1, 0) != 1)
        abort();
    char byte;
    struct iovec v = { &byte, 1 };
    struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
    if (recvmsg(ends[0], &m, 0) != 1)
        abort();
    data = 3;
    return NULL;
}

THREAD(receiver)
{
    char byte;
    if (recv(ends[1], &byte, 1, 0) != 1)
        abort();
    data = 2;
    struct iovec v = { &byte, 1 };
    struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
    if (sendmsg(ends[1], &m, 0) != 1)
        abort();
    return NULL;
}

int main(void)
{
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        return 1;
    run_two(sender, receiver);
    return data - 3;
}
