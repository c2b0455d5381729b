// Data goes through a queue inside an untraced library; each side owns it in turn.
// library: untraced_hidden.c untraced
// options: --engine rdit
#include "prog.h"
#include "untraced_hidden.h"

struct job {
    int in, out;
};
static struct hidden_queue *todo, *done;

THREAD(worker)
{
    for (int i = 0; i < 4; i++) {
        struct job *j = hidden_pop(todo);
        j->out = 2 * j->in;
        hidden_push(done, j);
    }
    return NULL;
}

int main(void)
{
    int sum = 0;
    todo = hidden_queue_new();
    done = hidden_queue_new();
    pthread_t t = start(worker, NULL);
    for (int i = 0; i < 4; i++) {
        struct job *j = calloc(1, sizeof(*j));
        j->in = i;
        hidden_push(todo, j);
    }
    for (int i = 0; i < 4; i++) {
        struct job *j = hidden_pop(done);
        sum += j->out;
        free(j);
    }
    pthread_join(t, NULL);
    return sum - 12;
}
