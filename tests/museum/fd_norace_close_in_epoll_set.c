// A descriptor is closed while it is in an epoll set that another thread waits on.
// issue: https://github.com/rsyslog/rsyslog/pull/4936
// tool: ThreadSanitizer
// there: false alarm; epoll_ctl against close of the same descriptor
// verdict: no race; a descriptor is no memory, and closing removes it from the set (epoll(7)); the
//   eventfd orders the close behind the other thread's use
#include "prog.h"
#include <sys/epoll.h>
#include <sys/eventfd.h>

int set, ends[2], wake;

THREAD(waits)
{
    struct epoll_event event = { .events = EPOLLIN }, got;

    event.data.fd = ends[0];
    epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event);
    if (epoll_wait(set, &got, 1, -1) != 1 || got.data.fd != ends[0])
        abort();
    uint64_t one = 1;
    return write(wake, &one, sizeof(one)) == sizeof(one) ? NULL : &wake;
}

int main(void)
{
    uint64_t count;

    set = epoll_create1(0);
    wake = eventfd(0, 0);
    if (pipe(ends))
        return 1;
    pthread_t t = start(waits, NULL);
    if (write(ends[1], "x", 1) != 1 || read(wake, &count, sizeof(count)) != sizeof(count))
        return 1;
    close(ends[0]);
    pthread_join(t, NULL);
    return 0;
}
