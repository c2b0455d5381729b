// Each element is read behind the flag that guards it. A lock has told the reader of all of them,
// but a schedule without the lock still needs the flags.
// gcc: also
// stdout: 10
#include "prog.h"

static int out[4], flags[4];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void pass(void)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

THREAD(writer)
{
    for (int i = 0; i < 4; i++) {
        out[i] = i + 1;
        __atomic_store_n(&flags[i], 1, __ATOMIC_RELEASE);
    }
    pass();
    return NULL;
}

int main(void)
{
    pthread_t t = start(writer, NULL);
    int sum = 0;

    pause_ms(100);
    pass();
    for (int i = 0; i < 4; i++) {
        while (!__atomic_load_n(&flags[i], __ATOMIC_ACQUIRE))
            pause_ms(1);
        sum += out[i];
    }
    pthread_join(t, NULL);
    printf("%d\n", sum);
    return 0;
}
