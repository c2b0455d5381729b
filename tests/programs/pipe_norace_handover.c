// Bytes through a pipe: the write comes before the read that gets them.
// flags: -O0
// flags: -O2
// gcc: also
#include "prog.h"

int data, files[2];

THREAD(sender)
{
    data = 1;
    return (void *)(intptr_t)write(files[1], "x", 1);
}

THREAD(receiver)
{
    char byte;
    if (read(files[0], &byte, 1) == 1)
        data = 2;
    return NULL;
}

int main(void)
{
    if (pipe(files))
        return 1;
    run_two(sender, receiver);
    return data - 2;
}
