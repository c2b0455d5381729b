// main leaves by pthread_exit; the last thread ends the program, with code 0 and its output.
// stdout: last
// gcc: also
// tsan: hangs
#include "prog.h"

int x;

THREAD(child)
{
    pause_ms(10);
    x++;
    puts("last");
    return NULL;
}

int main(void)
{
    x = 1;
    start(child, NULL);
    pthread_exit(NULL);
}
