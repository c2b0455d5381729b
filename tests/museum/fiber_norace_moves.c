// Fibers are resumed by whichever thread takes them from a queue.
// issue: https://github.com/RichieSams/FiberTaskingLib/issues/14
//   https://github.com/sandialabs/qthreads/issues/149
// tool: ThreadSanitizer
// there: false alarm; a fiber's stack is written by one thread, then by another
// verdict: no race; the queue's mutex orders leaving a fiber and resuming it
#include "prog.h"
#include <ucontext.h>

enum { FIBERS = 3, STEPS = 4 };
struct fiber {
    ucontext_t context, *back;
    char stack[65536];
    int steps;
} fibers[FIBERS];
struct fiber *queue[FIBERS];
int queued, finished;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void body(int which)
{
    struct fiber *me = &fibers[which];

    for (int i = 0; i < STEPS; i++) {
        int local = me->steps;
        swapcontext(&me->context, me->back);
        me->steps = local + 1;
    }
    for (;;)
        swapcontext(&me->context, me->back);
}

THREAD(worker)
{
    ucontext_t here;

    for (;;) {
        pthread_mutex_lock(&lock);
        struct fiber *fiber = queued ? queue[--queued] : NULL;
        int end = finished == FIBERS;
        pthread_mutex_unlock(&lock);
        if (end)
            return NULL;
        if (!fiber)
            continue;
        fiber->back = &here;
        swapcontext(&here, &fiber->context);
        pthread_mutex_lock(&lock);
        if (fiber->steps == STEPS)
            finished++;
        else
            queue[queued++] = fiber;
        pthread_mutex_unlock(&lock);
        pause_ms(1);
    }
}

int main(void)
{
    for (int i = 0; i < FIBERS; i++) {
        getcontext(&fibers[i].context);
        fibers[i].context.uc_stack.ss_sp = fibers[i].stack;
        fibers[i].context.uc_stack.ss_size = sizeof(fibers[i].stack);
        makecontext(&fibers[i].context, (void (*)(void))body, 1, i);
        queue[queued++] = &fibers[i];
    }
    run_two(worker, worker);
    return fibers[0].steps - STEPS;
}
