// A thread calls _exit: no destructor, no atexit handler, and still a complete recording.
// race: a b
#include "prog.h"

int x, written;

THREAD(child)
{
    x = 1; // [a]
    await(&written);
    _exit(3);
}

int main(void)
{
    start(child, NULL);
    x = 2; // [b]
    tell(&written);
    pause();
    return 0;
}
