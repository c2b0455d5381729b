// The example of the documentation: a thread and main write a global.
// issue: https://github.com/google/sanitizers/issues/632
// tool: ThreadSanitizer
// there: miss; an old compiler accepts the option and builds without the tool
// verdict: race; main writes after the creation and before the join
// race: a b
#include "prog.h"

int Global;

THREAD(Thread1)
{
    Global = 42; // [a]
    return arg;
}

int main(void)
{
    pthread_t t = start(Thread1, NULL);
    Global = 43; // [b]
    pthread_join(t, NULL);
    return Global != 42 && Global != 43;
}
