/* callback_lib.cc - an untraced C++ library that calls back (callback_lib.h) */
#include "callback_lib.h"

#include <sched.h>
#include <unistd.h>

struct callback_lock {
    int taken, times;
};

callback_lock *callback_lock_new()
{
    return new callback_lock{};
}

/* Holds the lock for as long as it is there. */
struct holding {
    callback_lock *lock;

    explicit holding(callback_lock *l) : lock(l)
    {
        while (__atomic_exchange_n(&lock->taken, 1, __ATOMIC_ACQUIRE))
            sched_yield();
        lock->times++;
    }
    ~holding()
    {
        __atomic_store_n(&lock->taken, 0, __ATOMIC_RELEASE);
    }
};

void callback_run(void *, void (*f)(void *), void *arg)
{
    f(arg);
}

void callback_between(callback_lock *l, void (*before)(void *), void (*behind)(void *), void *arg)
{
    before(arg);
    {
        holding h(l);
    }
    behind(arg);
}

void callback_locked(callback_lock *l, void (*f)(void *), void *arg)
{
    holding h(l);
    f(arg);
}

/* Until somebody else has had the lock, if it is soon. */
static void linger(callback_lock *l, int times)
{
    for (int i = 0; i < 100 && __atomic_load_n(&l->times, __ATOMIC_RELAXED) == times; i++)
        usleep(1000);
}

void callback_catching(callback_lock *l, void (*f)(void *), void *arg)
{
    int times = 0;

    try {
        holding h(l);
        times = l->times;
        f(arg);
    } catch (int) {
    }
    linger(l, times);
}

void callback_jumping(callback_lock *l, void (*f)(void *, jmp_buf *), void *arg)
{
    volatile int times = 0;
    {
        holding h(l);
        jmp_buf here;

        times = l->times;
        if (!setjmp(here))
            f(arg, &here);
    }
    linger(l, times);
}
