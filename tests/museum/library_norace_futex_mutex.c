// A mutex of a library that was not built for the tool, made of a futex.
// issue: https://github.com/google/sanitizers/issues/490
//   https://github.com/stellar/stellar-core/issues/4552
// tool: ThreadSanitizer
// there: false alarm; on every program that uses GLib, whose locks are not pthread's
// verdict: no race; lock and unlock of the library synchronize by acquire and release
// library: library_futex_mutex.c untraced
#include "prog.h"
#include "library_futex_mutex.h"

struct lock lock;
int counter;

THREAD(work)
{
    for (int i = 0; i < 5; i++) {
        lib_lock(&lock);
        counter++;
        lib_unlock(&lock);
    }
    return NULL;
}

int main(void)
{
    run_two(work, work);
    return counter - 10;
}
