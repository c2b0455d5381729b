// The handler of a fault writes a message and repairs the cause; the program goes on.
// issue: https://github.com/envoyproxy/envoy/issues/2561
// tool: ThreadSanitizer
// there: false alarm; calls in a handler of fatal signals, in every test that has one
// verdict: no race; the handler runs in the faulting thread, for a signal that its own access
//   raised
// stdout: repaired 7
#include "prog.h"
#include <signal.h>
#include <sys/mman.h>

static int *page;

static void handler(int number)
{
    (void)number;
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
    if (write(2, "fault\n", 6) < 0)
        _exit(1);
}

THREAD(faults)
{
    page[0] = 7;
    return NULL;
}

int main(void)
{
    struct sigaction action = { .sa_handler = handler };

    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaction(SIGSEGV, &action, NULL);
    pthread_join(start(faults, NULL), NULL);
    printf("repaired %d\n", page[0]);
    return 0;
}
