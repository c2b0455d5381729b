/* live_library.c - two threads in turn, through a flag that nobody sees; for tests/record/live */
#include <sched.h>
#include <time.h>

/* A thread that has waited in vain goes on: the other may have ended. */
void turn_take(void *place, int who)
{
    for (int i = 0; i < 200 && __atomic_load_n((int *)place, __ATOMIC_ACQUIRE) != who; i++)
        nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
}

void turn_pass(void *place, int who)
{
    __atomic_store_n((int *)place, !who, __ATOMIC_RELEASE);
}

void note_down(void *place)
{
    ++*(int *)place;
}
