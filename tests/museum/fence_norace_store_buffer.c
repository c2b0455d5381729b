// Who announces itself and sees no announcement of the other side goes in; a full fence between.
// issue: https://github.com/taskflow/taskflow/issues/665
// tool: ThreadSanitizer
// there: build; gcc 14: 'atomic_thread_fence' is not supported with '-fsanitize=thread', and
//   -Werror makes it an error
// verdict: no race; C11 7.17.3p11: with both fences one side sees the other, so at most one
//   goes in
// flags: -Werror
#include "prog.h"

int wants[2], visits;

static void *visit(void *arg)
{
    int me = *(int *)arg;

    __atomic_store_n(&wants[me], 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&wants[!me], __ATOMIC_RELAXED))
        visits++;
    return NULL;
}

int main(void)
{
    int ids[] = { 0, 1 };
    pthread_t a = start(visit, &ids[0]), b = start(visit, &ids[1]);

    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return visits > 1;
}
