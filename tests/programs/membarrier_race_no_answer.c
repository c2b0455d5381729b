// sys_membarrier by itself is a fence of all threads and no edge: nobody has read what was written.
// race: a b
#include "prog.h"
#include <linux/membarrier.h>
#include <sys/syscall.h>

static int looked;
int data;

THREAD(writer)
{
    await(&looked);
    data = 1; // [a]
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    return NULL;
}

THREAD(reader)
{
    USE(data); // [b]
    tell(&looked);
    return NULL;
}

int main(void)
{
    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
    run_two(writer, reader);
    return 0;
}
