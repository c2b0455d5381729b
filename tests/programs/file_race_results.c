// Structures, names and lists that libc fills in for its caller.
// race: a b
// race: c d
// race: e f
#include "prog.h"
#include <netdb.h>
#include <sys/statvfs.h>

static struct statvfs root;
static char name[] = "/tmp/heddle-XXXXXX";
static struct addrinfo *list;

THREAD(first)
{
    int fd;

    USE(statvfs("/", &root)); // [a]
    fd = mkstemp(name);       // [c]
    if (fd >= 0) {
        close(fd);
        unlink(name);
    }
    USE(getaddrinfo("127.0.0.1", NULL, NULL, &list)); // [e]
    return NULL;
}

THREAD(second)
{
    USE(root.f_bsize);           // [b]
    USE(name[sizeof(name) - 2]); // [d]
    USE(list);                   // [f]
    return NULL;
}

int main(void)
{
    run_two(first, second);
    if (list)
        freeaddrinfo(list);
    return 0;
}
