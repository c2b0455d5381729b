// A handler of pthread_atfork ends and joins the worker threads before each fork.
// issue: https://github.com/JuliaLang/julia/issues/42450
// tool: ThreadSanitizer
// there: hang; vfork becomes fork, and a library's handler joins its threads inside of the tool's
// verdict: no race; the workers' results are read after the join
#include "prog.h"
#include <sys/wait.h>

static pthread_t worker;
int running, work_done;

THREAD(work)
{
    work_done++;
    return NULL;
}

static void stop_workers(void)
{
    if (running) {
        pthread_join(worker, NULL);
        running = 0;
    }
}

int main(void)
{
    int status;

    pthread_atfork(stop_workers, NULL, NULL);
    for (int i = 0; i < 2; i++) {
        worker = start(work, NULL);
        running = 1;
        pid_t child = fork();
        if (child == 0)
            _exit(work_done);
        waitpid(child, &status, 0);
        if (WEXITSTATUS(status) != i + 1)
            return 1;
    }
    return 0;
}
