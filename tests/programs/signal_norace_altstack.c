// A handler on an alternate stack of the smallest size, with traced code in it.
// gcc: also
#include "prog.h"
#include <signal.h>

int x;

static void handler(int number)
{
    char text[32];
    snprintf(text, sizeof(text), "%d", number);
    x += atoi(text);
}

int main(void)
{
    long size = sysconf(_SC_SIGSTKSZ);
    stack_t stack = { .ss_sp = malloc((size_t)size), .ss_size = (size_t)size };
    struct sigaction a = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &a, NULL);
    for (int i = 0; i < 10; i++)
        raise(SIGUSR1);
    return x - 10 * SIGUSR1;
}
