// Events are posted to a loop of an untraced library, which calls the program's handlers.
// issue: https://github.com/spatial-model-editor/spatial-model-editor/issues/1058
// tool: ThreadSanitizer
// there: false alarm; Qt and TBB have locks of their own, so there are very many
// verdict: no race; posting under the loop's lock happens before the handler runs
// library: library_event_loop.c untraced
#include "prog.h"

void loop_run(void);
void loop_post(void (*handler)(void *), void *data);
void loop_quit(void);

int event[3] = { 0 }, handled;

static void handler(void *data)
{
    handled += *(int *)data;
}

THREAD(posts)
{
    for (int i = 0; i < 3; i++) {
        event[i] = i;
        loop_post(handler, &event[i]);
    }
    loop_quit();
    return NULL;
}

THREAD(runs)
{
    loop_run();
    return NULL;
}

int main(void)
{
    run_two(posts, runs);
    return handled - 3;
}
