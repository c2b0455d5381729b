// One thread closes a socket that another still sends on.
// issue: https://github.com/rr-debugger/rr/issues/2128
// tool: rr
// there: miss; a connection reset in seconds without rr, hardly ever in a recording with --chaos
// verdict: race; nothing orders the use of the descriptor and its end (reported as a race on it)
// race: send close
#include "prog.h"
#include <sys/socket.h>

int ends[2], sent;

THREAD(sends)
{
    if (send(ends[0], "x", 1, MSG_NOSIGNAL) != 1) // [send]
        abort();
    tell(&sent);
    return NULL;
}

THREAD(closes)
{
    await(&sent);
    close(ends[0]); // [close]
    return NULL;
}

int main(void)
{
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        return 1;
    run_two(sends, closes);
    return 0;
}
