// C11: a wait may end without a signal, which therefore orders nothing.
// race: a b
#include "prog.h"

#include <threads.h>

mtx_t lock;
cnd_t cond;
int data, waits, seen;

static int receiver(void *arg)
{
    (void)arg;
    mtx_lock(&lock);
    waits = 1;
    cnd_wait(&cond, &lock);
    USE(data); // [b]
    tell(&seen);
    mtx_unlock(&lock);
    return 0;
}

static int waits_now(void)
{
    mtx_lock(&lock);
    int n = waits;
    mtx_unlock(&lock);
    return n;
}

int main(void)
{
    thrd_t t;
    mtx_init(&lock, mtx_plain);
    cnd_init(&cond);
    thrd_create(&t, receiver, NULL);
    while (waits_now() < 1)
        pause_ms(1);
    data = 1; // [a]
    cnd_signal(&cond);
    await(&seen);
    thrd_join(t, NULL);
    return 0;
}
