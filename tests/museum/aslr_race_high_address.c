// Memory at an address that the kernel may give with 32 bits of randomness.
// issue: https://github.com/google/sanitizers/issues/1716
//   https://github.com/GobySoft/dccl/issues/165
//   https://github.com/neuronsimulator/nrn/issues/3231
//   https://github.com/pocoproject/poco/issues/4503
// tool: ThreadSanitizer
// there: crash; 'unexpected memory mapping 0x642538257000' on kernels with vm.mmap_rnd_bits=32
// verdict: race; two threads change the counter there, unordered (C11 5.1.2.4p25)
// race: a a
#include "prog.h"
#include <sys/mman.h>

int *counter;

THREAD(adds)
{
    (*counter)++; // [a]
    return NULL;
}

int main(void)
{
    void *where = (void *)0x642538257000;

    counter = mmap(where, 4096, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (counter != where)
        return 1;
    run_two(adds, adds);
    return 0;
}
