// exec replaces the traced program by one that is not; its exit code passes through.
// stdout: hello
// exit: 9
// gcc: also
#include "prog.h"

int x;

THREAD(work)
{
    x++;
    return NULL;
}

int main(void)
{
    pthread_join(start(work, NULL), NULL);
    x++;
    execl("/bin/sh", "sh", "-c", "echo hello; exit 9", NULL);
    return 1;
}
