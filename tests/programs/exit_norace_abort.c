// abort() after output: signal and output stay what they are.
// exit: 134
// stdout: before
#include "prog.h"
#include <sys/resource.h>

int main(void)
{
    struct rlimit none = { 0, 0 };
    setrlimit(RLIMIT_CORE, &none);
    puts("before");
    fflush(stdout);
    abort();
}
