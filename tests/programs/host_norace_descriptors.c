// Recording takes no file descriptor the program could notice, and no thread.
// gcc: also
#include "prog.h"
#include <dirent.h>
#include <fcntl.h>

int x;

static int entries(const char *path)
{
    DIR *d = opendir(path);
    int n = 0;
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

THREAD(work)
{
    x++;
    return NULL;
}

int main(void)
{
    int before = entries("/proc/self/task");
    pthread_join(start(work, NULL), NULL);
    x++;
    int fd = open("/dev/null", O_RDONLY);
    return before - 1 + fd - 3 + (entries("/proc/self/fd") != 5);
}
