// write() and fwrite() read the buffer they are given.
// race: a b
// race: c b
// tsan: misses
#include "prog.h"
#include <fcntl.h>

char buffer[64];

THREAD(first)
{
    int fd = open("/dev/null", O_WRONLY);
    USE(write(fd, buffer, 32)); // [a]
    close(fd);
    return NULL;
}

THREAD(third)
{
    FILE *f = fopen("/dev/null", "w");
    USE(fwrite(buffer, 1, 32, f)); // [c]
    fclose(f);
    return NULL;
}

THREAD(second)
{
    buffer[31] = 1; // [b]
    return NULL;
}

int main(void)
{
    pthread_t t = start(third, NULL);
    run_two(first, second);
    pthread_join(t, NULL);
    return 0;
}
