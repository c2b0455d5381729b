// read() fills a shared buffer while another thread looks at it.
// race: a b
// gcc: also
#include "prog.h"
#include <fcntl.h>

char buffer[64];

THREAD(first)
{
    int fd = open("/dev/zero", O_RDONLY);
    USE(read(fd, buffer, 32)); // [a]
    close(fd);
    return NULL;
}

THREAD(second)
{
    USE(buffer[31]); // [b]
    buffer[32] = 1;
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
