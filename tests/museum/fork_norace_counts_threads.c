// A test framework counts the threads of its process before it forks for a death test.
// issue: https://github.com/google/googletest/issues/464
//   https://github.com/unodb-dev/unodb/pull/181
// tool: ThreadSanitizer
// there: unusable report; warnings that fork is unsafe with N threads; those of a tool count, too
// verdict: no race; the process has one thread after the join, and must see one
// stdout: 1 thread
#include "prog.h"
#include <dirent.h>

int x;

THREAD(work)
{
    x++;
    return NULL;
}

static int threads_now(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");

    for (struct dirent *entry; tasks && (entry = readdir(tasks));)
        count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

int main(void)
{
    pthread_join(start(work, NULL), NULL);
    for (int i = 0; i < 2000 && threads_now() != 1; i++)
        pause_ms(1); // the kernel may still be at the end of the joined thread
    printf("%d thread\n", threads_now());
    return x - 1;
}
