// Threads that print share a FILE, which locks itself; the output is the program's own.
// gcc: also
// stdout: one
// stdout: two
#include "prog.h"

int x;

THREAD(work)
{
    x++;
    printf("one\n");
    return NULL;
}

int main(void)
{
    pthread_join(start(work, NULL), NULL);
    puts("two");
    return 0;
}
