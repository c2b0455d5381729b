// What untraced code guards by a lock of its own while it calls back: nothing of it is passed to
// the callbacks, which also call back inside each other.
// library: callback_lib.cc untraced
#include "prog.h"
#include "callback_lib.h"

static callback_lock *lock, *inner_lock;
int plain, nested;

static void add(void *)
{
    plain++;
}

static void add_nested(void *)
{
    nested++;
    callback_locked(inner_lock, add, nullptr);
    nested++;
}

static void *work(void *)
{
    for (int i = 0; i < 3; i++) {
        callback_locked(inner_lock, add, nullptr);
        callback_locked(lock, add_nested, nullptr);
    }
    return nullptr;
}

int main()
{
    lock = callback_lock_new();
    inner_lock = callback_lock_new();
    run_two(work, work);
    return plain == 12 && nested == 12 ? 0 : 1;
}
