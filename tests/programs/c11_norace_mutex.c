// C11 threads: mtx_ locks of all kinds.
// gcc: also
#include <threads.h>
#include <time.h>

mtx_t plain, timed;
int x, y;

static int work(void *arg)
{
    (void)arg;
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    t.tv_sec += 10;
    for (int i = 0; i < 20; i++) {
        while (mtx_trylock(&plain) != thrd_success)
            thrd_yield();
        x++;
        mtx_unlock(&plain);
        mtx_timedlock(&timed, &t);
        mtx_lock(&timed);
        y++;
        mtx_unlock(&timed);
        y++;
        mtx_unlock(&timed);
    }
    return 0;
}

int main(void)
{
    thrd_t a, b;
    mtx_init(&plain, mtx_plain);
    mtx_init(&timed, mtx_timed | mtx_recursive);
    thrd_create(&a, work, NULL);
    thrd_create(&b, work, NULL);
    thrd_join(a, NULL);
    thrd_join(b, NULL);
    return x + y - 120;
}
