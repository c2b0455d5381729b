// Callbacks inside each other: those of two threads, with an object each, race inside one that runs
// both threads, with an object that both look at.
// library: callback_lib.cc untraced
// race: a b
#include "prog.h"
#include "callback_lib.h"

static int passed, firsts, seconds;
int g;

static void first(void *)
{
    g = 1; // [a]
}

static void second(void *)
{
    g = 2; // [b]
}

static void inner(void *f)
{
    callback_run(f == (void *)first ? &firsts : &seconds, (void (*)(void *))f, nullptr);
}

static void *work(void *f)
{
    USE(passed);
    callback_run(f == (void *)first ? &firsts : &seconds, inner, f);
    USE(passed);
    return nullptr;
}

static void body(void *)
{
    pthread_t a, b;

    pthread_create(&a, nullptr, work, (void *)first);
    pthread_create(&b, nullptr, work, (void *)second);
    pthread_join(a, nullptr);
    pthread_join(b, nullptr);
}

int main()
{
    callback_run(&passed, body, nullptr);
    return 0;
}
