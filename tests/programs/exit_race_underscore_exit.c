// A thread calls _exit: no destructor, no atexit handler, and still a complete recording.
// race: a b
#include "prog.h"

int x;

THREAD(child)
{
    x = 1; // [a]
    pause_ms(30);
    _exit(3);
}

int main(void)
{
    start(child, NULL);
    x = 2; // [b]
    pause();
    return 0;
}
