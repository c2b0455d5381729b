// C11 threads: cnd_, call_once, tss_ with a destructor, the result of thrd_join.
// tsan: false alarm
// gcc: also
#include <stdlib.h>
#include <threads.h>

mtx_t lock;
cnd_t cond;
tss_t key;
once_flag once = ONCE_FLAG_INIT;
int data, ready, init;

static void first(void)
{
    init = 1;
}

static int receiver(void *arg)
{
    (void)arg;
    call_once(&once, first);
    tss_set(key, malloc(8));
    mtx_lock(&lock);
    while (!ready)
        cnd_wait(&cond, &lock);
    mtx_unlock(&lock);
    return data + init;
}

int main(void)
{
    thrd_t t;
    int result;
    mtx_init(&lock, mtx_plain);
    cnd_init(&cond);
    tss_create(&key, free);
    thrd_create(&t, receiver, NULL);
    call_once(&once, first);
    data = init + 1;
    mtx_lock(&lock);
    ready = 1;
    cnd_broadcast(&cond);
    mtx_unlock(&lock);
    thrd_join(t, &result);
    data = 0;
    return result - 3;
}
