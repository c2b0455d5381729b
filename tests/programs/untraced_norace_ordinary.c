// Traced code waits for a flag that untraced code sets (rdit.txt, caveat 3).
// library: untraced_hidden.c untraced
#include "prog.h"
#include "untraced_hidden.h"

static int x;

static void look(void)
{
    USE(x);
}

THREAD(first)
{
    pause_ms(20); // the other one has looked in vain
    hidden_call_and_set(look, arg);
    return NULL;
}

THREAD(second)
{
    while (!__atomic_load_n((int *)arg, __ATOMIC_ACQUIRE))
        pause_ms(1);
    x = 1;
    return NULL;
}

int main(void)
{
    int *flag = calloc(1, sizeof(*flag));
    pthread_t t = start(first, flag), u = start(second, flag);
    pthread_join(t, NULL);
    pthread_join(u, NULL);
    free(flag);
    return 0;
}
