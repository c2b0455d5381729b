// An eventfd, waited for with poll and epoll.
// gcc: also
#include "prog.h"
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

int data, event;

THREAD(sender)
{
    data = 1;
    eventfd_write(event, 1);
    return NULL;
}

THREAD(receiver)
{
    struct pollfd p = { .fd = event, .events = POLLIN };
    struct epoll_event e = { .events = EPOLLIN };
    int set = epoll_create1(0);
    eventfd_t value;
    epoll_ctl(set, EPOLL_CTL_ADD, event, &e);
    if (poll(&p, 1, -1) == 1 && epoll_wait(set, &e, 1, -1) == 1 && !eventfd_read(event, &value))
        data = 2;
    close(set);
    return NULL;
}

int main(void)
{
    event = eventfd(0, 0);
    run_two(sender, receiver);
    return data - 2;
}
