// A lock on a file, by two descriptors: flock orders the sections.
// tsan: false alarm
#include "prog.h"
#include <fcntl.h>
#include <sys/file.h>

int x;

THREAD(work)
{
    int fd = open("lockfile", O_RDWR | O_CREAT, 0600);
    for (int i = 0; i < 10; i++) {
        flock(fd, LOCK_EX);
        x++;
        flock(fd, LOCK_UN);
    }
    close(fd);
    return NULL;
}

int main(void)
{
    run_two(work, work);
    unlink("lockfile");
    return x - 20;
}
