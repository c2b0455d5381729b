// What untraced code does between two callbacks orders them with another thread's: what comes
// before the lock is taken by who is first, what comes behind it by who is second.
// library: callback_lib.cc untraced
// stdout: 7
#include "prog.h"
#include "callback_lib.h"

static callback_lock *lock;
static int turns;
int x, seen;

static void publish(void *)
{
    x = 7;
}

static void nothing(void *)
{
}

static void look(void *)
{
    seen = x;
}

static void *writer(void *)
{
    callback_between(lock, publish, nothing, nullptr);
    tell(&turns);
    return nullptr;
}

static void *reader(void *)
{
    await(&turns);
    callback_between(lock, nothing, look, nullptr);
    return nullptr;
}

int main()
{
    lock = callback_lock_new();
    run_two(writer, reader);
    printf("%d\n", seen);
    return 0;
}
