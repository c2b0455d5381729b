// A pipe of tasks: the owner writes at the front, others take from the back by flags per slot.
// issue: https://github.com/dougbinks/enkiTS/issues/52
// tool: ThreadSanitizer
// there: false alarm; the constructor of a task against its first use by a worker
// verdict: no race; a slot's flag is released by the writer, taken by an acquiring exchange
#include "prog.h"

enum { SLOTS = 8, CAN_READ = 1, INVALID = 2 };
struct task {
    int argument;
} *slots[SLOTS];
int flags[SLOTS], taken;

THREAD(owner)
{
    for (int i = 0; i < SLOTS; i++) {
        struct task *task = malloc(sizeof(*task));
        task->argument = i;
        slots[i] = task;
        __atomic_store_n(&flags[i], CAN_READ, __ATOMIC_RELEASE);
    }
    return NULL;
}

THREAD(worker)
{
    while (__atomic_load_n(&taken, __ATOMIC_RELAXED) < SLOTS) {
        for (int i = SLOTS; i--;) {
            int expected = CAN_READ;
            if (!__atomic_compare_exchange_n(&flags[i], &expected, INVALID, 0, __ATOMIC_ACQUIRE,
                                             __ATOMIC_RELAXED))
                continue;
            if (slots[i]->argument != i)
                abort();
            free(slots[i]);
            __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);
        }
        pause_ms(1);
    }
    return NULL;
}

int main(void)
{
    pthread_t t = start(owner, NULL);

    run_two(worker, worker);
    pthread_join(t, NULL);
    return 0;
}
