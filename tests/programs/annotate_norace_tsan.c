// A lock the tool cannot see (a futex by system call), described by the calls TSan has for that.
// gcc: also
#include "prog.h"
#include <linux/futex.h>
#include <sys/syscall.h>

void __tsan_acquire(void *addr);
void __tsan_release(void *addr);
int flag __attribute__((aligned(4)));
int data;

__attribute__((no_sanitize("thread"), no_instrument_function)) static void wake(void)
{
    __tsan_release(&flag);
    __asm__ volatile("movl $1, %0" : "=m"(flag) : : "memory");
    syscall(SYS_futex, &flag, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void wait_for(void)
{
    syscall(SYS_futex, &flag, FUTEX_WAIT, 0, NULL, NULL, 0);
    __tsan_acquire(&flag);
}

THREAD(sender)
{
    data = 1;
    pause_ms(10);
    wake();
    return NULL;
}

THREAD(receiver)
{
    wait_for();
    data = 2;
    return NULL;
}

int main(void)
{
    run_two(receiver, sender);
    return data - 2;
}
