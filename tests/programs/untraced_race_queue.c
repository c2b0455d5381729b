// The producer goes on writing to what it has put into the untraced library's queue.
// library: untraced_hidden.c untraced
// options: --engine rdit
// engine: rdit
// race: late read
// never: early read
#include "prog.h"
#include "untraced_hidden.h"

struct job {
    int in;
};
static struct hidden_queue *todo;
static int popping;

THREAD(worker)
{
    tell(&popping); // the call begins before there is a job: it cannot reach one
    struct job *j = hidden_pop(todo);
    USE(j->in); // [read]
    return NULL;
}

THREAD(producer)
{
    struct job *j = calloc(1, sizeof(*j));
    j->in = 1; // [early]
    await(&popping);
    pause_ms(20);
    hidden_push(todo, j);
    j->in = 2; // [late]
    return NULL;
}

int main(void)
{
    todo = hidden_queue_new();
    run_two(worker, producer);
    return 0;
}
