// A callback leaves by an exception that the untraced code around it catches, or by a jump to it.
// That code gives its lock back then, and the other thread's callback runs before it returns.
// library: callback_lib.cc untraced
#include "prog.h"
#include "callback_lib.h"

static callback_lock *lock;
static int inside[2];
int thrown, jumped;

static void throws(void *)
{
    tell(&inside[0]);
    pause_ms(20); // the other one is waiting
    thrown = 1;
    throw 1;
}

static void jumps(void *, jmp_buf *to)
{
    tell(&inside[1]);
    pause_ms(20);
    jumped = 1;
    longjmp(*to, 1);
}

static void add_thrown(void *)
{
    thrown++;
}

static void add_jumped(void *)
{
    jumped++;
}

static void *first(void *)
{
    callback_catching(lock, throws, nullptr);
    callback_jumping(lock, jumps, nullptr);
    return nullptr;
}

static void *second(void *)
{
    await(&inside[0]);
    callback_locked(lock, add_thrown, nullptr);
    await(&inside[1]);
    callback_locked(lock, add_jumped, nullptr);
    return nullptr;
}

int main()
{
    lock = callback_lock_new();
    run_two(first, second);
    return thrown == 2 && jumped == 2 ? 0 : 1;
}
