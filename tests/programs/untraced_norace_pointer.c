// An untraced library's functions called through pointers, and its objects linked by traced code.
// library: untraced_hidden.c untraced
// options: --engine rdit
#include "prog.h"
#include "untraced_hidden.h"

struct ops {
    void (*take)(struct hidden_lock *), (*drop)(struct hidden_lock *);
};
struct holder {
    char pad[40000];
    struct hidden_lock *lock;
};
static struct holder *holder;
static int x;

THREAD(work)
{
    const struct ops *ops = arg;
    ops->take(holder->lock);
    x++;
    ops->drop(holder->lock);
    return NULL;
}

int main(void)
{
    struct ops ops = { hidden_take, hidden_drop };
    holder = calloc(1, sizeof(*holder));
    holder->lock = hidden_lock_new();
    pthread_t t = start(work, &ops), u = start(work, &ops);
    pthread_join(t, NULL);
    pthread_join(u, NULL);
    return x - 2;
}
