// Callbacks of two untraced functions; one waits for the other (rdit.txt, Figure 3b, caveat 2).
// library: untraced_hidden.c untraced
#include "prog.h"
#include "untraced_hidden.h"

static int x;

static void look(void)
{
    USE(x);
}

static void set(void)
{
    x = 1;
}

THREAD(first)
{
    hidden_call_and_set(look, arg);
    return NULL;
}

THREAD(second)
{
    hidden_await_and_call(arg, set);
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
