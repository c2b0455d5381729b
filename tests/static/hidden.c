/* main() is hidden (-fvisibility=hidden), and so is what it declares elsewhere as visible; a
 * handler that signal() gives back is called. */
#include <pthread.h>
#include <signal.h>

#pragma GCC visibility push(hidden)

int counter, seen;

static void handler(int n)
{
    seen = n; // [handler]
}

static void *work(void *arg)
{
    void (*old)(int) = signal(SIGUSR1, SIG_DFL);

    counter++; // [work]
    if (old != SIG_DFL && old != SIG_ERR)
        old(1);
    return arg;
}

int main(void)
{
    pthread_t t;

    signal(SIGUSR1, handler);
    pthread_create(&t, NULL, work, NULL);
    counter = 2;    // [main]
    int now = seen; // [read]
    pthread_join(t, NULL);
    return counter == 1 && now; // [after]
}

// pair: main work
// pair: read handler
// never: after work
