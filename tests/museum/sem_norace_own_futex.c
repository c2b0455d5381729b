// A semaphore made of an atomic counter and futex calls.
// issue: https://github.com/xrootd/xrootd/issues/404
// tool: Helgrind
// there: false alarm; semaphores of the project's own are not known to the tool
// verdict: no race; the decrement acquires what the increment released
#include "prog.h"
#include <linux/futex.h>
#include <sys/syscall.h>

int tokens, response;

static void post(void)
{
    __atomic_fetch_add(&tokens, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &tokens, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void wait_for_token(void)
{
    for (;;) {
        int seen = __atomic_load_n(&tokens, __ATOMIC_RELAXED);
        if (seen > 0 && __atomic_compare_exchange_n(&tokens, &seen, seen - 1, 0, __ATOMIC_ACQUIRE,
                                                    __ATOMIC_RELAXED))
            return;
        if (seen <= 0)
            syscall(SYS_futex, &tokens, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    }
}

THREAD(handler)
{
    response = 200;
    post();
    return NULL;
}

THREAD(waits)
{
    wait_for_token();
    return response == 200 ? NULL : &response;
}

int main(void)
{
    run_two(handler, waits);
    return 0;
}
