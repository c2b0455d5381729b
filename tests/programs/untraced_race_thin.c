// The end of one thread's function and a later call of untraced code by the other: no order.
// library: untraced_thin.c untraced
// race: a b
#include "prog.h"

void *g_thread_new(const char *name, void *(*f)(void *), void *data);
void g_thread_join(void *thread);

static int x, done;

THREAD(work)
{
    x = 1; // [a]
    tell(&done);
    return NULL;
}

THREAD(nothing)
{
    return NULL;
}

int main(void)
{
    void *t = g_thread_new("first", work, NULL), *other;
    await(&done);
    pause_ms(5);
    other = g_thread_new("second", nothing, NULL);
    USE(x); // [b]
    g_thread_join(t);
    g_thread_join(other);
    return 0;
}
