// strcat writes after the end only; the other thread writes there.
// race: a b
// tsan: misses
#include "prog.h"

char text[32] = "abc";
const char *volatile source = "def";

THREAD(first)
{
    strcat(text, source); // [a]
    return NULL;
}

THREAD(second)
{
    text[5] = 'x'; // [b]
    text[20] = 'x';
    return NULL;
}

int main(void)
{
    run_two(first, second);
    return 0;
}
