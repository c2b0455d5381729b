// abort() after output: signal and output stay what they are.
// exit: 134
// stdout: before
#include "prog.h"
#include <sys/resource.h>

int x;

THREAD(child)
{
    x = 1;
    return NULL;
}

int main(void)
{
    struct rlimit none = { 0, 0 };
    setrlimit(RLIMIT_CORE, &none);
    pthread_join(start(child, NULL), NULL);
    x = 2;
    puts("before");
    fflush(stdout);
    abort();
}
