// A thread calls _exit: its code is the program's.
// exit: 3
// gcc: also
#include "prog.h"

int x;

THREAD(child)
{
    x++;
    _exit(3);
}

int main(void)
{
    x = 1;
    start(child, NULL);
    pause();
    return 0;
}
