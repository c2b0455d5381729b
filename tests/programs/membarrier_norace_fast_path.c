// The fast path of user-space RCU: compiler barriers on the readers' side, sys_membarrier on the
// writer's. The flag is read with acquire, so that the standard orders it, too.
#include "prog.h"
#include <linux/membarrier.h>
#include <stdatomic.h>
#include <sys/syscall.h>

struct thing {
    int value;
};
static _Atomic(struct thing *) current;
static atomic_int inside;

THREAD(reader)
{
    for (int i = 0; i < 10; i++) {
        atomic_store_explicit(&inside, 1, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst);
        USE(atomic_load_explicit(&current, memory_order_acquire)->value);
        atomic_signal_fence(memory_order_seq_cst);
        atomic_store_explicit(&inside, 0, memory_order_release);
        pause_ms(1);
    }
    return NULL;
}

THREAD(writer)
{
    for (int i = 0; i < 10; i++) {
        struct thing *old, *new = malloc(sizeof(*new));

        new->value = i;
        old = atomic_exchange(&current, new);
        syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
        while (atomic_load_explicit(&inside, memory_order_acquire))
            pause_ms(1);
        syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
        free(old);
    }
    return NULL;
}

int main(void)
{
    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
    atomic_store(&current, calloc(1, sizeof(struct thing)));
    run_two(reader, writer);
    free(atomic_load(&current));
    return 0;
}
