#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
#include <stdatomic.h>
/* a work-stealing queue whose owner takes the last item without the lock */
static atomic_int head, tail;
static int items[8];
static atomic_int taken[8];

static void push(int v)
{
    int t = atomic_load(&tail);

    items[t & 7] = v;
    atomic_store(&tail, t + 1);
}

static int pop(void)
{
    int t = atomic_load(&tail) - 1, v;

    if (t < atomic_load(&head))
        return -1;
    v = items[t & 7];
    atomic_store(&tail, t);
    return v;
}

static int steal(void)
{
    int h, v = -1;

    pthread_mutex_lock(&m);
    h = atomic_load(&head);
    if (h < atomic_load(&tail)) {
        v = items[h & 7];
        atomic_store(&head, h + 1);
    }
    pthread_mutex_unlock(&m);
    return v;
}

static void use(int v)
{
    if (v >= 0)
        assert(atomic_fetch_add(&taken[v], 1) == 0);
}

static void *owner(void *arg)
{
    (void)arg;
    push(0);
    push(1);
    use(pop());
    use(pop());
    return NULL;
}

static void *thief(void *arg)
{
    (void)arg;
    use(steal());
    use(steal());
    return NULL;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, owner, NULL);
    pthread_create(&t[1], NULL, thief, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
