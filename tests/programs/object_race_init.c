// A mutex is initialised by a thread while another one has it already; a flag tells nothing.
// race: init use
#include "prog.h"

pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int done;

THREAD(late)
{
    pthread_mutex_init(&m, NULL); // [init]
    tell(&done);
    return NULL;
}

THREAD(user)
{
    await(&done);
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m); // [use]
    return NULL;
}

int main(void)
{
    run_two(late, user);
    return 0;
}
