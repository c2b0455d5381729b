// A thread calls _exit: its code is the program's.
// exit: 3
// gcc: also
#include "prog.h"

THREAD(child)
{
    _exit(3);
}

int main(void)
{
    start(child, NULL);
    pause();
    return 0;
}
