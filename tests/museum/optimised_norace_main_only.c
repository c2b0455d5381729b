// A variable is read only if the thread is the main one; the compiler may read it in any case.
// issue: https://github.com/google/sanitizers/issues/447
// tool: ThreadSanitizer
// there: false alarm; the tool's build read the variable unconditionally, by a conditional move
// verdict: no race; in the program only the main thread accesses the variable
// flags: -O2
#include "prog.h"

pthread_t main_thread;
int only_main, sum[2];

__attribute__((noinline)) static int value(void)
{
    return pthread_equal(pthread_self(), main_thread) ? only_main : 0;
}

THREAD(other)
{
    for (int i = 0; i < 100; i++)
        sum[0] += value();
    return NULL;
}

int main(void)
{
    main_thread = pthread_self();
    pthread_t t = start(other, NULL);
    for (int i = 0; i < 100; i++) {
        only_main++;
        sum[1] += value();
    }
    pthread_join(t, NULL);
    return sum[0];
}
